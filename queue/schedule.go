package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue/internal/cron"
)

// Schedule says at which times a task is queued.
type Schedule[T any] struct {
	ID string
	// Cron has five fields, or six with seconds first, or is @hourly, @daily, @weekly, @monthly or @yearly. A
	// fixed time in the gap of daylight saving is due at the end of the gap, one in the hour that comes twice
	// the first time only; with `*` in the minute or the hour it ticks in real time.
	Cron string
	Zone string // "": UTC
	// Task is the task to queue, without ID and At. Its ID is made of the schedule's, "@" and the due time in
	// UTC, so that each due time fires once.
	Task Task[T]
	// CatchUp is how many of the due times that were missed by more than 5 s still fire, the latest ones. 0: 1;
	// below 0: none.
	CatchUp int
	// Jitter bounds a delay of the task, which depends on its ID only.
	Jitter time.Duration
	Paused bool // due times pass, and nothing is queued
}

// ScheduleInfo is a schedule with its state.
type ScheduleInfo[T any] struct {
	Schedule[T]
	NextDue time.Time
	LastDue time.Time // zero: it has not fired yet
}

// Next returns the next n due times after from, without Jitter. It needs no server. firq.ErrInvalidTask: a
// bad Cron or Zone.
func (sc Schedule[T]) Next(from time.Time, n int) ([]time.Time, error) {
	spec, err := cron.Parse(sc.Cron, sc.Zone)
	if err != nil {
		return nil, invalidTask("schedule %q: %v", sc.ID, err)
	}
	var all []time.Time
	for range n {
		if from, err = spec.Next(from); err != nil {
			return nil, invalidTask("schedule %q: %v", sc.ID, err)
		}
		all = append(all, from)
	}
	return all, nil
}

// Schedules are the schedules of a queue. Any number of processes may Run them: each due time fires once.
type Schedules[T any] struct{ q *Queue[T] }

// Schedules returns the schedules of the queue.
func (q *Queue[T]) Schedules() *Schedules[T] { return &Schedules[T]{q} }

const (
	// missedBy is by how much a due time has to be missed for CatchUp to count it.
	missedBy = 5 * time.Second
	// looksEvery bounds how long a schedule that another process has put goes unnoticed.
	looksEvery = time.Second
	// schedulesAtOnce is how many of a lane that are due are fired before the next lane has its turn.
	schedulesAtOnce = 100
)

// Run queues the tasks of schedules that are due, until ctx is done; then it returns nil. It goes by this
// machine's clock. A server that is away is tried again.
func (s *Schedules[T]) Run(ctx context.Context) error {
	if ctx == nil {
		return s.q.call(ctx, "Schedules.Run")
	}
	for pause := firstPause; ; {
		wait, err := s.RunOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case s.q.over():
			return firq.ErrClosed
		case errors.Is(err, ErrVersion):
			return err
		case err != nil:
			wait, pause = pause, min(2*pause, lastPause)
		default:
			pause = firstPause
		}
		if wait > 0 && !s.q.sleepFor(ctx, wait) && ctx.Err() == nil {
			return firq.ErrClosed
		}
	}
}

// RunOnce fires the schedules that are due, and returns after how long to call it again, for programs that have their own loop.
func (s *Schedules[T]) RunOnce(ctx context.Context) (wait time.Duration, err error) {
	if err := s.q.call(ctx, "Schedules.RunOnce"); err != nil {
		return 0, err
	}
	wait = looksEvery
	for lane := range s.q.traits.Lanes {
		plans, err := s.q.engine.DueSchedules(ctx, lane, schedulesAtOnce)
		if err != nil {
			return 0, err
		}
		fired := 0
		for _, p := range plans {
			if d := time.Until(p.Due); d > 0 {
				wait = min(wait, d)
				break
			}
			if fired++; fired == schedulesAtOnce { // there may be more
				wait = 0
			}
			switch err := s.fire(ctx, lane, p); {
			case errors.Is(err, firq.ErrInvalidTask): // of another version, say: it waits, and the others do not
				if _, known := s.q.unreadable.LoadOrStore(p.ID, true); !known {
					slog.Default().Error("queue: a schedule that is due cannot be read", "id", p.ID, "error", err)
				}
				fired--
			case err != nil:
				return 0, err
			default:
				s.q.unreadable.Delete(p.ID)
			}
		}
	}
	return wait, nil
}

