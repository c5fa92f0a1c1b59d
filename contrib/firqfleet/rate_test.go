package firqfleet

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/rate"
)

func newRate(t testing.TB, addr string, cfg RateConfig) *Rate {
	t.Helper()
	if cfg.Client == nil {
		cfg.Client = client(t, addr)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	r, err := NewRate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// slow is a limit by which nothing comes back during a test.
var slow = rate.Limit{PerSecond: 1e-3, Burst: 10}

func TestRate(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		ctx, n := bounded(t), name()
		a, b := newRate(t, addr, RateConfig{Name: n, Limit: slow}), newRate(t, addr, RateConfig{Name: n, Limit: slow})
		for i, r := range []*Rate{a, b, a} {
			res, err := r.Take(ctx, "x", 3, 0)
			if err != nil || res.Limit != slow || res.Remaining != int64(10-3*(i+1)) || res.Reset <= 0 {
				t.Errorf("%+v %v", res, err)
			}
		}
		if res, err := b.Take(ctx, "x", 2, 0); err != rate.ErrLimited || res.RetryAfter < 900*time.Second || res.RetryAfter > 1000*time.Second || res.Remaining != 1 {
			t.Errorf("%+v %v", res, err)
		}
		if _, err := b.Take(ctx, "x", 1, 0); err != nil {
			t.Error("a smaller cost: ", err)
		}
		if _, err := a.Take(ctx, "x", 0, 0); err != nil {
			t.Error("cost 0: ", err)
		}
		if err := a.Charge(ctx, "x", 5); err != nil {
			t.Error(err)
		}
		if _, err := a.Take(ctx, "x", 0, 0); err != rate.ErrLimited {
			t.Error("a debt: ", err)
		}
		if err := a.Charge(ctx, "x", -100); err != nil {
			t.Error(err)
		}
		if res, err := a.Take(ctx, "x", 11, 0); err != nil || res.Remaining != 0 {
			t.Errorf("more than the burst: %+v %v", res, err)
		}
		if res, err := a.Take(ctx, "y", math.MaxInt64, 0); err != nil {
			t.Errorf("%+v %v", res, err)
		}
		if res, err := a.Take(ctx, "y", math.MaxInt64, time.Second); err != rate.ErrLimited || res.RetryAfter < math.MaxInt64/2 {
			t.Errorf("%+v %v", res, err)
		}
	})
}

func TestRateWaits(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		ctx, n := bounded(t), name()
		r := newRate(t, addr, RateConfig{Name: n, Limit: rate.Limit{PerSecond: 100, Burst: 1}})
		var waited time.Duration
		for range 5 {
			res, err := r.Take(ctx, "x", 1, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			waited += res.Waited
		}
		if waited == 0 {
			t.Error("none has waited")
		}
		s := newRate(t, addr, RateConfig{Name: n + "s", Limit: slow})
		if _, err := s.Take(ctx, "x", 10, 0); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithCancel(context.Background())
		gone := make(chan error)
		go func() { _, err := s.Take(short, "x", 5, time.Hour*24); gone <- err }()
		until(t, "it is reserved", func() bool {
			res, err := s.Take(ctx, "x", 1, 0)
			return err == rate.ErrLimited && res.RetryAfter > 5500*time.Second
		})
		cancel()
		if err := <-gone; err != context.Canceled {
			t.Error(err)
		}
		until(t, "it has given that back", func() bool { // it may have left before it heard that it had it
			res, err := s.Take(ctx, "x", 1, 0)
			return err == rate.ErrLimited && res.RetryAfter <= 1000*time.Second
		})
	})
}

// A limit that is raised counts for calls that wait already.
func TestRateRaised(t *testing.T) {
	var raised atomic.Bool
	r := newRate(t, addr(t, "redis-server"), RateConfig{Name: name(), Limit: slow, LimitFor: func(string) rate.Limit {
		if raised.Load() {
			return rate.Limit{PerSecond: 1000, Burst: 10}
		}
		return slow
	}})
	if _, err := r.Take(bounded(t), "x", 10, 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := r.Take(context.Background(), "x", 5, 24*time.Hour); ended <- err }()
	until(t, "it is reserved", func() bool {
		res, err := r.Take(bounded(t), "x", 1, 0)
		return err == rate.ErrLimited && res.RetryAfter > 5500*time.Second
	})
	raised.Store(true)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it waits by the old limit")
	}
}

