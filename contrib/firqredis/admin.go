package firqredis

import (
	"context"
	"strconv"

	"github.com/firq-go/firq/queue"
)

// Cancel is of queue.Engine.
func (e *engine) Cancel(ctx context.Context, id string) (bool, error) {
	for p := range e.prefix {
		r, err := e.runWithSettings(ctx, cancelScript, p, id)
		if err != nil || number(r) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// Pause is of queue.Engine.
func (e *engine) Pause(ctx context.Context, tenant string, paused bool) error {
	field := ""
	if paused {
		field = "1"
	}
	if tenant != "" {
		_, err := e.runWithSettings(ctx, tenantScript, e.Lane(tenant), tenant, "pz", field)
		return err
	}
	for p := range e.prefix {
		if _, err := e.runWithSettings(ctx, pauseScript, p, field); err != nil {
			return err
		}
	}
	return nil
}

// ChangeTenant is of queue.Engine.
func (e *engine) ChangeTenant(ctx context.Context, tenant string, c queue.TenantChange) error {
	args := []any{tenant}
	if c.Weight != nil {
		args = append(args, "w", weight(*c.Weight))
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
	if c.Rate != nil {
		args = append(args, "rl", limitText(*c.Rate))
	}
	_, err := e.runWithSettings(ctx, tenantScript, e.Lane(tenant), args...)
	return err
}

// dueAtOnce bounds the tasks of each kind that one script brings in.
const dueAtOnce = 100

// Maintain is of queue.Engine.
func (e *engine) Maintain(ctx context.Context) error {
	for p := range e.prefix {
		for more := true; more; {
			n, err := e.runWithSettings(ctx, maintainScript, p, dueAtOnce)
			if err != nil {
				return err
			}
			more = number(n) >= dueAtOnce
		}
	}
	return nil
}
