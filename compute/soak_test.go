package compute

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/race"
)

// One hit allocates nothing, one miss the flight; options nothing.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	type key struct {
		user string
		page int
	}
	s, err := New(func(_ context.Context, c Call[string, key]) (int, error) { return c.Key.page, nil },
		Config[string, key, int]{TTL: time.Hour, ErrorTTL: func(error) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := key{"somebody", 7}
	with := s.With(func(_ context.Context, c Call[string, key]) (int, error) { return 1, nil })
	_, _ = s.Do(background, "a", k)
	for name, f := range map[string]func(){
		"Do":     func() { _, _ = s.Do(background, "a", k) },
		"DoInfo": func() { _, _, _ = s.DoInfo(background, "a", k, with, Cost(3), NoStale(), Priority(firq.PriorityLow)) },
		"Peek":   func() { _, _, _ = s.Peek("a", k) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("a hit by %s allocates %v times", name, n)
		}
	}
	for name, cfg := range map[string]Config[string, key, int]{"plain": {}, "groups": {Groups: 4, Limit: 8}} {
		s, err := New(func(_ context.Context, c Call[string, key]) (int, error) { return c.Key.page, nil }, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n := testing.AllocsPerRun(1000, func() { _, _ = s.Do(background, "a", k) }); n != 1 {
			t.Errorf("a miss (%s) allocates %v times, want 1", name, n)
		}
	}
}

// Everything together: nothing is lost, the counters add up, and no call gets the outcome of another.
func TestSoak(t *testing.T) {
	turns := 4000
	if testing.Short() {
		turns = 1000
	}
	for name, cfg := range map[string]config{
		"plain":    {Limit: 4},
		"detached": {Limit: 4, Detach: true, MaxWaiters: 3},
		"groups":   {Limit: 6, Groups: 3, FIFO: true},
		"alone":    {Limit: 4, NoCoalesce: true, Groups: 2, MaxPerTenant: 0.5},
		"in flight": {Limit: 6, Groups: 3, Gate: gate.Config[string]{
			MaxInFlightPerTenant: 2, MaxPerTenant: 8, Policy: firq.DropOldest,
		}},
	} {
		t.Run(name, func(t *testing.T) { soak(t, cfg, turns) })
	}
}

var errOwn = errors.New("exec's own error")

func soak(t *testing.T, cfg config, turns int) {
	cfg.TTL, cfg.Stale, cfg.StaleIfError, cfg.RefreshAhead = 2*time.Millisecond, time.Millisecond, 5*time.Millisecond, time.Millisecond
	cfg.ErrorTTL = func(error) time.Duration { return time.Millisecond }
	cfg.Size, cfg.Jitter, cfg.ExecTimeout = 12, 0.2, 20*time.Millisecond
	d := openWith(t, newMaker(), cfg, func(ctx context.Context, c call) (string, error) {
		switch rand.IntN(40) {
		case 0:
			panic("exec")
		case 1:
			return "", errOwn
		case 2:
			if c.Key == "9" {
				runtime.Goexit()
			}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
			return c.Tenant + c.Key, nil
		}
	})
	stop := make(chan struct{})
	var admin, wg sync.WaitGroup
	admin.Go(func() { administer(d, stop) })
	for g := range 24 {
		wg.Go(func() {
			for range turns / 24 {
				done := make(chan struct{})
				go func() { // exec may end it
					defer close(done)
					soakCall(t, d, fmt.Sprint(g%3), fmt.Sprint(rand.IntN(10)))
				}()
				<-done
			}
		})
	}
	waitFor(t, &wg)
	close(stop)
	admin.Wait()
	d.SetLimit(4)
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	if err := d.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v; %+v", err, d.Stats())
	}
	if d.own != nil {
		d.own.intact(t)
	}
}

// waitFor fails by itself if it takes too long.
func waitFor(t *testing.T, wg *sync.WaitGroup) {
	t.Helper()
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(60 * time.Second):
		panic("firq: the soak hangs")
	}
}

func soakCall(t *testing.T, d *desk, tenant, key string) {
	ctx, cancel := context.WithTimeout(background, time.Duration(50+rand.IntN(5000))*time.Microsecond)
	defer cancel()
	var o []DoOption
	switch rand.IntN(6) {
	case 0:
		o = append(o, NoCache())
	case 1:
		o = append(o, NoStale(), Cost(3))
	}
	a := d.ask(ctx, tenant, key, o...)
	var p *PanicError
	switch {
	case a.err == nil:
		if a.v != tenant+key && !strings.HasPrefix(a.v, "warm"+tenant+key) {
			t.Errorf("%s of %s got %q", key, tenant, a.v)
		}
	case isAny(a.err, errOwn, firq.ErrRejected), errors.As(a.err, &p):
	case isAny(a.err, context.DeadlineExceeded) && (ctx.Err() != nil || a.info.Source != None): // its own, or ExecTimeout's
	default:
		t.Errorf("%+v, error %v; its context: %v", a.info, a.err, ctx.Err())
	}
}

// administer changes all that can be changed.
func administer(d *desk, stop chan struct{}) {
	for {
		tenant, key := fmt.Sprint(rand.IntN(3)), fmt.Sprint(rand.IntN(10))
		switch rand.IntN(8) {
		case 0:
			d.Forget(tenant, key)
		case 1:
			d.ForgetTenant(tenant)
		case 2:
			d.ForgetAll()
		case 3:
			d.Warm(tenant, key, "warm"+tenant+key)
		case 4:
			d.SetGroups(1 + rand.IntN(5))
		case 5:
			d.SetLimit(rand.IntN(8))
		case 6:
			d.SetQuantum(tenant, rand.Int64N(3))
		case 7:
			d.Stats()
			d.Peek(tenant, key)
		}
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Microsecond):
		}
	}
}
