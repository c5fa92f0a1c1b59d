package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// PutSchedule is of queue.Engine.
func (e *engine) PutSchedule(ctx context.Context, tenant string, plan queue.Plan) error {
	own, due := e.Lane(tenant), plan.Due.UnixMicro()
	for p := range e.prefix {
		if p != own { // it had another tenant before
			r, err := e.runWithSettings(ctx, scheduleScript, p, "delete", plan.ID, plan.Spec)
			if err != nil {
				return err
			}
			if was := number(r); was > 0 {
				due = was
			}
		}
	}
	_, err := e.runWithSettings(ctx, scheduleScript, own, "put", plan.ID, string(plan.Text), plan.Spec, due)
	return err
}

// DeleteSchedule is of queue.Engine.
func (e *engine) DeleteSchedule(ctx context.Context, id string) (found bool, err error) {
	for p := range e.prefix {
		r, err := e.runWithSettings(ctx, scheduleScript, p, "delete", id, "")
		if err != nil {
			return false, err
		}
		found = found || number(r) >= 0
	}
	return found, nil
}

// Schedules is of queue.Engine.
func (e *engine) Schedules(ctx context.Context) (all []queue.Plan, err error) {
	for _, prefix := range e.prefix {
		plans, last, next, err := e.schedules(ctx, prefix)
		if err != nil {
			return nil, fmt.Errorf("firqredis: List: %w", err)
		}
		due := map[string]time.Time{}
		for _, z := range next {
			due[z.Member.(string)] = time.UnixMicro(int64(z.Score))
		}
		for id, text := range plans {
			p := queue.Plan{ID: id, Text: []byte(text), Due: due[id]}
			if us := number(last[id]); us > 0 {
				p.Last = time.UnixMicro(us)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// schedules reads a partition's plans, when they fired last, and when they are due next.
func (e *engine) schedules(ctx context.Context, prefix string) (plans, last map[string]string, next []redis.Z, err error) {
	type all struct {
		plans, last *redis.MapStringStringCmd
		next        *redis.ZSliceCmd
	}
	r, err := await(ctx, func() (all, error) {
		pipe := e.db.TxPipeline()
		r := all{pipe.HGetAll(ctx, prefix+":sch"), pipe.HGetAll(ctx, prefix+":sl"), pipe.ZRangeWithScores(ctx, prefix+":sz", 0, -1)}
		_, err := pipe.Exec(ctx)
		return r, err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return r.plans.Val(), r.last.Val(), r.next.Val(), nil
}

// DueSchedules is of queue.Engine. It reads the plans of those that are due by this machine's clock.
func (e *engine) DueSchedules(ctx context.Context, p, n int) ([]queue.Plan, error) {
	zs, err := e.db.ZRangeWithScores(ctx, e.prefix[p]+":sz", 0, int64(n-1)).Result()
	if err != nil {
		return nil, fmt.Errorf("firqredis: schedules: %w", err)
	}
	var all []queue.Plan
	for _, z := range zs {
		plan := queue.Plan{ID: z.Member.(string), Due: time.UnixMicro(int64(z.Score))}
		if !plan.Due.After(time.Now()) {
			text, err := e.db.HGet(ctx, e.prefix[p]+":sch", plan.ID).Bytes()
			if errors.Is(err, redis.Nil) {
				continue // deleted just now
			}
			if err != nil {
				return nil, fmt.Errorf("firqredis: schedules: %w", err)
			}
			plan.Text = text
		}
		all = append(all, plan)
	}
	return all, nil
}

// Fire is of queue.Engine.
func (e *engine) Fire(ctx context.Context, p int, f queue.Firing) (bool, error) {
	args := make([]any, 0, 4+12*len(f.Tasks))
	args = append(args, f.ID, f.Due.UnixMicro(), f.Next.UnixMicro(), "")
	if !f.Last.IsZero() {
		args[3] = strconv.FormatInt(f.Last.UnixMicro(), 10)
	}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		m, err := metaOf(&t.Task)
		if err != nil {
			return false, err
		}
		args = append(args, t.Tenant, t.ID, int(t.Priority), strconv.FormatInt(t.Cost, 10), micros(t.Deadline), t.MaxAttempts, t.UniqueKey,
			keyFor(t.UniqueFor), m, string(t.Payload), micros(t.Due), weight(t.Weight))
	}
	r, err := e.runWithSettings(ctx, fireScript, p, args...)
	return number(r) >= 0, err
}
