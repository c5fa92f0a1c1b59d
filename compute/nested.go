package compute

import (
	"context"
	"errors"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// ErrCycle is the error of a call by an execution, for a result whose execution waits for
// the caller's: the two would wait for each other for ever. The package's comment says
// what calls by executions may do.
var ErrCycle = errors.New("firq: compute: the call would wait for an execution that waits for it")

// origin is an execution that a call may come from: a flight or a batch. The contexts that
// executions get have it as a value, so that calls say from where they come.
//
// Executions and the calls by which they wait for each other are a graph. An edge is noted
// only where a call joins a flight, or is in a batch; that a leader waits for its flight
// is known from the leader's context. All other edges lead to an execution that has not begun,
// so only a call that joins can close a cycle. It notes its edge first and looks
// for a way back afterwards: of two calls that close one together, at least one finds it.
type origin interface {
	// origins returns the executions whose calls wait for this one. User code, the
	// Value of contexts, may panic.
	origins() []origin
}

type originKey struct{}

// originOf returns the execution that a call with ctx comes from; nil: none.
func originOf(ctx context.Context) origin {
	from, _ := ctx.Value(originKey{}).(origin)
	return from
}

// waitsFor reports whether an execution is another one, or waits for it, directly or through others.
func waitsFor(to, from origin) bool {
	seen := map[origin]bool{from: true}
	for next := []origin{from}; len(next) > 0; {
		at := next[len(next)-1]
		if at == to {
			return true
		}
		next = next[:len(next)-1]
		for _, up := range at.origins() {
			if !seen[up] {
				seen[up] = true
				next = append(next, up)
			}
		}
	}
	return false
}

func (f *flight[T, K, V]) origins() []origin {
	list, leader := f.noted()
	if leader != nil {
		if from := originOf(leader); from != nil {
			list = append(list, from)
		}
	}
	return list
}

// noted returns the origins of the calls that have joined, and the context of the leader
// if that waits: on whose goroutine exec runs, it does so whatever its context says.
func (f *flight[T, K, V]) noted() (list []origin, leader context.Context) {
	failpoint.Lock(&f.p.mu, "noted")
	defer f.p.mu.Unlock()
	if f.state == over {
		return nil, nil
	}
	for from := range f.nested {
		list = append(list, from)
	}
	if f.state == executing && !f.behind && (f.led || !f.p.s.cfg.Detach) {
		leader = f.leader
	}
	return list, leader
}

// note adds more, 1 or -1, to the calls from an execution that have joined.
func (f *flight[T, K, V]) note(from origin, more int) {
	if from == nil {
		return
	}
	failpoint.Lock(&f.p.mu, "note")
	defer f.p.mu.Unlock()
	if f.nested == nil {
		f.nested = map[origin]int{}
	}
	if f.nested[from] += more; f.nested[from] == 0 {
		delete(f.nested, from)
	}
}

// board adds the edge of a call that has joined: it returns the Done channel of the call's
// context, and the execution that the call comes from. If that execution waits for this one, or
// ctx panics, the call leaves again.
func (f *flight[T, K, V]) board(ctx context.Context) (gone <-chan struct{}, from origin, err error) {
	stays := false
	defer func() {
		if !stays {
			f.desert(from)
		}
	}()
	gone = ctx.Done()
	if at := originOf(ctx); at != nil {
		f.note(at, 1)
		from = at
		if waitsFor(f, from) {
			return nil, nil, ErrCycle
		}
	}
	stays = true
	return gone, from, nil
}

// desert is leave for a call that has joined.
func (f *flight[T, K, V]) desert(from origin) {
	f.note(from, -1)
	f.leave(false)
}

// forgetCalls removes the edges of a batch that has ended: no call waits for it any more.
func (b *batch[T, K, V]) forgetCalls() {
	if !b.nested {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.items {
		b.items[i].Payload.from = nil
	}
}

func (b *batch[T, K, V]) origins() []origin {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []origin
	for i := range b.items {
		if from := b.items[i].Payload.from; from != nil {
			list = append(list, from)
		}
	}
	return list
}
