package jobs

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// planted is a system whose delays are known. In a bubble of synctest they are exact.
type planted struct {
	spawn, stop time.Duration               // what starting and ending an actor takes
	handle      func(nth int) time.Duration // what the nth message takes, of all actors
	call        func(nth int) time.Duration // what the nth call takes, whichever actor is called
	answer      func() error                // to a call from a handler
	ballast     int                         // bytes that an actor has beside its state
	stateSize   int                         // bytes
	handled     atomic.Int64
	called      int
	kept        [][]byte
	started     []*plantedRef
}

// Close ends the goroutines: all of a bubble have to.
func (s *planted) Close() error {
	for _, r := range s.started {
		if !r.stopped {
			close(r.inbox)
		}
	}
	return nil
}

type plantedKind struct {
	s *planted
	h peers.Handler
}

func (s *planted) Kind(h peers.Handler) peers.Kind { return &plantedKind{s, h} }

func (k *plantedKind) State() any { return make([]byte, k.s.stateSize) }

func (k *plantedKind) Spawn(_ string, room int) (peers.Ref, error) {
	time.Sleep(k.s.spawn)
	if n := k.s.ballast + k.s.stateSize; n > 0 {
		k.s.kept = append(k.s.kept, make([]byte, n))
		return &plantedInline{k}, nil
	}
	r := &plantedRef{k: k, inbox: make(chan *peers.Msg, room)}
	k.s.started = append(k.s.started, r)
	go func() {
		for m := range r.inbox {
			if k.s.handle != nil {
				time.Sleep(k.s.handle(int(k.s.handled.Add(1)) - 1))
			}
			k.h(&plantedCtx{s: k.s}, m)
		}
	}()
	return r, nil
}

type plantedRef struct {
	k       *plantedKind
	inbox   chan *peers.Msg
	stopped bool
}

func (r *plantedRef) Tell(m *peers.Msg) error {
	r.inbox <- m
	return nil
}

func (r *plantedRef) Call(m *peers.Msg) (*peers.Msg, error) {
	if r.k.s.call != nil {
		time.Sleep(r.k.s.call(r.k.s.called))
	}
	r.k.s.called++
	c := &plantedCtx{s: r.k.s}
	r.k.h(c, m)
	return c.reply, nil
}

func (r *plantedRef) CallQueued(m *peers.Msg) (*peers.Msg, error) { return r.Call(m) }

func (r *plantedRef) Stop() func() error {
	r.stopped = true
	close(r.inbox)
	return func() error { time.Sleep(r.k.s.stop); return nil }
}

// plantedInline is an actor without a goroutine.
type plantedInline struct{ k *plantedKind }

func (r *plantedInline) Tell(m *peers.Msg) error                     { r.k.h(nil, m); return nil }
func (r *plantedInline) Call(m *peers.Msg) (*peers.Msg, error)       { return m, nil }
func (r *plantedInline) CallQueued(m *peers.Msg) (*peers.Msg, error) { return m, nil }
func (r *plantedInline) Stop() func() error                          { return nil }

type plantedCtx struct {
	s     *planted
	reply *peers.Msg
}

func (c *plantedCtx) Reply(m *peers.Msg)                    { c.reply = m }
func (c *plantedCtx) Tell(to peers.Ref, m *peers.Msg) error { return to.Tell(m) }
func (c *plantedCtx) Call(peers.Ref, *peers.Msg, time.Duration) (*peers.Msg, error) {
	return &peers.Msg{}, c.s.answer()
}

// measured runs a job on a system.
func measured(t *testing.T, name string, s *planted, z Size) Metrics {
	t.Helper()
	m, err := find(t, name).Run(func() (peers.System, error) { return s, nil }, z)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func find(t *testing.T, name string) *Job {
	t.Helper()
	j, err := Select([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return &j[0]
}

func want(t *testing.T, m Metrics, metric string, value, tolerance float64) {
	t.Helper()
	if v, ok := m[metric]; !ok || math.Abs(v-value) > tolerance {
		t.Errorf("%s is %v, want %v within %v", metric, v, value, tolerance)
	}
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
