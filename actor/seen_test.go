package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Queue tells how many actors wait, and Running which handlers run.
func TestQueueAndRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1, Handoff: -1})
		a, b := box0(t, s, "a"), box0(t, s, "b")
		free := block(t, a)
		_ = do.Tell(bg, b, inc)
		sleep(500)
		q := s.Queue("actors")
		if c := q.Read(); q.Name != "actors" || c.Len != 1 || c.Delivered != 1 {
			t.Errorf("%+v", c)
		}
		if got := fmt.Sprint(s.Running()); got != "[{a Do 500ms}]" {
			t.Error(got)
		}
		free()
		synctest.Wait()
		c := q.Read()
		var n uint64
		var most time.Duration
		for _, b := range c.Waits {
			if n += b.Count; b.Count > 0 {
				most = b.UpperBound
			}
		}
		if c.Len != 0 || c.Delivered != 2 || n != 2 || most < 500*time.Millisecond || most > 1100*time.Millisecond || len(s.Running()) != 0 {
			t.Error(c, n, most, s.Running())
		}
		s.Close()
	})
}

// A dedicated actor has its own thread, and keeps it.
func TestDedicated(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slots: 1, Handoff: -1})
	r := box0(t, s, "a", Dedicated())
	gate := make(chan bool)
	_ = do.Tell(bg, box0(t, s, "hog"), func(*box, *Ctx) (any, error) { <-gate; return nil, nil })
	var ids []string
	for range 5 {
		_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
			buf := make([]byte, 64)
			ids = append(ids, strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1])
			return nil, c.Await(func() error { time.Sleep(time.Microsecond); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Error("on several goroutines", ids)
		}
	}
	close(gate)
	if err := r.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
}

type tellAll struct {
	NoMetrics
	mu  sync.Mutex
	got map[string]int
}

func (m *tellAll) count(format string, args ...any) {
	m.mu.Lock()
	m.got[fmt.Sprintf(format, args...)]++
	m.mu.Unlock()
}
func (m *tellAll) Turn(kind string, n int, _, _ time.Duration, _ TurnEnd) {
	m.count("turn %s %d", kind, n)
}
func (m *tellAll) Timeout(kind, method string, mode TimeoutMode) {
	m.count("timeout %s %s %d", kind, method, mode)
}
func (m *tellAll) Abandoned(kind string, d int) { m.count("abandoned %s %d", kind, d) }
func (m *tellAll) Restarted(kind string)        { m.count("restarted %s", kind) }
func (m *tellAll) Failed(kind string, _ error)  { m.count("failed %s", kind) }
func (m *tellAll) Refused(kind string, err error) {
	m.count("refused %s %v", kind, err)
	panic("logged")
}

// Metrics get their calls per turn, by kind and method.
func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &tellAll{got: map[string]int{}}
		s := newSys(t, Config{Metrics: m, OnTimeout: func(SlowHandler) {}, Logger: slog.New(slog.DiscardHandler)})
		p := sup(t, s, "sup", Supervision{})
		r := box0(t, p, "a", WithHandlerTimeout(time.Second, Stop), WithMailbox(Mailbox{Limit: 3}))
		free := block(t, r)
		for range 4 {
			_ = do.Tell(bg, r, inc)
		}
		free()
		synctest.Wait()
		_, _ = do.Call(bg, r, func(*box, *Ctx) (any, error) { sleep(2000); return nil, nil })
		sleep(5000)
		synctest.Wait()
		for _, want := range []string{
			"turn *actor.box 4", "timeout *actor.box Do 2", "abandoned *actor.box 1", "abandoned *actor.box -1",
			"restarted *actor.box", "failed *actor.box", "refused *actor.box actor: the mailbox is full",
		} {
			if m.got[want] == 0 {
				t.Errorf("not told %q: %v", want, m.got)
			}
		}
		s.Close()
	})
}

// While all actors have work, they share processor time by weight.
func TestShares(t *testing.T) {
	bubble(t, func(t *testing.T) { // a handler's Sleep is its processor time
		s := newSys(t, Config{Slots: 1, Handoff: -1})
		var n [2]int
		var loop [2]job
		for i, r := range []Ref[*box]{box0(t, s, "", WithWeight(3)), box0(t, s, "")} {
			d := []time.Duration{time.Millisecond, 50 * time.Microsecond}[i]
			loop[i] = func(_ *box, c *Ctx) (any, error) {
				time.Sleep(d)
				n[i] += int(d)
				return nil, do.Tell(c, r, loop[i])
			}
			_ = do.Tell(bg, r, loop[i])
		}
		sleep(2000)
		s.Close()
		sleep(2) // this does not wait for the handler in progress
		synctest.Wait()
		if share := float64(n[0]) / float64(n[1]); share < 2.7 || share > 3.3 {
			t.Error(share)
		}
	})
}

