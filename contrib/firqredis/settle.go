package firqredis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/firq-go/firq/queue"
)

// leaseOf names a delivery for the scripts.
func leaseOf(l *queue.Lease) string {
	return l.ID + "\n" + strconv.FormatUint(l.Token, 10) + "\n" + l.Tenant
}

// Ack is of queue.Engine.
func (e *engine) Ack(ctx context.Context, p int, ls []queue.Lease) ([]error, error) {
	keeps := slices.ContainsFunc(ls, func(l queue.Lease) bool { return l.Keep > 0 })
	args := make([]any, 0, 3+7*len(ls))
	now := e.settings()
	args = append(args, now.MaxInFlightPerTenant, e.o.TenantIdle.Milliseconds(), part(now.MaxInFlight, e.partitions, p))
	for i := range ls {
		l := &ls[i]
		args = append(args, l.ID, l.Tenant, strconv.FormatUint(l.Token, 10), l.Charge, l.UniqueKey)
		if keeps {
			args = append(args, ceil(l.Keep, time.Microsecond), l.Result)
		}
	}
	script := ackScript // which pays for nothing that is kept
	if keeps {
		script = keepScript
	}
	r, err := e.run(ctx, script, p, args)
	return verdicts(r, ls), err
}

// verdicts translates a script's answers about leases: 0, the lease is not the caller's any more; 2, the task is cancelled.
func verdicts(r any, ls []queue.Lease) []error {
	errs := make([]error, len(ls))
	ok := ints(r)
	for i := range errs {
		switch {
		case i >= len(ok) || ok[i] == 0:
			errs[i] = ErrLeaseLost
		case ok[i] == 2:
			errs[i] = ErrCancelled
		}
	}
	return errs
}

// Nack is of queue.Engine.
func (e *engine) Nack(ctx context.Context, p int, l queue.Lease, r queue.Retry) error {
	dead := ""
	if r.Dead {
		dead = "dead"
	}
	reply, err := e.runWithSettings(ctx, nackScript, p, leaseOf(&l), ceil(r.After, time.Microsecond), r.Reason, dead, l.Charge)
	if err != nil {
		return err
	}
	if n := ints(reply); len(n) < 1 || n[0] == 0 {
		return ErrLeaseLost
	}
	return nil
}

// Release is of queue.Engine.
func (e *engine) Release(ctx context.Context, p int, ls []queue.Lease) ([]error, error) {
	r, err := e.runWithSettings(ctx, releaseScript, p, leases(ls)...)
	return verdicts(r, ls), err
}

// Extend is of queue.Engine.
func (e *engine) Extend(ctx context.Context, p int, d time.Duration, counts bool, ls []queue.Lease) (until time.Time, errs []error, err error) {
	count := 0
	if counts {
		count = 1
	}
	r, err := e.runWithSettings(ctx, extendScript, p, append([]any{ceil(d, time.Microsecond), count}, leases(ls)...)...)
	if err != nil {
		return until, nil, err
	}
	list, _ := r.([]any)
	if len(list) != 1+len(ls) {
		return until, nil, fmt.Errorf("firqredis: extend: %d replies for %d tasks", len(list)-1, len(ls))
	}
	return time.UnixMicro(number(list[0])), verdicts(list[1:], ls), nil
}

// leases are the arguments of scripts.
func leases(ls []queue.Lease) []any {
	args := make([]any, len(ls))
	for i := range ls {
		args[i] = leaseOf(&ls[i])
	}
	return args
}
