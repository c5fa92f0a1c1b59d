package rate

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/rate"
)

const (
	tenants = 8
	callers = 32
)

// limiter is a rate of many tenants on a server: take reports whether a token was given.
type limiter struct {
	name string
	open func(tb testing.TB, c *redis.Client, l rate.Limit) (take func(ctx context.Context, tenant string) (bool, error))
}

var limiters = []limiter{
	{"redis_rate", func(_ testing.TB, c *redis.Client, l rate.Limit) func(context.Context, string) (bool, error) {
		r := redis_rate.NewLimiter(c)
		limit := redis_rate.Limit{Rate: int(l.PerSecond), Burst: int(l.Burst), Period: time.Second}
		return func(ctx context.Context, tenant string) (bool, error) {
			res, err := r.Allow(ctx, tenant, limit)
			return err == nil && res.Allowed > 0, err
		}
	}},
	{"firqfleet, Ahead below 0", fleet(-1)},
	{"firqfleet", fleet(0)},
}

func fleet(ahead time.Duration) func(testing.TB, *redis.Client, rate.Limit) func(context.Context, string) (bool, error) {
	return func(tb testing.TB, c *redis.Client, l rate.Limit) func(context.Context, string) (bool, error) {
		r, err := firqfleet.NewRate(firqfleet.RateConfig{Client: c, Limit: l, Ahead: ahead, Timeout: 5 * time.Second})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = r.Close() })
		return func(ctx context.Context, tenant string) (bool, error) {
			_, err := r.Take(ctx, tenant, 1, 0)
			if errors.Is(err, rate.ErrLimited) {
				return false, nil
			}
			return err == nil, err
		}
	}
}

// TestFleetTake measures what the server spends on a Take, of tenants below their rate and of tenants that ask for 20
// times their rate, with redis_rate and firqfleet.Rate on one redis-server. FIRQ_RATE_BENCH is how many rounds of 2 s;
// without it there is one of 0.2 s, which shows that no limiter gives more than Burst + PerSecond x t.
func TestFleetTake(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	rounds, lasts := 1, 200*time.Millisecond
	if n, _ := strconv.Atoi(os.Getenv("FIRQ_RATE_BENCH")); n > 0 {
		rounds, lasts = n, 2*time.Second
	}
	for _, load := range []struct {
		name  string
		limit rate.Limit
		pause time.Duration // between the calls of a caller
	}{
		{"below their rate", rate.Limit{PerSecond: 1e6, Burst: 1e6}, 0},
		{"20 times their rate", rate.Limit{PerSecond: 100, Burst: 10}, callers * time.Second / (20 * 100 * tenants)},
	} {
		us := map[string][]float64{}
		for range rounds {
			for _, x := range limiters {
				calls, given, spent, took := flood(t, x, load.limit, load.pause, lasts)
				if most := tenants * (float64(load.limit.Burst) + load.limit.PerSecond*took.Seconds()); float64(given) > most+1 {
					t.Errorf("%s, %s: %d tokens given, at most %.0f", x.name, load.name, given, most)
				}
				if calls == 0 || given == 0 {
					t.Errorf("%s, %s: %d of %d calls were given a token", x.name, load.name, given, calls)
				}
				us[x.name] = append(us[x.name], spent/float64(calls))
				t.Logf("%s, %s: %.0f takes/s, server %.2f us per take, %.1f us per token", x.name, load.name,
					float64(calls)/took.Seconds(), spent/float64(calls), spent/float64(given))
			}
		}
		for _, x := range limiters[1:] {
			t.Logf("%s, %s: %.3f of redis_rate's server time per take", x.name, load.name,
				stats.Median(us[x.name])/stats.Median(us["redis_rate"]))
		}
	}
}

// flood calls for some time, and returns the server's processor time in us.
func flood(t *testing.T, x limiter, l rate.Limit, pause, lasts time.Duration) (calls, given int64, spent float64, took time.Duration) {
	c := serve(t)
	take := x.open(t, c, l)
	ctx := t.Context()
	if _, err := take(ctx, "warm"); err != nil { // loads the script
		t.Fatal(err)
	}
	before, began := cpu(t, c), time.Now()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			tenant := "tenant" + strconv.Itoa(i%tenants)
			for due := began; time.Since(began) < lasts; due = due.Add(pause) {
				if pause > 0 {
					time.Sleep(time.Until(due))
				}
				ok, err := take(ctx, tenant)
				if err != nil {
					t.Error(err)
					return
				}
				atomic.AddInt64(&calls, 1)
				if ok {
					atomic.AddInt64(&given, 1)
				}
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	return calls, given, cpu(t, c) - before, took
}

// serve starts a server that keeps nothing, until the test ends.
func serve(t *testing.T) *redis.Client {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	cmd := exec.CommandContext(t.Context(), "redis-server", "--port", strconv.Itoa(addr.Port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: addr.String(), PoolSize: callers, MaxRetries: -1})
	t.Cleanup(func() {
		_ = c.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); c.Ping(t.Context()).Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("redis-server does not answer")
		}
	}
	return c
}

// cpu is the processor time of the server so far, in us.
func cpu(t *testing.T, c *redis.Client) (us float64) {
	text, err := c.Info(t.Context(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
		if k == "used_cpu_sys" || k == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			us += seconds * 1e6
		}
	}
	return us
}
