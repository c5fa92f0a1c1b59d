package actor

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// exitWays are the ways in which user code can end without returning. TestCallbacks tries them
// everywhere; the tests here look closer.
var exitWays = map[string]func(){
	"panic":  func() { panic("some") },
	"Goexit": runtime.Goexit,
}

// Close ends everything and returns, however the last words end: those of actors, of their
// children, and of some of them only. A caller waiting during Close gets an answer, too.
func TestCloseEndsWithoutLastWords(t *testing.T) {
	for name, exit := range exitWays {
		t.Run(name, func(t *testing.T) {
			limit(t, 20e9)
			before := goleak.IgnoreCurrent()
			var said atomic.Int32
			s := newSys(t, Config{})
			start := func(*Ctx) (*box, error) {
				return &box{end: func(*Ctx, error) { said.Add(1); exit() }}, nil
			}
			var ends []<-chan struct{}
			for range 3 {
				p, err := Supervise(s, "", Supervision{})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					r, err := Spawn(p, "", start)
					if err != nil {
						t.Fatal(err)
					}
					ends = append(ends, r.Done())
				}
			}
			closed := make(chan error, 2)
			for range 2 {
				go func() {
					err := errors.New("Close has not returned")
					defer func() { closed <- err }()
					err = s.Close()
				}()
			}
			for range 2 {
				if err := <-closed; err != nil {
					t.Error(err)
				}
			}
			for _, end := range ends {
				<-end
			}
			if n := said.Load(); n != 9 {
				t.Errorf("%d of 9 had last words", n)
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// exitingMetrics is user code that never returns where a goroutine of the System calls it.
type exitingMetrics struct {
	NoMetrics
	handoffs atomic.Int32
	exit     func()
}

func (m *exitingMetrics) Handoff() { m.handoffs.Add(1); m.exit() }

// The monitor takes slots from hogs as long as the System lives, even if Metrics.Handoff does not return.
func TestMonitorOutlivesHook(t *testing.T) {
	for name, exit := range exitWays {
		t.Run(name, func(t *testing.T) {
			limit(t, 20e9)
			m := &exitingMetrics{exit: exit}
			s := newSys(t, Config{Slots: 1, Metrics: m})
			for range 3 {
				hog, quiet := box0(t, s, ""), box0(t, s, "")
				free := block(t, hog)
				if _, err := do.Call(within(t), quiet, get); err != nil {
					t.Fatal(err)
				}
				free()
			}
			for end := time.Now().Add(10 * time.Second); m.handoffs.Load() < 3 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if n := m.handoffs.Load(); n < 3 {
				t.Errorf("%d slots were handed over", n)
			}
		})
	}
}