// A caller that leaves before the server has answered gives back what it took, too.
func TestRateLeavesEarly(t *testing.T) {
	net := newProxy(t, addr(t, "redis-server"))
	r := newRate(t, "", RateConfig{Client: client(t, net.addr()), Name: name(), Limit: slow})
	if _, err := r.Take(bounded(t), "x", 0, 0); err != nil {
		t.Fatal(err)
	}
	net.hang()
	ctx, cancel := context.WithCancel(bounded(t))
	gone := make(chan error)
	go func() { _, err := r.Take(ctx, "x", 5, time.Hour); gone <- err }()
	until(t, "it is on its way", func() bool { return net.held.Load() > 0 })
	cancel()
	if err := <-gone; err != context.Canceled {
		t.Error(err)
	}
	net.resume()
	until(t, "all is back", func() bool {
		res, err := r.Take(bounded(t), "x", 0, 0)
		return err == nil && res.Remaining == 10
	})
}

// However many processes take, and ahead, in no time is more given than the burst and what came back.
func TestRateHolds(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n, limit := name(), rate.Limit{PerSecond: 1000, Burst: 100}
		var given atomic.Int64
		var wg sync.WaitGroup
		began := time.Now()
		end := began.Add(300 * time.Millisecond)
		for range 3 {
			r := newRate(t, addr, RateConfig{Name: n, Limit: limit})
			for range 4 {
				wg.Go(func() {
					for time.Now().Before(end) {
						if _, err := r.Take(context.Background(), "x", 1, 0); err == nil {
							given.Add(1)
						} else if err != rate.ErrLimited {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
		most := float64(limit.Burst) + limit.PerSecond*time.Since(began).Seconds()
		if g := float64(given.Load()); g > most+1 || g < 110 {
			t.Errorf("%v given, at most %v", g, most)
		}
	})
}

// scripts is how many scripts a server has run.
func scripts(t *testing.T, c *redis.Client) (n int) {
	for _, of := range regexp.MustCompile(`cmdstat_eval\w*:calls=(\d+)`).FindAllStringSubmatch(c.Info(bounded(t), "commandstats").Val(), -1) {
		calls, _ := strconv.Atoi(of[1])
		n += calls
	}
	return n
}

// A call that would be refused, as the answer before says, does not ask, until tokens come back.
func TestRateAsksSeldom(t *testing.T) {
	c, ctx := client(t, own(t, "redis-server").addr()), bounded(t)
	r := newRate(t, "", RateConfig{Client: c, Limit: slow, Ahead: time.Minute})
	for _, cost := range []int64{9, 1} {
		if _, err := r.Take(ctx, "x", cost, 0); err != nil {
			t.Fatal(err)
		}
	}
	asked := scripts(t, c)
	for range 3 {
		if res, err := r.Take(ctx, "x", 1, 0); err != rate.ErrLimited || res.RetryAfter < 900*time.Second || res.RetryAfter > 1000*time.Second || res.Remaining != 0 {
			t.Errorf("%+v %v", res, err)
		}
	}
	if n := scripts(t, c); n != asked {
		t.Errorf("%d questions", n-asked)
	}
	if err := r.Charge(ctx, "x", -1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Take(ctx, "x", 1, 0); err != nil {
		t.Errorf("of what came back: %v", err)
	}
	if n := scripts(t, c); n != asked+2 {
		t.Errorf("%d questions", n-asked)
	}
}

func TestRateDown(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	for _, down := range []Down{Wait, Share, Refuse} {
		r := newRate(t, "", RateConfig{Client: client(t, "127.0.0.1:1"), Limit: slow, Down: down})
		_, err := r.Take(ctx, "x", 10, 0)
		_, second := r.Take(ctx, "x", 1, 0)
		if down == Share {
			if err != nil || second != rate.ErrLimited {
				t.Errorf("%v, %v", err, second)
			}
		} else if !errors.Is(err, ErrUnavailable) || !errors.Is(r.Charge(ctx, "x", 1), ErrUnavailable) {
			t.Error(err)
		}
	}
}

func TestRateInvalid(t *testing.T) {
	for field, cfg := range map[string]RateConfig{
		"PerSecond": {Limit: rate.Limit{PerSecond: -1}}, "Burst": {Limit: rate.Limit{Burst: 1}}, "Name": {Name: "}"},
		"Timeout": {Timeout: -1}, "Down": {Down: 3},
	} {
		if _, err := NewRate(cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	r := newRate(t, mini(t), RateConfig{LimitFor: func(string) rate.Limit { return rate.Limit{PerSecond: -1} }})
	var nobody context.Context
	_, e1 := r.Take(nobody, "x", 1, 0)
	_, e2 := r.Take(bounded(t), "x", -1, 0)
	_, e3 := r.Take(bounded(t), "x", 1, -1)
	res, e4 := r.Take(bounded(t), "x", 1, 0)
	if !errors.Is(e1, firq.ErrInvalidArgument) || !errors.Is(e2, firq.ErrInvalidTask) || !errors.Is(e3, firq.ErrInvalidTask) || e4 != nil || res != (rate.Result{}) {
		t.Error(e1, e2, e3, e4, res)
	}
}
