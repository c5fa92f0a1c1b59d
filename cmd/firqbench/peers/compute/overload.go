package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// The overload: an open loop, so that a caller without an answer does not ask less.
const (
	quietTenants = 20
	quietEach    = 50    // calls per second
	noisyCalls   = 9_000 // per second
	overSlots    = 8
	overWork     = 2 * time.Millisecond
	overDeadline = 100 * time.Millisecond
)

// overloaded is what came of it.
type overloaded struct {
	quiet, quietInTime, inTime, late atomic.Int64
	executed                         atomic.Int64
	left                             int
}

type deadlineKey struct{}

// sleeps is work that takes its time, unless its context ends; it notes whether it began
// when its call was over.
func (o *overloaded) sleeps(ctx context.Context, k key) (uint64, error) {
	o.executed.Add(1)
	if until, ok := ctx.Value(deadlineKey{}).(time.Time); ok && time.Now().After(until) {
		o.late.Add(1)
	}
	select {
	case <-time.After(overWork):
		return k.Key, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func runOverload(ctx context.Context, p *plan, f *file, say command.Say) error {
	const what = "overload"
	for round := range p.rounds {
		for _, name := range turn([]string{ours, pool}, round) {
			o, err := measureOverload(ctx, name, p.over)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			quiet := 100 * float64(o.quietInTime.Load()) / float64(max(o.quiet.Load(), 1))
			late := 100 * float64(o.late.Load()) / float64(max(o.executed.Load(), 1))
			f.add(what, name, "quiet in time, %", round, quiet)
			f.add(what, name, "all in time/s", round, float64(o.inTime.Load())/p.over.Seconds())
			f.add(what, name, "executed too late, %", round, late)
			f.add(what, name, "goroutines left", round, float64(o.left))
			say("overload, round %d, %s: quiet in time %.1f %%, %.0f in time/s, %.1f %% too late, %d goroutines left",
				round+1, name, quiet, float64(o.inTime.Load())/p.over.Seconds(), late, o.left)
		}
	}
	return nil
}

func measureOverload(ctx context.Context, name string, d time.Duration) (*overloaded, error) {
	o := new(overloaded)
	s, err := makeSystem(name, setup{slots: overSlots, work: o.sleeps})
	if err != nil {
		return nil, err
	}
	before := runtime.NumGoroutine() // with the workers of the pool
	var calls sync.WaitGroup
	call := func(tenant, n uint64, began time.Time) {
		until := began.Add(overDeadline)
		ctx, cancel := context.WithDeadline(context.WithValue(ctx, deadlineKey{}, until), until)
		defer cancel()
		_, err := s.do(ctx, key{Tenant: tenant, Key: n})
		inTime := err == nil && !time.Now().After(until)
		if inTime {
			o.inTime.Add(1)
		}
		if tenant > 0 {
			o.quiet.Add(1)
			if inTime {
				o.quietInTime.Add(1)
			}
		}
	}
	ask := func(tenant, n uint64, at time.Time) { calls.Go(func() { call(tenant, n, at) }) }
	began, sent, quiet := time.Now(), 0, uint64(0)
	const perSecond = noisyCalls + quietTenants*quietEach
	for ctx.Err() == nil {
		at := time.Since(began)
		for ; sent < int(min(at, d).Seconds()*perSecond); sent++ {
			due := began.Add(time.Duration(sent) * time.Second / perSecond) // if this goroutine is late, the call has waited
			if sent%(perSecond/(quietTenants*quietEach)) == 0 {
				ask(1+quiet%quietTenants, quiet, due)
				quiet++
			} else {
				ask(0, uint64(sent), due)
			}
		}
		if at >= d {
			break
		}
		time.Sleep(time.Millisecond)
	}
	// A call that is not back some time after its deadline is left over.
	time.Sleep(2 * overDeadline)
	o.left = max(runtime.NumGoroutine()-before, 0)
	calls.Wait()
	s.close()
	return o, ctx.Err()
}
