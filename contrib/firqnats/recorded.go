package firqnats

import (
	"sync"
	"time"

	"github.com/firq-go/firq/hist"
)

// recorder keeps how long calls and activations took. Answers come one after the other, so one lock is enough.
type recorder struct {
	mu          sync.Mutex
	calls       map[callee]*hist.Local
	activations map[string]*hist.Local // by kind
}

type callee struct{ kind, method string }

func (r *recorder) call(kind, method string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record(&r.calls, callee{kind, method}, took)
}

func (r *recorder) activation(kind string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record(&r.activations, kind, took)
}

func record[K comparable](all *map[K]*hist.Local, k K, took time.Duration) {
	if *all == nil {
		*all = map[K]*hist.Local{}
	}
	h := (*all)[k]
	if h == nil {
		h = hist.NewLocal()
		(*all)[k] = h
	}
	h.Record(took)
}

// Recorded returns how long this node's calls to actors on other nodes took, from when they were sent until they
// were answered, by kind and method; and its activations, until start had returned, by kind. The caller may keep
// what it gets.
func (n *Node) Recorded() (calls map[string]map[string]*hist.Snapshot, activations map[string]*hist.Snapshot) {
	calls, activations = map[string]map[string]*hist.Snapshot{}, map[string]*hist.Snapshot{}
	r := &n.recorded
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, h := range r.calls {
		if calls[c.kind] == nil {
			calls[c.kind] = map[string]*hist.Snapshot{}
		}
		calls[c.kind][c.method] = snapshot(h)
	}
	for kind, h := range r.activations {
		activations[kind] = snapshot(h)
	}
	return calls, activations
}

func snapshot(h *hist.Local) *hist.Snapshot {
	s := hist.NewSnapshot()
	h.AddTo(s)
	return s
}
