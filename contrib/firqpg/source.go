package firqpg

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/queue"
)

const (
	// longestSleep bounds how long a wake-up is missed whose receiver died before it could use it. wake_before has it, too.
	longestSleep = 2 * time.Second
	// deafSleep is how long a source sleeps that no notification reaches: all slots are taken, or NoListen.
	deafSleep = 250 * time.Millisecond
	// fromEvery is how often a source of some tenants looks while others have tasks.
	fromEvery = 100 * time.Millisecond
	// busyAfter: once this many looks in a row have found something the source gives its slot back, and takes its time for the next ones.
	busyAfter = 3
	// mostRest is how long it does that at most.
	mostRest = 2 * time.Millisecond
	// longestPop is after how long a look is given up.
	longestPop = 30 * time.Second
)

// source pops for the calls of a process that wait.
type source struct {
	e               *engine
	names, patterns []string

	ears  *ears     // the queue's; nil: another source has them, or no call waits
	due   time.Time // when something is due, as far as is known; zero: nothing is
	row   int       // looks in a row that have found something
	took  time.Duration
	most  int // the most tasks that were wanted lately: when as many are again there is no caller to wait for
	empty int // looks in a row that have found nothing
}

func (e *engine) From(tenants, steal []string) queue.Source {
	s := &source{e: e}
	if len(tenants) > 0 {
		s.names = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(tenants))), unstorable)
	}
	if len(steal) > 0 {
		s.patterns = []string{}
	}
	for _, glob := range slices.DeleteFunc(slices.Clone(steal), unstorable) {
		s.patterns = append(s.patterns, strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%", "?", "_").Replace(glob))
	}
	return s
}

func (s *source) some() bool { return s.names != nil || s.patterns != nil }

func (s *source) Pop(ctx context.Context, want func() int) ([]queue.Delivery, error) {
	if s.ears == nil && !s.e.noListen {
		select {
		case s.ears = <-s.e.ears:
		default:
		}
	}
	for {
		n := want()
		if n == 0 {
			s.leave()
			return nil, nil
		}
		if n < s.most && s.row > busyAfter { // a look costs the server, and more callers come soon
			if runtime.Gosched(); want() < s.most {
				time.Sleep(min(s.took/2, mostRest))
			}
			n = max(n, want())
		}
		s.most = max(n, s.most-1)
		began := time.Now()
		ds, h, err := s.look(ctx, n)
		s.took, s.due = time.Since(began), time.Time{}
		if h.next >= 0 {
			s.due = time.Now().Add(h.next)
		}
		switch {
		case err != nil:
			s.row, s.empty = 0, 0
			if ctx.Err() != nil {
				s.leave()
				return nil, nil
			}
			return nil, err
		case len(ds) > 0:
			if s.row++; s.row >= busyAfter {
				s.ears.disarm(false, false)
			}
			s.ears.heard(false)
			s.empty = 0
			return ds, nil
		}
		if ctx.Err() != nil && !h.left { // there is nothing that it could have had
			s.leave()
			return nil, nil
		}
		s.row = 0
		s.empty++
		s.doze(ctx, &h)
	}
}

// look pops: of the named tenants first. If ctx ends in between, what is popped is still given to the caller, which gives it back.
func (s *source) look(ctx context.Context, n int) (ds []queue.Delivery, h head, err error) {
	db := s.ears.popper(ctx) // before, as a look has but a second more once ctx ends
	ctx, cancel := patiently(ctx, longestPop)
	defer cancel()
	pop := func(names, patterns []string) error {
		if db != nil {
			ds, h, err = s.e.pop(ctx, db, n, names, patterns)
			return wrap("Dequeue", err)
		}
		return s.e.run(ctx, "Dequeue", func(db querier) error {
			ds, h, err = s.e.pop(ctx, db, n, names, patterns)
			return err
		})
	}
	if !s.some() {
		return ds, h, pop(nil, nil)
	}
	if s.names != nil {
		if err := pop(s.names, nil); err != nil || len(ds) > 0 || h.again || s.patterns == nil {
			return ds, h, err
		}
	}
	return ds, h, pop(nil, s.patterns)
}

// patiently returns a context that lasts for a second more once ctx ends, and not longer than d.
func patiently(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	stop := context.AfterFunc(ctx, func() {
		sleep(c, time.Second)
		cancel()
	})
	return c, func() { stop(); cancel() }
}

// doze sleeps until there may be something.
func (s *source) doze(ctx context.Context, h *head) {
	if h.left { // there are tasks, and none for this source; or there is more to bring in
		if h.again || !s.some() {
			return
		}
		s.ears.disarm(true, true)
		sleep(ctx, fromEvery)
		return
	}
	if !s.ears.armed() && s.ears.arm(ctx) {
		return // look again, now that others see that this process sleeps
	}
	d := s.ears.patience(h, s.empty)
	if h.next >= 0 {
		d = min(d, max(h.next, time.Millisecond))
	}
	if s.some() && !s.ears.armed() {
		d = min(d, fromEvery)
	}
	s.ears.wait(ctx, d)
}

// leave ends a stretch of waiting: a wake-up that no caller here uses goes on, and another process learns of what is due soon. Another
// source may have the queue's connections.
func (s *source) leave() {
	pass := s.ears.was()
	if !s.due.IsZero() && time.Until(s.due) < longestSleep {
		pass, s.due = true, time.Time{}
	}
	if s.ears.armed() {
		s.ears.disarm(true, pass)
	} else if pass {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = s.e.db.Exec(ctx, s.e.sql("select @.wake($1)"), s.e.id) // else it is found after longestSleep
		cancel()
	}
	if s.ears != nil {
		s.e.ears <- s.ears
		s.ears = nil
	}
}
