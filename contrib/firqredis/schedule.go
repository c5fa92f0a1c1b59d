package firqredis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis/internal/cron"
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
	// schedulesAtOnce is how many of a partition that are due are fired before the next partition has its turn.
	schedulesAtOnce = 100
)

// Run queues the tasks of schedules that are due, until ctx is done; then it returns nil. It goes by this
// machine's clock. A server that is away is tried again.
func (s *Schedules[T]) Run(ctx context.Context) error {
	if ctx == nil {
		return s.q.call(ctx, "Schedules.Run")
	}
	for pause := firstPause; ; {
		wait, err := s.look(ctx)
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

// look fires the schedules that are due, and returns how long to wait.
func (s *Schedules[T]) look(ctx context.Context) (wait time.Duration, err error) {
	wait = looksEvery
	for p, prefix := range s.q.prefix {
		zs, err := s.q.db.ZRangeWithScores(ctx, prefix+":sz", 0, schedulesAtOnce-1).Result()
		if err != nil {
			return 0, fmt.Errorf("firqredis: schedules: %w", err)
		}
		fired := 0
		for _, z := range zs {
			due := time.UnixMicro(int64(z.Score))
			if d := time.Until(due); d > 0 {
				wait = min(wait, d)
				break
			}
			id := z.Member.(string)
			if fired++; fired == schedulesAtOnce { // there may be more
				wait = 0
			}
			switch err := s.fire(ctx, p, id, due); {
			case errors.Is(err, firq.ErrInvalidTask): // of another version, say: it waits, and the others do not
				if _, known := s.q.unreadable.LoadOrStore(id, true); !known {
					slog.Default().Error("firqredis: a schedule that is due cannot be read", "id", id, "error", err)
				}
				fired--
			case err != nil:
				return 0, err
			default:
				s.q.unreadable.Delete(id)
			}
		}
	}
	return wait, nil
}

// fire queues the tasks of one schedule that is due, and moves it on. If another process is doing the same,
// one of them does, and the other one does nothing. Missed due times are queued in portions, each of which moves
// the schedule on to the next one: between them the server does other work, and the next caller goes on from there.
func (s *Schedules[T]) fire(ctx context.Context, p int, id string, due time.Time) error {
	text, err := s.q.db.HGet(ctx, s.q.prefix[p]+":sch", id).Result()
	if errors.Is(err, redis.Nil) {
		return nil // deleted just now
	}
	if err != nil {
		return fmt.Errorf("firqredis: schedules: %w", err)
	}
	var x plan
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return invalidTask("schedule %q: %v", id, err)
	}
	spec, err := cron.Parse(x.Cron, x.Zone)
	if err != nil {
		return invalidTask("schedule %q: %v", id, err)
	}
	now := time.Now()
	next, err := spec.Next(now)
	if err != nil {
		return invalidTask("schedule %q: %v", id, err)
	}
	var at []time.Time
	if !x.Paused {
		if at, err = dues(spec, due, now, x.CatchUp); err != nil {
			return invalidTask("schedule %q: %v", id, err)
		}
	}
	most := max(1, min(maxBatch, maxBytes/(len(text)+1)))
	for {
		some := at[:min(len(at), most)]
		at = at[len(some):]
		then := next
		if len(at) > 0 {
			then = at[0]
		}
		args := []any{id, due.UnixMicro(), then.UnixMicro(), ""}
		for _, d := range some {
			args[3] = strconv.FormatInt(d.UnixMicro(), 10)
			one, err := s.fireArgs(id, &x, d)
			if err != nil {
				return err
			}
			args = append(args, one...)
		}
		r, err := s.q.runWithSettings(ctx, fireScript, p, args...)
		if err != nil || len(at) == 0 || number(r) < 0 {
			return err
		}
		due = then
	}
}

// dueFormat is the format of the due time in the ID of a schedule's task.
const dueFormat = "2006-01-02T15:04:05Z07:00"

// fireArgs returns the script's arguments for one task.
func (s *Schedules[T]) fireArgs(id string, x *plan, due time.Time) ([]any, error) {
	name := id + "@" + due.UTC().Format(dueFormat)
	t := Task[T]{UniqueFor: x.UniqueFor, Delay: x.Delay, Deadline: x.Deadline, Headers: x.Raw.join(x.Headers)}
	m, err := metaOf(&t)
	if err != nil {
		return nil, err
	}
	delay := x.Delay
	if x.Jitter > 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		delay += time.Duration(h.Sum64() % uint64(x.Jitter))
	}
	var later, deadline int64
	if delay > 0 {
		later = due.Add(delay).UnixMicro()
	}
	if !x.Deadline.IsZero() {
		deadline = max(x.Deadline.UnixMicro(), 1)
	}
	return []any{
		x.Tenant, name, int(x.Priority), strconv.FormatInt(x.Cost, 10), deadline, cmp.Or(x.MaxAttempts, s.q.cfg.MaxAttempts), x.UniqueKey,
		ceil(min(x.UniqueFor, forEver), time.Millisecond), m, string(x.Payload), later, s.q.weight(x.Tenant),
	}, nil
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
