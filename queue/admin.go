package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/rate"
)

// Cancel removes a task that is queued or delayed. One that is in flight goes on, and its worker learns of it:
// Extend returns ErrCancelled, and Run's next heartbeat cancels the handler's context with ErrCancelled as
// its cause. If it is then acked it counts as acked; if its delivery ends in any other way it is settled as
// cancelled. ErrNotFound if there is no such task, or it is a dead letter.
func (q *Queue[T]) Cancel(ctx context.Context, id string) error {
	if ids := q.ids(); ids.bad(id) {
		return invalidArgument("Cancel: id: %q: %s", id, ids)
	}
	if err := q.call(ctx, "Cancel"); err != nil {
		return err
	}
	there, err := q.engine.Cancel(ctx, id)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%w: task %q", ErrNotFound, id)
	}
	return nil
}

// ids returns the rule for IDs of tasks: those of a schedule's have its ID and more.
func (q *Queue[T]) ids() *rule { return q.names.upTo(MaxName + len("@"+dueFormat)) }

// Pause stops the deliveries of a tenant's tasks, or with "" of all. Tasks are accepted as before, and
// what is in flight goes on.
func (q *Queue[T]) Pause(ctx context.Context, tenant string) error {
	return q.setPaused(ctx, "Pause", tenant, true)
}

// Resume ends Pause. A tenant that was paused has saved nothing up.
func (q *Queue[T]) Resume(ctx context.Context, tenant string) error {
	return q.setPaused(ctx, "Resume", tenant, false)
}

func (q *Queue[T]) setPaused(ctx context.Context, call, tenant string, paused bool) error {
	err := q.call(ctx, call)
	if tenant != "" {
		err = q.named(ctx, call, "tenant", tenant)
	}
	if err != nil {
		return err
	}
	return q.engine.Pause(ctx, tenant, paused)
}

// TenantSettings override settings for one tenant. 0: Config's; limits below 0: none. The zero value forgets them. Weight is at least 1e-6: with a
// smaller one the tenant's tags would be so great that they swallow the costs of all tenants.
type TenantSettings struct {
	Weight                 float64
	MaxQueued, MaxInFlight int
	Rate                   rate.Limit // PerSecond below 0: none
}

// SetTenant replaces all settings of a tenant; see ChangeTenant. They apply to queued tasks, too.
func (q *Queue[T]) SetTenant(ctx context.Context, tenant string, s TenantSettings) error {
	return q.changeTenant(ctx, "SetTenant", tenant, TenantChange{&s.Weight, &s.MaxQueued, &s.MaxInFlight, &s.Rate})
}

// TenantChange names settings to change; a nil field stays as it is. The values are those of TenantSettings.
type TenantChange struct {
	Weight                 *float64
	MaxQueued, MaxInFlight *int
	Rate                   *rate.Limit
}

// ChangeTenant changes some settings of a tenant and leaves the others, so that concurrent callers do not undo each other's changes.
func (q *Queue[T]) ChangeTenant(ctx context.Context, tenant string, c TenantChange) error {
	return q.changeTenant(ctx, "ChangeTenant", tenant, c)
}

func (q *Queue[T]) changeTenant(ctx context.Context, call, tenant string, c TenantChange) error {
	if err := q.named(ctx, call, "tenant", tenant); err != nil {
		return err
	}
	if w := c.Weight; w != nil && *w != 0 && !(*w >= leastWeight && *w <= mostWeight) {
		return invalidArgument("%s: Weight: %v, must be 0, or from %v to %v", call, *w, leastWeight, mostWeight)
	}
	if r := c.Rate; r != nil && r.PerSecond < 0 {
		c.Rate = &rate.Limit{PerSecond: -1}
	} else if r != nil {
		limit, err := r.Resolve()
		if err != nil {
			return invalidArgument("%s: Rate.%s", call, reason(err))
		}
		c.Rate = &limit
	}
	return q.engine.ChangeTenant(ctx, tenant, c)
}

// Settings are those on which all clients of a queue have to agree, so they live with the queue. A New whose Config sets one of them sets it
// for all clients, which follow within 10 s; where Config leaves it 0, the queue's is in force. If another client had set it to
// something else, New logs a warning that names it. ChangeSettings can reset it.
type Settings struct {
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant int // 0: none
	PriorityAging                                                    time.Duration
	DeadLetters                                                      Retention
	RatePerTenant                                                    rate.Limit // the default of Burst filled in
}

// SettingsChange names settings to change; a nil field stays as it is. 0: as if no client had set it.
type SettingsChange struct {
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant *int
	PriorityAging                                                    *time.Duration
	DeadLettersPerTenant                                             *int
	DeadLettersFor                                                   *time.Duration
	RatePerTenant                                                    *rate.Limit
}

// Settings returns the settings in force, with defaults filled in. PriorityAging of strict priorities is 0.
func (q *Queue[T]) Settings() Settings { return q.engine.Settings() }

// ChangeSettings changes some of the settings of the queue, for all clients, and leaves the others. firq.ErrInvalidConfig: as in New.
func (q *Queue[T]) ChangeSettings(ctx context.Context, c SettingsChange) error {
	if err := q.call(ctx, "ChangeSettings"); err != nil {
		return err
	}
	var s Config[T]
	give(&s.MaxQueued, c.MaxQueued)
	give(&s.MaxQueuedPerTenant, c.MaxQueuedPerTenant)
	give(&s.MaxInFlight, c.MaxInFlight)
	give(&s.MaxInFlightPerTenant, c.MaxInFlightPerTenant)
	give(&s.PriorityAging, c.PriorityAging)
	give(&s.RatePerTenant, c.RatePerTenant)
	s, err := s.resolve(&q.names)
	if err != nil {
		return err
	}
	if c.RatePerTenant != nil {
		c.RatePerTenant = &s.RatePerTenant
	}
	return q.engine.ChangeSettings(ctx, c)
}

// give sets a field to a given value.
func give[V any](field, value *V) {
	if value != nil {
		*field = *value
	}
}

// Health is the state of the server. OK: it was reached, and Problems is empty.
type Health struct {
	OK             bool
	Problems       []string
	Server         string // "redis 7.0.15"
	EvictionPolicy string // of Redis
	Persistence    string // "aof everysec", "rdb", "aof everysec, rdb", "none"
	Replicas       int
	RTT            time.Duration
	ClockSkew      time.Duration // the server's clock less ours
}

// Health asks the server; in a cluster, the server of the first partition.
func (q *Queue[T]) Health(ctx context.Context) (h Health, err error) {
	if err := q.call(ctx, "Health"); err != nil {
		return h, err
	}
	return q.engine.Health(ctx)
}

// Maintain does the upkeep that is due: it queues delayed tasks and tasks whose leases have run out, and purges dead letters that are not kept any
// longer. Consumers do so whenever they look for work. Where none may be running, call it now and then, as firqd serve does: until
// then, tasks of workers that are gone count as in flight, and the last attempt of one makes no dead letter.
func (q *Queue[T]) Maintain(ctx context.Context) error {
	if err := q.call(ctx, "Maintain"); err != nil {
		return err
	}
	return q.engine.Maintain(ctx)
}
