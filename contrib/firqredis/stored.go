package firqredis

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// stored is a task in the format of the server:
//
//	queued {letter number} ":" tenant "\n" [unique key "\n"] [meta "\n"] payload
//
// queued is when it came, in us and in hexadecimal digits. A letter is there if its number is not the usual one, which keeps
// tasks small:
//
//	A  deliveries that have failed               0
//	C  cost                                      1
//	H  1: there is a meta                        0
//	K  there is a unique key; 1: it ends with the task
//	L  deadline, us                              0
//	M  deliveries at most                        25
//	P  priority                                  3
//	W  us from queued until due                  0
type stored struct {
	attempt  int64
	priority int64
	cost     int64
	due      int64 // us
	most     int64
	keep     bool // its unique key ends with it
	tenant   string
	unique   string
	meta     string // what only clients read
	payload  string
}

// The usual numbers; the scripts have them, too.
const usualCost, usualMost, usualPriority = 1, DefaultMaxAttempts, int64(firq.PriorityNormal)

// body returns a task in that format, without A, W and queued, which the server puts in front.
func body(t *queue.Task[[]byte], deadline int64, meta string, payload []byte) string {
	b := make([]byte, 0, 32+len(t.Tenant)+len(t.UniqueKey)+len(meta)+len(payload))
	number := func(letter byte, n, usual int64) {
		if n != usual {
			b = strconv.AppendInt(append(b, letter), n, 10)
		}
	}
	line := func(s string) { b = append(append(b, s...), '\n') }
	number('C', t.Cost, usualCost)
	number('L', deadline, 0)
	number('M', int64(t.MaxAttempts), usualMost)
	number('P', int64(t.Priority), usualPriority)
	switch {
	case t.UniqueKey != "" && t.UniqueFor == 0:
		b = append(b, "K1"...)
	case t.UniqueKey != "":
		b = append(b, "K0"...)
	}
	if meta != "" {
		b = append(b, "H1"...)
	}
	b = append(b, ':')
	line(t.Tenant)
	if t.UniqueKey != "" {
		line(t.UniqueKey)
	}
	if meta != "" {
		line(meta)
	}
	return string(append(b, payload...))
}

func parse(body string) (stored, error) {
	head, rest, _ := strings.Cut(body, "\n")
	letters, tenant, _ := strings.Cut(head, ":")
	s := stored{tenant: tenant, cost: usualCost, most: usualMost, priority: usualPriority}
	number, letters := digits(letters)
	queued, err := strconv.ParseInt(number, 16, 64)
	s.due = queued
	var key, meta bool
	for letters != "" && err == nil {
		letter, n := letters[0], int64(0)
		number, letters = digits(letters[1:])
		n, err = strconv.ParseInt(number, 10, 64)
		switch letter {
		case 'A':
			s.attempt = n
		case 'C':
			s.cost = n
		case 'H':
			meta = true
		case 'K':
			key, s.keep = true, n == 1
		case 'M':
			s.most = n
		case 'P':
			s.priority = n
		case 'W':
			s.due += n
		}
	}
	if err != nil {
		return s, fmt.Errorf("firqredis: a task with the header %q: %w", head, err)
	}
	if key {
		s.unique, rest, _ = strings.Cut(rest, "\n")
	}
	if meta {
		s.meta, rest, _ = strings.Cut(rest, "\n")
	}
	s.payload = rest
	return s, nil
}

// digits returns the part before the next letter, and the rest.
func digits(s string) (number, rest string) {
	if i := strings.IndexFunc(s, unicode.IsUpper); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// meta is the part of a task that only clients read.
type meta struct {
	UniqueFor time.Duration     `json:"u,omitempty"`
	Delay     time.Duration     `json:"d,omitempty"`
	At        time.Time         `json:"a,omitzero"`
	Deadline  time.Time         `json:"l,omitzero"`
	Keep      time.Duration     `json:"k,omitempty"` // KeepResult
	Headers   map[string]string `json:"h,omitempty"`
	Raw       queue.RawHeaders  `json:"r,omitempty"`
}

func metaOf(t *queue.Task[[]byte]) (string, error) {
	texts, raw := queue.SplitHeaders(t.Headers)
	m := meta{t.UniqueFor, t.Delay, t.At.Round(0), t.Deadline.Round(0), t.KeepResult, texts, raw}
	if m.UniqueFor == 0 && m.Delay == 0 && m.At.IsZero() && m.Deadline.IsZero() && m.Keep == 0 && len(t.Headers) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m) // one line
	return string(b), err
}

// task returns the task that was enqueued, without the payload.
func task(id string, s *stored) (t queue.Task[[]byte], err error) {
	t = queue.Task[[]byte]{
		Tenant: s.tenant, ID: id, UniqueKey: s.unique, Cost: s.cost,
		Priority: firq.Priority(s.priority), MaxAttempts: int(s.most),
	}
	if s.meta != "" {
		var m meta
		if err := json.Unmarshal([]byte(s.meta), &m); err != nil {
			return t, fmt.Errorf("firqredis: task %q: %w", id, err)
		}
		t.UniqueFor, t.Delay, t.At, t.Deadline, t.KeepResult, t.Headers = m.UniqueFor, m.Delay, m.At, m.Deadline, m.Keep, m.Raw.Join(m.Headers)
	}
	return t, nil
}
