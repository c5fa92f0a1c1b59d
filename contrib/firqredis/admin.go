package firqredis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/firq-go/firq"
)

// Cancel removes a task that is queued or delayed. One that is in flight goes on, and its worker learns of it:
// Extend returns ErrCancelled, and Run's next heartbeat cancels the handler's context with ErrCancelled as
// its cause. If it is then acked it counts as acked; if its delivery ends in any other way it is settled as
// cancelled. ErrNotFound if there is no such task, or it is a dead letter.
func (q *Queue[T]) Cancel(ctx context.Context, id string) error {
	if badText(id, MaxName+len("@"+dueFormat)) { // the tasks of a schedule have its ID and more
		return fmt.Errorf("%w: firqredis: Cancel: id: %q: %s", firq.ErrInvalidArgument, id, nameRule)
	}
	if err := q.call(ctx, "Cancel"); err != nil {
		return err
	}
	for p := range q.prefix {
		r, err := q.runWithSettings(ctx, cancelScript, p, id)
		if err != nil {
			return err
		}
		if n, _ := r.(int64); n > 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: task %q", ErrNotFound, id)
}

// named is call for methods that take a tenant's name.
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
		_, err := q.runWithSettings(ctx, tenantScript, q.partitionOf(tenant), tenant, "pz", paused)
		return err
	}
	if err := q.call(ctx, call); err != nil {
		return err
	}
	for p := range q.prefix {
		if _, err := q.runWithSettings(ctx, pauseScript, p, paused); err != nil {
			return err
		}
	}
	return nil
}

// TenantSettings override settings for one tenant. 0: Config's; limits below 0: none. The zero value forgets them. Weight is at least 1e-6: with a
// smaller one the tenant's tags would be so great that they swallow the costs of all tenants.
type TenantSettings struct {
	Weight                 float64
	MaxQueued, MaxInFlight int
}

// SetTenant replaces all settings of a tenant; see ChangeTenant. They apply to queued tasks, too.
func (q *Queue[T]) SetTenant(ctx context.Context, tenant string, s TenantSettings) error {
	if err := q.named(ctx, "SetTenant", "tenant", tenant); err != nil {
		return err
	}
	return q.changeTenant(ctx, "SetTenant", tenant, TenantChange{&s.Weight, &s.MaxQueued, &s.MaxInFlight})
}

// TenantChange names settings to change; a nil field stays as it is. The values are those of TenantSettings.
type TenantChange struct {
	Weight                 *float64
	MaxQueued, MaxInFlight *int
}

// ChangeTenant changes some settings of a tenant and leaves the others, so that concurrent callers do not undo each other's changes.
func (q *Queue[T]) ChangeTenant(ctx context.Context, tenant string, c TenantChange) error {
	if err := q.named(ctx, "ChangeTenant", "tenant", tenant); err != nil {
		return err
	}
	return q.changeTenant(ctx, "ChangeTenant", tenant, c)
}

func (q *Queue[T]) changeTenant(ctx context.Context, call, tenant string, c TenantChange) error {
	args := []any{tenant}
	if c.Weight != nil {
		w := *c.Weight
		if w != 0 && !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("%w: firqredis: %s: Weight: %v, must be 0, or from %v to %v", firq.ErrInvalidArgument, call, w, leastWeight, mostWeight)
		}
		text := ""
		if w != 0 {
			text = strconv.FormatFloat(w, 'g', 17, 64)
		}
		args = append(args, "w", text)
	}
	for name, n := range map[string]*int{"qm": c.MaxQueued, "im": c.MaxInFlight} {
		switch {
		case n == nil:
		case *n == 0:
			args = append(args, name, "")
		default:
			args = append(args, name, strconv.Itoa(max(*n, 0)))
		}
	}
	_, err := q.runWithSettings(ctx, tenantScript, q.partitionOf(tenant), args...)
	return err
}
