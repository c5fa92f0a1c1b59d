package firqnats

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/actor"
)

// refusals are the messages that this node has sent back, by their sender and actor. A sender that hears of one waits
// until all that it has sent is answered, and begins again with the first that came back. What it had sent after that
// one has to come back, too: were it handled here, by an activation that has begun since, the one before would follow it.
type refusals struct {
	some atomic.Bool // whether all has any, for a look without the lock
	mu   sync.Mutex
	all  map[refusalKey]*refusal
}

type refusalKey struct {
	addr string
	id   actor.Identity
}

type refusal struct {
	nos map[uint64]bool // of the messages
	at  time.Time       // of the last one
}

// add notes that a message is sent back. It pairs with the same message when it comes again.
func (r *refusals) add(in *incoming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(in)
}

func (r *refusals) addLocked(in *incoming) {
	k := refusalKey{in.from, in.id()}
	e := r.all[k]
	if e == nil {
		e = &refusal{nos: map[uint64]bool{}}
		r.all[k] = e
		r.some.Store(true)
	}
	e.nos[in.no], e.at = true, time.Now()
}

// follow reports whether a message was sent before its sender has heard of one that came back; then it comes back as
// well. One that comes again says that its sender has heard of it. A sender that begins with another one, since the
// callers of those have left or another node has handled them, sends it twice.
func (r *refusals) follow(in *incoming) bool {
	if !r.some.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := refusalKey{in.from, in.id()}
	switch e := r.all[k]; {
	case e == nil:
		return false
	case e.nos[in.no]:
		delete(r.all, k)
		return false
	}
	r.addLocked(in)
	return true
}

// sweep forgets what was sent back that long ago that its sender does not wait for what followed it.
func (r *refusals) sweep(age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, e := range r.all {
		if time.Since(e.at) > age {
			delete(r.all, k)
		}
	}
	r.some.Store(len(r.all) > 0)
}
