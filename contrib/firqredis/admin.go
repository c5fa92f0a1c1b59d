package firqredis

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/firq-go/firq"
)

// Cancel removes a task that is queued or delayed. One that is in flight goes on, and its worker is told:
// Extend returns ErrCancelled, and Run's next heartbeat cancels the handler's context with ErrCancelled as
// its cause. If it is then acked it counts as acked; if its delivery ends in any other way it is settled as
// cancelled. ErrNotFound if there is no such task, or it is a dead letter.
func (q *Queue[T]) Cancel(ctx context.Context, id string) error {
	if err := q.named(ctx, "Cancel", "id", id); err != nil {
		return err
	}
	for p := range q.prefix {
		r, err := q.cold(ctx, cancelScript, p, id)
		if err != nil {
			return err
		}
		if n, _ := r.(int64); n > 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: task %q", ErrNotFound, id)
}

// named is call for those with a name.
func (q *Queue[T]) named(ctx context.Context, call, what, name string) error {
	if badName(name) {
		return fmt.Errorf("%w: firqredis: %s: %s: %q: %s", firq.ErrInvalidArgument, call, what, name, nameRule)
	}
	return q.call(ctx, call)
}

// Pause stops the deliveries of a tenant's tasks, or with "" of all. Tasks are accepted as before, and
// what is in flight goes on.
func (q *Queue[T]) Pause(ctx context.Context, tenant string) error {
	return q.setPaused(ctx, "Pause", tenant, "1")
}

// Resume ends Pause. A tenant that was paused has saved nothing up.
func (q *Queue[T]) Resume(ctx context.Context, tenant string) error {
	return q.setPaused(ctx, "Resume", tenant, "")
}

func (q *Queue[T]) setPaused(ctx context.Context, call, tenant, paused string) error {
	if tenant != "" {
		if err := q.named(ctx, call, "tenant", tenant); err != nil {
			return err
		}
		_, err := q.cold(ctx, tenantScript, q.partitionOf(tenant), tenant, "pz", paused)
		return err
	}
	if err := q.call(ctx, call); err != nil {
		return err
	}
	for p := range q.prefix {
		if _, err := q.cold(ctx, pauseScript, p, paused); err != nil {
			return err
		}
	}
	return nil
}

// TenantSettings are a tenant's own. 0: Config's; limits below 0: none. The zero value forgets them.
type TenantSettings struct {
	Weight                 float64
	MaxQueued, MaxInFlight int
}

// SetTenant replaces all settings of a tenant. They hold for what is queued already, too.
func (q *Queue[T]) SetTenant(ctx context.Context, tenant string, s TenantSettings) error {
	if err := q.named(ctx, "SetTenant", "tenant", tenant); err != nil {
		return err
	}
	if math.IsNaN(s.Weight) || s.Weight < 0 || s.Weight > 1e15 {
		return fmt.Errorf("%w: firqredis: SetTenant: Weight: %v, must be from 0 to 1e15", firq.ErrInvalidArgument, s.Weight)
	}
	weight := ""
	if s.Weight > 0 {
		weight = strconv.FormatFloat(s.Weight, 'g', 17, 64)
	}
	limit := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(max(n, 0))
	}
	_, err := q.cold(ctx, tenantScript, q.partitionOf(tenant), tenant, "w", weight, "qm", limit(s.MaxQueued), "im", limit(s.MaxInFlight))
	return err
}
