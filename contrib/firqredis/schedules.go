package firqredis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// plan is a schedule as it is stored.
type plan struct {
	Cron, Zone        string
	CatchUp           int
	Jitter            time.Duration
	Paused            bool
	Tenant, UniqueKey string
	UniqueFor         time.Duration
	Cost              int64
	Priority          firq.Priority
	Delay             time.Duration
	Deadline          time.Time
	MaxAttempts       int
	Headers           map[string]string
	Payload           []byte
	Raw               rawHeaders `json:",omitempty"` // headers
}

// Put adds a schedule, or replaces the one with its ID; with the same Cron and Zone that keeps its next due
// time. firq.ErrInvalidTask: a bad ID, Cron, Zone or Task.
func (s *Schedules[T]) Put(ctx context.Context, sc Schedule[T]) error {
	if err := s.q.call(ctx, "Put"); err != nil {
		return err
	}
	if badName(sc.ID) {
		return invalidTask("schedule: ID: %q: %s", sc.ID, nameRule)
	}
	t := sc.Task
	switch {
	case t.ID != "":
		return invalidTask("schedule %q: Task.ID: %q, must be empty: it is made of the due time", sc.ID, t.ID)
	case !t.At.IsZero():
		return invalidTask("schedule %q: Task.At: must be zero", sc.ID)
	case !utf8.ValidString(t.Tenant) || !utf8.ValidString(t.UniqueKey): // it is stored as JSON
		return invalidTask("schedule %q: Task.Tenant: %q and Task.UniqueKey: %q, must be UTF-8", sc.ID, t.Tenant, t.UniqueKey)
	case sc.Jitter < 0:
		return invalidTask("schedule %q: Jitter: %v, must not be negative", sc.ID, sc.Jitter)
	}
	t, err := s.q.check(t)
	if err != nil {
		return err
	}
	payload, err := s.q.encode(t.Payload, t.Headers)
	if err != nil {
		return err
	}
	next, err := sc.Next(time.Now(), 1)
	if err != nil {
		return err
	}
	texts, raw := splitHeaders(t.Headers)
	text, err := json.Marshal(plan{
		sc.Cron, sc.Zone, sc.CatchUp, sc.Jitter, sc.Paused, t.Tenant, t.UniqueKey, t.UniqueFor, t.Cost, t.Priority, t.Delay, t.Deadline,
		sc.Task.MaxAttempts, texts, payload, raw,
	})
	if err != nil {
		return invalidTask("schedule %q: %v", sc.ID, err)
	}
	own, due := s.q.partitionOf(t.Tenant), next[0].UnixMicro()
	for p := range s.q.prefix {
		if p != own { // it had another tenant before
			r, err := s.q.runWithSettings(ctx, scheduleScript, p, "delete", sc.ID, sc.Cron+"\n"+sc.Zone)
			if err != nil {
				return err
			}
			if was := number(r); was > 0 {
				due = was
			}
		}
	}
	_, err = s.q.runWithSettings(ctx, scheduleScript, own, "put", sc.ID, string(text), sc.Cron+"\n"+sc.Zone, due)
	return err
}

// Delete removes a schedule. ErrNotFound: there is none with this ID.
func (s *Schedules[T]) Delete(ctx context.Context, id string) error {
	if err := s.q.named(ctx, "Delete", "id", id); err != nil {
		return err
	}
	found := false
	for p := range s.q.prefix {
		r, err := s.q.runWithSettings(ctx, scheduleScript, p, "delete", id, "")
		if err != nil {
			return err
		}
		found = found || number(r) >= 0
	}
	if !found {
		return fmt.Errorf("%w: schedule %q", ErrNotFound, id)
	}
	return nil
}

// List returns all schedules, by ID.
func (s *Schedules[T]) List(ctx context.Context) ([]ScheduleInfo[T], error) {
	if err := s.q.call(ctx, "List"); err != nil {
		return nil, err
	}
	var all []ScheduleInfo[T]
	for _, prefix := range s.q.prefix {
		plans, last, next, err := s.stored(ctx, prefix)
		if err != nil {
			return nil, fmt.Errorf("firqredis: List: %w", err)
		}
		due := map[string]time.Time{}
		for _, z := range next {
			due[z.Member.(string)] = time.UnixMicro(int64(z.Score)).UTC()
		}
		for id, text := range plans {
			sc, err := s.schedule(id, text)
			if err != nil {
				return nil, err
			}
			info := ScheduleInfo[T]{Schedule: sc, NextDue: due[id]}
			if us := number(last[id]); us > 0 {
				info.LastDue = time.UnixMicro(us).UTC()
			}
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b ScheduleInfo[T]) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// stored reads a partition's plans, when they fired last, and when they are due next.
func (s *Schedules[T]) stored(ctx context.Context, prefix string) (plans, last map[string]string, next []redis.Z, err error) {
	type all struct {
		plans, last *redis.MapStringStringCmd
		next        *redis.ZSliceCmd
	}
	r, err := await(ctx, func() (all, error) {
		pipe := s.q.db.TxPipeline()
		r := all{pipe.HGetAll(ctx, prefix+":sch"), pipe.HGetAll(ctx, prefix+":sl"), pipe.ZRangeWithScores(ctx, prefix+":sz", 0, -1)}
		_, err := pipe.Exec(ctx)
		return r, err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return r.plans.Val(), r.last.Val(), r.next.Val(), nil
}

// schedule reads what Put has stored.
func (s *Schedules[T]) schedule(id, text string) (sc Schedule[T], err error) {
	var x plan
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return sc, fmt.Errorf("firqredis: schedule %q: %w", id, err)
	}
	sc = Schedule[T]{ID: id, Cron: x.Cron, Zone: x.Zone, CatchUp: x.CatchUp, Jitter: x.Jitter, Paused: x.Paused, Task: Task[T]{
		Tenant: x.Tenant, UniqueKey: x.UniqueKey, UniqueFor: x.UniqueFor, Cost: x.Cost, Priority: x.Priority, Delay: x.Delay,
		Deadline: x.Deadline, MaxAttempts: x.MaxAttempts, Headers: x.Raw.join(x.Headers),
	}}
	if sc.Task.Payload, err = s.q.decodeApart(x.Payload); err != nil {
		return sc, fmt.Errorf("firqredis: schedule %q: payload: %w", id, err)
	}
	return sc, nil
}
