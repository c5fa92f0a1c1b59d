package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"strings"
)

// tailSize is how much of the end of a response is kept. Its usage is there.
const tailSize = 32 << 10

// hasUsage reports whether a response of this type can have a usage: JSON, or server-sent
// events with JSON.
func hasUsage(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "text/event-stream" || strings.HasSuffix(media, "+json"))
}

// tail is a body that keeps its end while it is read, and says at the end, or when it is
// closed, what its usage is. Not safe for concurrent use, as no body is.
type tail struct {
	body io.ReadCloser
	paid func(int64) // nil: it was called
	kept []byte      // at most tailSize
	at   int         // where the oldest byte is, once it is full
}

func (t *tail) Read(b []byte) (int, error) {
	n, err := t.body.Read(b)
	t.keep(b[:n])
	if err != nil {
		t.end()
	}
	return n, err
}

func (t *tail) Close() error {
	t.end()
	return t.body.Close()
}

// keep keeps the end of what there is.
func (t *tail) keep(b []byte) {
	b = b[max(0, len(b)-tailSize):]
	room := min(len(b), tailSize-len(t.kept))
	t.kept = append(t.kept, b[:room]...)
	for b = b[room:]; len(b) > 0; {
		n := copy(t.kept[t.at:], b)
		t.at, b = (t.at+n)%tailSize, b[n:]
	}
}

func (t *tail) end() {
	if t.paid == nil {
		return
	}
	if n, ok := usage(append(t.kept[t.at:len(t.kept):len(t.kept)], t.kept[:t.at]...)); ok {
		t.paid(n)
	}
	t.paid, t.kept = nil, nil
}

// usage returns the tokens of the last object by the name usage that says them: as
// total_tokens, or as input_tokens and output_tokens. A text that has such words is quoted in
// JSON, with a backslash before each quote, so it is not taken for it.
func usage(text []byte) (tokens int64, ok bool) {
	name := []byte(`"usage"`)
	for at := bytes.LastIndex(text, name); at >= 0; at = bytes.LastIndex(text[:at], name) {
		value, isField := bytes.CutPrefix(bytes.TrimLeft(text[at+len(name):], " \t\r\n"), []byte(":"))
		var u struct {
			Total  *int64 `json:"total_tokens"`
			Input  *int64 `json:"input_tokens"`
			Output *int64 `json:"output_tokens"`
		}
		if !isField || json.NewDecoder(bytes.NewReader(value)).Decode(&u) != nil {
			continue
		}
		switch {
		case u.Total != nil && *u.Total >= 0:
			return *u.Total, true
		case u.Input != nil && u.Output != nil && *u.Input >= 0 && *u.Output >= 0 && *u.Input+*u.Output >= 0:
			return *u.Input + *u.Output, true
		}
	}
	return 0, false
}
