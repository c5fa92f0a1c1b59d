package jobs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// A message takes 300 us, so that is the latency of all of them.
func TestQuietOfASteadySystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measured(t, "quiet-alone", &planted{handle: always(300 * time.Microsecond)}, Size{Long: time.Second})
		for _, metric := range []string{"p50", "p99", "worst"} {
			want(t, m, metric, 300, 0)
		}
	})
}

// An actor that does not send until its message is handled, which is what a closed loop does, would see one late
// message in a stall of 100 ms. In an open loop each message that is due during the stall is late: here the sender itself is
// held up, by Tell, which only the due times show.
func TestQuietCountsFromWhenItIsDue(t *testing.T) {
	for _, c := range []struct {
		at               int
		worst, p99, late float64
	}{
		// Of 1,000 messages one takes 100 ms and those after it 99, 98, ... 1 ms: all but 10 take at most 90. The one is
		// sent in time, those after it are late.
		{500, 100_000, 90_000, 89_000},
		{50, 0, 0, 0}, // in the fifth that is not counted
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &stalling{planted: &planted{}, at: c.at, stall: 100 * time.Millisecond}
			m, err := find(t, "quiet-alone").Run(func() (peers.System, error) { return s, nil }, Size{Long: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			want(t, m, "worst", c.worst, 0)
			want(t, m, "p99", c.p99, 0)
			want(t, m, "late-p99", c.late, 0)
			want(t, m, "late-p50", 0, 0)
			want(t, m, "p50", 0, 0)
		})
	}
}

// stalling is a system in which one Tell takes long.
type stalling struct {
	*planted
	at, n int
	stall time.Duration
}

func (s *stalling) Kind(h peers.Handler) peers.Kind { return &stallingKind{s.planted.Kind(h), s} }

type stallingKind struct {
	peers.Kind
	s *stalling
}

func (k *stallingKind) Spawn(name string, room int) (peers.Ref, error) {
	r, err := k.Kind.Spawn(name, room)
	return &stallingRef{r, k.s}, err
}

type stallingRef struct {
	peers.Ref
	s *stalling
}

func (r *stallingRef) Tell(m *peers.Msg) error {
	if r.s.n++; r.s.n == r.s.at {
		time.Sleep(r.s.stall)
	}
	return r.Ref.Tell(m)
}

// Of the calls that are timed, each 8th, 2 in 100 take 5 ms and the others 1 ms.
func TestCallPercentiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(nth int) time.Duration {
			if nth%sampled == 0 && nth/sampled%50 == 7 {
				return 5 * time.Millisecond
			}
			return time.Millisecond
		}
		m := measured(t, "call", &planted{call: slow}, Size{Duration: 20 * time.Second})
		want(t, m, "p50", 1000, 0)
		want(t, m, "p99", 5000, 0)
		want(t, m, "rate", 0.001/1.01, 1e-6)
	})
}

// Each of eight senders needs 100 us for a message: 80,000 messages a second.
func TestTellRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{planted: &planted{}, each: 100 * time.Microsecond}
		m, err := find(t, "tell-8-1").Run(func() (peers.System, error) { return s, nil }, Size{Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		want(t, m, "rate", 0.08, 0.0001)
	})
}

// slow is a system in which each Tell takes its time and is handled in it.
type slow struct {
	*planted
	each time.Duration
}

func (s *slow) Kind(h peers.Handler) peers.Kind {
	return &slowKind{Kind: s.planted.Kind(h), h: h, each: s.each}
}

type slowKind struct {
	peers.Kind
	h    peers.Handler
	each time.Duration
	lock sync.Mutex // of the handler
}

func (k *slowKind) Spawn(string, int) (peers.Ref, error) { return &slowRef{k: k}, nil }

type slowRef struct {
	peers.Ref
	k *slowKind
}

func (r *slowRef) Tell(m *peers.Msg) error {
	time.Sleep(r.k.each)
	r.k.lock.Lock()
	defer r.k.lock.Unlock()
	r.k.h(nil, m)
	return nil
}