// An actor that was idle goes first.
func TestQuietFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1, Handoff: -1})
		for range 4 {
			r := box0(t, s, "")
			for range 100 {
				_ = do.Tell(bg, r, func(*box, *Ctx) (any, error) { time.Sleep(500 * time.Microsecond); return nil, nil })
			}
		}
		quiet := box0(t, s, "")
		sleep(20)
		time.Sleep(time.Microsecond)
		start := time.Now()
		if _, err := do.Start(bg, quiet, get).Wait(bg); err != nil || time.Since(start) > 501*time.Microsecond {
			t.Error(err, time.Since(start))
		}
		s.Close()
		sleep(1)
	})
}

// An actor that was idle has earned no credit.
func TestIdleSavesNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1, Handoff: -1})
		var n [2]atomic.Int32
		refs := []Ref[*box]{box0(t, s, ""), box0(t, s, "")}
		for i, ms := range []int{400, 200} {
			for range ms {
				f := func(*box, *Ctx) (any, error) { sleep(1); n[i].Add(1); return nil, nil }
				_ = do.Tell(bg, refs[i], f)
			}
			if i == 0 {
				sleep(200) // the first one is alone
			}
		}
		sleep(100)
		if a, b := n[0].Load(), n[1].Load(); a < 240 || b < 40 {
			t.Error(a, b)
		}
		s.Close()
		sleep(10)
	})
}

// Invalid settings are refused, and the error names the field.
func TestInvalid(t *testing.T) {
	for want, c := range map[string]Config{
		"Slots": {Slots: -1}, "Slice": {Slice: -1}, "Throughput": {Throughput: -1},
		"Backpressure": {Mailbox: Mailbox{0, firq.Backpressure{Policy: firq.Wait}}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) || !isInvalid(err) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if most := math.MaxInt; most > math.MaxInt32 {
		if _, err := New(Config{Mailbox: Mailbox{Limit: most}}); err == nil || !strings.Contains(err.Error(), "Mailbox.Limit") {
			t.Error(err)
		}
	}
	s := newSys(t, Config{})
	for want, o := range map[string]Option{
		"WithThroughput": WithThroughput(0), "WithWeight": WithWeight(0), "WithReentrancy": WithReentrancy(9),
		"WithHandlerTimeout": WithHandlerTimeout(-1, Warn), "WithSlowAfter": WithSlowAfter(0, nil), "Option": nil,
	} {
		if _, err := Spawn(s, "", fresh, o); err == nil || !strings.Contains(err.Error(), want) || !isInvalid(err) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, v := range map[string]Supervision{"Strategy": {Strategy: 9}, "Within": {Within: -1}, "Backoff": {Backoff: -1}, "MaxBackoff": {MaxBackoff: -1}} {
		if _, err := Supervise(s, "", v); err == nil || !strings.Contains(err.Error(), want) || !isInvalid(err) {
			t.Errorf("%s: %v", want, err)
		}
	}
	var none context.Context
	if err := do.Tell(none, box0(t, s, ""), get); err == nil {
		t.Error("a nil context")
	}
	for i, f := range []func(){
		func() { NewMethod[*box, int, int]("x", nil) }, func() { NewMethod("", run) }, func() { NewMethod("x", run, WithPriority(9)) },
		func() { NewMethod("x", run, WithTimeout(-1, Warn)) }, func() { NewMethod("x", run, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(i, "no panic")
				}
			}()
			f()
		}()
	}
}

func isInvalid(err error) bool { return strings.Contains(err.Error(), firq.ErrInvalidConfig.Error()) }

// A hook that calls Goexit takes neither a slot nor an actor with it.
func TestHookGoexit(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{Slots: 1, OnDeadLetter: func(DeadLetter) { runtime.Goexit() }})
	r := box0(t, s, "a")
	free := block(t, r)
	_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) { c.Stop(nil); return nil, nil })
	_ = do.Tell(bg, r, inc)
	free()
	if _, err := do.Call(within(t), box0(t, s, "b"), get); err != nil {
		t.Fatal(err)
	}
	<-r.Done()
}

// A nil parent is refused, and a handler of another System may call.
func TestOddParents(t *testing.T) {
	limit(t, 20e9)
	for _, p := range []Parent{nil, (*System)(nil), (*Ctx)(nil), (*Supervisor)(nil)} {
		if _, err := Spawn(p, "", fresh); err == nil {
			t.Errorf("%T", p)
		}
		if _, err := Supervise(p, "", Supervision{}); err == nil {
			t.Errorf("%T", p)
		}
	}
	s1, s2 := newSys(t, Config{}), newSys(t, Config{})
	a, b := box0(t, s1, "a"), box0(t, s2, "b")
	_, err := do.Call(within(t), a, func(_ *box, c *Ctx) (any, error) {
		return do.Call(c, b, func(_ *box, c *Ctx) (any, error) { return do.Call(c, a, get) })
	})
	if !errors.Is(err, ErrDeadlock) {
		t.Error(err)
	}
}
