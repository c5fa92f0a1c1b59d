package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

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
	Raw               RawHeaders    `json:",omitempty"` // headers
	TTL               time.Duration `json:",omitempty"`
	KeepResult        time.Duration `json:",omitempty"`
}

// Put adds a schedule, or replaces the one with its ID; with the same Cron and Zone that keeps its next due
// time. firq.ErrInvalidTask: a bad ID, Cron, Zone or Task.
func (s *Schedules[T]) Put(ctx context.Context, sc Schedule[T]) error {
	if err := s.q.call(ctx, "Put"); err != nil {
		return err
	}
	if ids := s.q.names.upTo(cmp.Or(s.q.traits.MaxScheduleID, MaxName)); ids.bad(sc.ID) {
		return invalidTask("schedule: ID: %q: %s", sc.ID, ids)
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
	texts, raw := SplitHeaders(t.Headers)
	text, err := json.Marshal(plan{
		sc.Cron, sc.Zone, sc.CatchUp, sc.Jitter, sc.Paused, t.Tenant, t.UniqueKey, t.UniqueFor, t.Cost, t.Priority, t.Delay, t.Deadline,
		sc.Task.MaxAttempts, texts, payload, raw, t.TTL, t.KeepResult,
	})
	if err != nil {
		return invalidTask("schedule %q: %v", sc.ID, err)
	}
	return s.q.engine.PutSchedule(ctx, t.Tenant, Plan{ID: sc.ID, Spec: sc.Cron + "\n" + sc.Zone, Text: text, Due: next[0]})
}

// Delete removes a schedule. ErrNotFound: there is none with this ID.
func (s *Schedules[T]) Delete(ctx context.Context, id string) error {
	if err := s.q.named(ctx, "Delete", "id", id); err != nil {
		return err
	}
	found, err := s.q.engine.DeleteSchedule(ctx, id)
	if err != nil {
		return err
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
	plans, err := s.q.engine.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	var all []ScheduleInfo[T]
	for _, p := range plans {
		sc, err := s.schedule(p.ID, p.Text)
		if err != nil {
			return nil, err
		}
		info := ScheduleInfo[T]{Schedule: sc, LastDue: p.Last}
		if !p.Due.IsZero() {
			info.NextDue = p.Due.UTC()
		}
		if !p.Last.IsZero() {
			info.LastDue = p.Last.UTC()
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b ScheduleInfo[T]) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// schedule reads what Put has stored.
func (s *Schedules[T]) schedule(id string, text []byte) (sc Schedule[T], err error) {
	var x plan
	if err := json.Unmarshal(text, &x); err != nil {
		return sc, fmt.Errorf("queue: schedule %q: %w", id, err)
	}
	sc = Schedule[T]{ID: id, Cron: x.Cron, Zone: x.Zone, CatchUp: x.CatchUp, Jitter: x.Jitter, Paused: x.Paused, Task: Task[T]{
		Tenant: x.Tenant, UniqueKey: x.UniqueKey, UniqueFor: x.UniqueFor, Cost: x.Cost, Priority: x.Priority, Delay: x.Delay,
		Deadline: x.Deadline, TTL: x.TTL, MaxAttempts: x.MaxAttempts, KeepResult: x.KeepResult, Headers: x.Raw.Join(x.Headers),
	}}
	if sc.Task.Payload, err = s.q.decodeApart(x.Payload); err != nil {
		return sc, fmt.Errorf("queue: schedule %q: payload: %w", id, err)
	}
	return sc, nil
}