// A pair with 2 ms per message has 500 turns a second; 32 pairs have 32 times that.
func TestPingpongRate(t *testing.T) {
	for job, rate := range map[string]float64{"pingpong-1": 500e-6, "pingpong-32": 32 * 500e-6} {
		synctest.Test(t, func(t *testing.T) {
			m := measured(t, job, &planted{handle: always(2 * time.Millisecond)}, Size{Duration: 2 * time.Second})
			want(t, m, "rate", rate, rate/500)
		})
	}
}

func TestSpawnTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measured(t, "spawn", &planted{spawn: 3 * time.Microsecond, stop: 2 * time.Microsecond}, Size{Spawn: 100})
		want(t, m, "spawn", 3, 0)
		want(t, m, "stop", 2, 0)
		want(t, m, "both", 5, 0)
	})
}

// alone runs a test in its own process, as jobs are, and reports whether this is it: what the systems of other
// tests leave behind ends some time, and would be measured.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "FIRQ_ACTORS_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Bytes without the state are what the system keeps; a goroutine per actor is seen.
func TestMemory(t *testing.T) {
	if !alone(t) {
		return
	}
	m := measured(t, "memory", &planted{ballast: 1024 - 64, stateSize: 64}, Size{Actors: 5000})
	want(t, m, "all", 1024+40, 40) // the rest is the list of what is kept, which has room
	want(t, m, "bytes", 1024+40-64-24, 40)
	want(t, m, "goroutines", 0, 0.01)
	s := &planted{}
	m = measured(t, "memory", s, Size{Actors: 1000})
	want(t, m, "goroutines", 1, 0.05)
	runtime.KeepAlive(s)
}

// A system that serves a message of each actor in turn gives those with expensive messages 20 times as much.
func TestShareOfRoundRobin(t *testing.T) {
	m, err := find(t, "share").Run(func() (peers.System, error) { return newTurns(), nil }, Size{Long: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	want(t, m, "ratio", float64(expensive/cheap), 3)
}

// turns is a system with one goroutine, and one queue of the messages of all.
type turns struct {
	*planted
	queue chan turn
}

type turn struct {
	h peers.Handler
	m *peers.Msg
}

func newTurns() *turns {
	s := &turns{&planted{}, make(chan turn, 10_000)}
	go func() {
		for t := range s.queue {
			t.h(&plantedCtx{}, t.m)
		}
	}()
	return s
}

func (s *turns) Kind(h peers.Handler) peers.Kind { return &turnsKind{s.planted.Kind(h), s, h} }

type turnsKind struct {
	peers.Kind
	s *turns
	h peers.Handler
}

func (k *turnsKind) Spawn(string, int) (peers.Ref, error) { return &turnsRef{k: k}, nil }

type turnsRef struct {
	peers.Ref
	k *turnsKind
}

func (r *turnsRef) Tell(m *peers.Msg) error {
	r.k.s.queue <- turn{r.k.h, m}
	return nil
}

func TestCycle(t *testing.T) {
	for _, c := range []struct {
		answer error
		after  time.Duration
		named  float64
		fails  string
	}{
		{peers.ErrTimeout, 50 * time.Millisecond, 0, ""},
		{errors.New("cycle-a calls cycle-b calls cycle-c"), time.Millisecond, 1, ""},
		{errors.New("no such actor"), 0, 0, "neither a timeout"},
		{nil, 0, 0, "went well"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &planted{answer: func() error { return c.answer }, call: always(c.after)}
			m, err := find(t, "cycle").Run(func() (peers.System, error) { return s, nil }, Size{Duration: time.Second})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want %q", err, c.fails)
				}
			} else if err != nil {
				t.Error(err)
			} else {
				want(t, m, "answer", us(c.after), 0)
				want(t, m, "named", c.named, 0)
			}
		})
	}
}
