package actor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A handler that returns at the instant of its timeout, as one that obeys its Ctx does, is reported
// as well, once, whether its alarm or its return comes first.
func TestTimeoutIsReported(t *testing.T) {
	const calls = 100
	for _, mode := range []TimeoutMode{Warn, Cancel, Stop} {
		bubble(t, func(t *testing.T) {
			var late atomic.Int32
			rec := NewRecorder()
			s := newSys(t, Config{Metrics: rec, OnTimeout: func(h SlowHandler) {
				if h.Elapsed != 20*time.Millisecond {
					t.Error(h)
				}
				late.Add(1)
			}})
			r := must(t, sup(t, s, "sup", Supervision{MaxRestarts: Unlimited}), "a", fresh, WithHandlerTimeout(20*time.Millisecond, mode))
			for i := range calls {
				_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
					if mode == Cancel {
						<-c.Done()
					} else {
						sleep(20)
					}
					return nil, nil
				})
				_, _ = do.Call(bg, r, func(*box, *Ctx) (any, error) { return nil, nil }) // is not late
				synctest.Wait()
				if got := rec.Recorded().Timeouts; late.Load() != int32(i+1) || len(got) != 1 || got[0].Count != uint64(i+1) {
					t.Fatal(mode, i, late.Load(), got)
				}
			}
			s.Close()
		})
	}
}

// A handler that goes on after its caller has left is reported at its timeout, too.
func TestTimeoutAfterCallerLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var late []SlowHandler
		s := newSys(t, Config{OnTimeout: func(h SlowHandler) { late = append(late, h) }})
		r := box0(t, s, "a", WithHandlerTimeout(20*time.Millisecond, Cancel))
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		defer cancel()
		_, err := do.Call(ctx, r, func(*box, *Ctx) (any, error) { sleep(50); return nil, nil })
		sleep(50)
		synctest.Wait()
		if !errors.Is(err, context.DeadlineExceeded) || fmt.Sprint(late) != "[{a Do 20ms}]" {
			t.Error(err, late)
		}
		s.Close()
	})
}

// An alarm that rings between a handler's return and the end of its time leaves the report to clean.
func TestAlarmAfterReturn(t *testing.T) {
	s := newSys(t, Config{})
	c := s.newCtx(nil, new(account))
	c.limit.due = time.Now().Add(-time.Second)
	c.st.Store(stale)
	if c.overLimit(); !c.limit.over() {
		t.Error("neither the alarm nor clean reports")
	}
}