// fire queues the tasks of one schedule that is due, and moves it on. If another process is doing the same,
// one of them does, and the other one does nothing. Missed due times are queued in portions, each of which moves
// the schedule on to the next one: between them the server does other work, and the next caller goes on from there.
func (s *Schedules[T]) fire(ctx context.Context, lane int, p Plan) error {
	var x plan
	if err := json.Unmarshal(p.Text, &x); err != nil {
		return invalidTask("schedule %q: %v", p.ID, err)
	}
	spec, err := cron.Parse(x.Cron, x.Zone)
	if err != nil {
		return invalidTask("schedule %q: %v", p.ID, err)
	}
	now := time.Now()
	next, err := spec.Next(now)
	if err != nil {
		return invalidTask("schedule %q: %v", p.ID, err)
	}
	var at []time.Time
	if !x.Paused {
		if at, err = dues(spec, p.Due, now, x.CatchUp); err != nil {
			return invalidTask("schedule %q: %v", p.ID, err)
		}
	}
	most := max(1, min(MaxBatch, MaxBytes/(len(p.Text)+1)))
	for due := p.Due; ; {
		some := at[:min(len(at), most)]
		at = at[len(some):]
		f := Firing{ID: p.ID, Due: due, Next: next}
		if len(at) > 0 {
			f.Next = at[0]
		}
		for _, d := range some {
			f.Last, f.Tasks = d, append(f.Tasks, s.task(p.ID, &x, d))
		}
		ok, err := s.q.engine.Fire(ctx, lane, f)
		if err != nil || len(at) == 0 || !ok {
			return err
		}
		due = f.Next
	}
}

// dueFormat is the format of the due time in the ID of a schedule's task.
const dueFormat = "2006-01-02T15:04:05Z07:00"

// task returns the task of one due time.
func (s *Schedules[T]) task(id string, x *plan, due time.Time) Raw {
	r := Raw{Weight: s.q.weight(x.Tenant), Task: Task[[]byte]{
		Payload: x.Payload, Tenant: x.Tenant, ID: id + "@" + due.UTC().Format(dueFormat), UniqueKey: x.UniqueKey, UniqueFor: x.UniqueFor,
		Cost: x.Cost, Priority: x.Priority, Delay: x.Delay, Deadline: deadline(x.Deadline, x.TTL), MaxAttempts: cmp.Or(x.MaxAttempts, s.q.cfg.MaxAttempts),
		KeepResult: x.KeepResult,
		Headers:    x.Raw.Join(x.Headers),
	}}
	delay := x.Delay
	if x.Jitter > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(r.ID))
		delay += time.Duration(h.Sum64() % uint64(x.Jitter))
	}
	if delay > 0 {
		r.Due = due.Add(delay)
	}
	return r
}

// dues returns the due times from first to now that are to fire: those missed by at most missedBy, and of the
// others as many of the latest as CatchUp says.
func dues(spec *cron.Spec, first, now time.Time, catchUp int) ([]time.Time, error) {
	if catchUp == 0 {
		catchUp = 1
	}
	for back := time.Minute; ; back *= 4 { // there may be many: begin with the latest
		from := now.Add(-back)
		whole := !from.After(first)
		if whole {
			from = first.Add(-time.Microsecond)
		}
		var missed, timely []time.Time
		for t := from; ; {
			var err error
			if t, err = spec.Next(t); err != nil {
				return nil, err
			}
			if t.After(now) {
				break
			}
			if now.Sub(t) > missedBy {
				missed = append(missed, t)
			} else {
				timely = append(timely, t)
			}
		}
		if n := len(missed); whole || n >= catchUp {
			return append(missed[n-min(n, max(catchUp, 0)):], timely...), nil
		}
	}
}
