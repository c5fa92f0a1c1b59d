package firqpg

import (
	"encoding/json"
	"time"

	"github.com/firq-go/firq/queue"
)

// meta is the part of a task that only clients read, as JSON.
type meta struct {
	UniqueFor time.Duration     `json:"u,omitempty"`
	Delay     time.Duration     `json:"d,omitempty"`
	At        time.Time         `json:"a,omitzero"`
	Deadline  time.Time         `json:"l,omitzero"`
	Keep      time.Duration     `json:"k,omitempty"` // KeepResult
	Headers   map[string]string `json:"h,omitempty"`
	Raw       queue.RawHeaders  `json:"r,omitempty"`
}

func metaOf(t *queue.Task[[]byte]) ([]byte, error) {
	if t.UniqueFor == 0 && t.Delay == 0 && t.At.IsZero() && t.Deadline.IsZero() && t.KeepResult == 0 && len(t.Headers) == 0 {
		return nil, nil
	}
	texts, raw := queue.SplitHeaders(t.Headers)
	return json.Marshal(&meta{t.UniqueFor, t.Delay, t.At.Round(0), t.Deadline.Round(0), t.KeepResult, texts, raw})
}

// fill sets what is in a meta.
func fill(t *queue.Task[[]byte], b []byte) error {
	if len(b) == 0 {
		return nil
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	t.UniqueFor, t.Delay, t.At, t.Deadline, t.KeepResult, t.Headers = m.UniqueFor, m.Delay, m.At, m.Deadline, m.Keep, m.Raw.Join(m.Headers)
	return nil
}
