package proxy

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestUsage(t *testing.T) {
	for text, want := range map[string]int64{ // -1: none
		``: -1,
		`{"id":"x","usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}`: 21,
		`{"usage" : {"input_tokens":3,"output_tokens":4}}`:                                7,
		`{"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":9}}`:                 9,
		`{"usage":{"total_tokens":0}}`:                                                    0,
		`{"usage":null}`:                                                                  -1,
		`{"usage":{"total_tokens":-5}}`:                                                   -1,
		`{"usage":{"output_tokens":5}}`:                                                   -1,
		`{"usage":{"total_tokens":"21"}}`:                                                 -1,
		`{"usage":{"total_tokens":21`:                                                     -1,
		`{"usage"`:                                                                        -1,
		`{"usage":{"input_tokens":9223372036854775807,"output_tokens":1}}`:                -1,
		`{"text":"a \"usage\": {\"total_tokens\": 99}","usage":{"total_tokens":5}}`:       5,
		`{"usage":{"total_tokens":5},"text":"a \"usage\": {\"total_tokens\": 99}"}`:       5,
		`{"text":"usage","usage":{"total_tokens":5}}`:                                     5,
		"data: {\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}\n\ndata: {\"usage\":{\"output_tokens\":9}}\n\n":                      4,
		"data: {\"usage\":{\"total_tokens\":3}}\n\ndata: {\"usage\":{\"total_tokens\":8}}\n\ndata: {\"usage\":null}\n\ndata: [DONE]\n\n": 8,
	} {
		n, ok := usage([]byte(text))
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", text, n, want)
		}
	}
}

// TestTail: what is passed on is what came, and the end of it is kept, however it is read.
func TestTail(t *testing.T) {
	const end = `{"usage":{"total_tokens":7}}`
	for _, c := range []struct {
		text string
		want int64
	}{
		{end, 7},
		{strings.Repeat("x", 1_000_000) + end, 7},
		{strings.Repeat("x", tailSize-len(end)) + end, 7},
		{end + strings.Repeat("x", tailSize-len(end)), 7},
		{end + strings.Repeat("x", tailSize), -1},
		{"", -1},
	} {
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"as it comes":   func(r io.Reader) io.Reader { return r },
			"bytes":         iotest.OneByteReader,
			"data with EOF": iotest.DataErrReader,
			"pieces":        func(r io.Reader) io.Reader { return pieces{r} },
		} {
			got, calls := int64(-1), 0
			b := &tail{body: io.NopCloser(reader(strings.NewReader(c.text))), paid: func(n int64) { got, calls = n, calls+1 }}
			var out bytes.Buffer
			if _, err := io.Copy(&out, b); err != nil || out.String() != c.text {
				t.Errorf("%s: %v, %d bytes of %d", name, err, out.Len(), len(c.text))
			}
			if cap(b.kept) > 2*tailSize {
				t.Errorf("%s: %d bytes are kept", name, cap(b.kept))
			}
			_ = b.Close()
			if got != c.want || calls > 1 {
				t.Errorf("%s, %d bytes: %d in %d calls, want %d", name, len(c.text), got, calls, c.want)
			}
		}
	}
}

type pieces struct{ io.Reader }

func (p pieces) Read(b []byte) (int, error) {
	return p.Reader.Read(b[:min(len(b), 1+rand.IntN(50_000))])
}

// TestTailClosed: of a response that is not read to its end, what came counts.
func TestTailClosed(t *testing.T) {
	got := int64(-1)
	b := &tail{body: io.NopCloser(strings.NewReader(`data: {"usage":{"total_tokens":7}}` + strings.Repeat("\n", 100))), paid: func(n int64) { got = n }}
	if _, err := io.ReadFull(b, make([]byte, 50)); err != nil {
		t.Fatal(err)
	}
	if got != -1 {
		t.Error("too early")
	}
	_ = b.Close()
	if got != 7 {
		t.Errorf("%d", got)
	}
}

func TestHasUsage(t *testing.T) {
	for text, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "text/event-stream": true, "application/problem+json": true,
		"text/plain": false, "": false, ";": false,
	} {
		if hasUsage(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
