package firqfleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/rate"
)

// Defaults of RateConfig.
const (
	DefaultTimeout = 100 * time.Millisecond
	DefaultAhead   = 10 * time.Millisecond

	aheadLasts = 100 * time.Millisecond // then what was taken ahead is lost
	forget     = time.Second            // after which a tenant is not remembered here
	lookEvery  = 100 * time.Millisecond // how often a call that waits asks LimitFor
)

// RateConfig describes a rate that holds for all processes which name it.
type RateConfig struct {
	// Client connects to a single server, Sentinel or a cluster. nil: localhost:6379. Close closes it only if it was nil.
	Client redis.UniversalClient
	// Name of the rate, up to 128 bytes without braces and line breaks. "": "default".
	Name string
	// Limit is that of each tenant; zero: none.
	rate.Limit
	// LimitFor gives each tenant its own Limit, asked at each call, and ten times a second by one that waits. Zero, or a Limit that makes no sense: Limit. nil: Limit.
	LimitFor func(tenant string) rate.Limit
	// Down says what Take and Charge do if the server does not answer within Timeout. Wait and Refuse: gate.ErrUnavailable.
	// Share: this process alone applies the whole limit.
	Down Down
	// Timeout is how long the server has to answer. 0: 100 ms.
	Timeout time.Duration
	// Ahead: a process may take so much of a busy tenant's rate with one question, at most an eighth of Burst, for its next
	// calls; what is not used within 100 ms is lost. While a tenant is refused, its process asks at most once per Ahead.
	// 0: 10 ms; below 0: nothing is taken ahead.
	Ahead time.Duration
}

// Rate is a rate.Taker that counts on the server. Make it with NewRate; safe for concurrent use.
type Rate struct {
	cfg   RateConfig
	own   bool
	limit rate.Limit
	local *rate.Limiter[string] // for Share
	begin time.Time

	mu      sync.Mutex
	tenants map[string]*ahead
	sweepAt int           // tenants, at which some are forgotten
	away    time.Duration // Share: until then only one call asks the server
}

var _ rate.Taker[string] = (*Rate)(nil)

// NewRate makes a Rate. What makes no sense is an error that matches firq.ErrInvalidConfig and names the field.
func NewRate(cfg RateConfig) (*Rate, error) {
	limit, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	local, err := rate.Open(rate.Config[string]{Limit: cfg.Limit, LimitFor: cfg.LimitFor})
	if err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	switch {
	case badName(cfg.Name):
		return nil, invalid("Name: %q, must have up to %d bytes, and neither braces nor line breaks", cfg.Name, MaxName)
	case cfg.Timeout < 0:
		return nil, invalid("Timeout: %v, must not be negative", cfg.Timeout)
	case cfg.Down > Refuse:
		return nil, invalid("Down: %d, must be Wait, Share or Refuse", cfg.Down)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Ahead == 0 {
		cfg.Ahead = DefaultAhead
	}
	r := &Rate{cfg: cfg, own: cfg.Client == nil, limit: limit, local: local, begin: time.Now(), tenants: map[string]*ahead{}}
	if r.own {
		r.cfg.Client = localhost()
	}
	return r, nil
}

// Close closes the client, if it is the Rate's. It returns nil.
func (r *Rate) Close() error {
	if r.own {
		_ = r.cfg.Client.Close()
	}
	return nil
}

// Take is of rate.Taker.
func (r *Rate) Take(ctx context.Context, tenant string, cost int64, maxWait time.Duration) (rate.Result, error) {
	if err := checkTake(ctx, tenant); err != nil {
		return rate.Result{}, err
	}
	if cost < 0 || maxWait < 0 {
		return rate.Result{}, fmt.Errorf("%w: firqfleet: cost %d, maxWait %v: must not be negative", firq.ErrInvalidTask, cost, maxWait)
	}
	if err := ctx.Err(); err != nil {
		return rate.Result{}, err
	}
	l := r.limitOf(tenant)
	if l.PerSecond == 0 {
		return rate.Result{}, nil
	}
	if end, ok := ctx.Deadline(); ok {
		maxWait = min(maxWait, max(0, time.Until(end)))
	}
	more, done, res, err := r.look(ctx, tenant, l, cost, maxWait)
	if done != nil {
		defer done()
	} else if err != nil || more < 0 {
		return res, err
	}
	what, wait, used, took, err := r.ask(ctx, tenant, l, cost, maxWait.Seconds(), more, "")
	if err != nil {
		if r.cfg.Down == Share && ctx.Err() == nil {
			return r.local.Take(ctx, tenant, cost, maxWait)
		}
		return rate.Result{}, err
	}
	res = r.note(tenant, l, cost, what, wait, used, took)
	switch what {
	case refused:
		return res, rate.ErrLimited
	case reserved:
		return r.sleep(ctx, tenant, l, cost, wait, res)
	}
	return res, nil
}

// What became of a Take, as the script says it.
const (
	reserved = 1
	refused  = 2
)

func checkTake(ctx context.Context, tenant string) error {
	if ctx == nil {
		return errNilContext
	}
	return checkTenant(tenant)
}

func (r *Rate) limitOf(tenant string) rate.Limit {
	if r.cfg.LimitFor != nil {
		if l, err := r.cfg.LimitFor(tenant).Resolve(); err == nil && l.PerSecond > 0 {
			return l
		}
	}
	return r.limit
}

// look looks at what is known here. It returns how much more the server may be asked for, below 0: it need not be asked, as there is
// a result; and what to call when it has answered, nil: nothing.
func (r *Rate) look(ctx context.Context, tenant string, l rate.Limit, cost int64, maxWait time.Duration) (more int64, done func(), res rate.Result, err error) {
	for {
		r.mu.Lock()
		now, a := time.Since(r.begin), r.tenants[tenant]
		if a == nil {
			r.mu.Unlock()
			return 0, nil, res, nil
		}
		if a.tokens >= cost && now < a.until && a.tokens > 0 {
			a.tokens -= cost
			res = a.result(l, now)
			r.mu.Unlock()
			return -1, nil, res, nil
		}
		if a.wait > 0 && cost >= a.cost && now-a.denied < r.holds() && a.wait-(now-a.denied) > maxWait {
			res = a.result(l, now)
			res.RetryAfter = max(a.wait-(now-a.denied), r.holds()-(now-a.denied))
			r.mu.Unlock()
			return -1, nil, res, rate.ErrLimited
		}
		if r.cfg.Ahead > 0 && now-a.at <= r.cfg.Ahead {
			more = int64(min(l.PerSecond*r.cfg.Ahead.Seconds(), float64(l.Burst)/8))
		}
		if a.wait == 0 || maxWait > 0 || now-a.denied > forget {
			r.mu.Unlock()
			return more, nil, res, nil
		}
		asks := a.asks
		if asks == nil { // of a tenant that was refused lately one call asks for all
			a.asks = make(chan struct{})
			r.mu.Unlock()
			return more, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				close(a.asks)
				a.asks = nil
			}, res, nil
		}
		r.mu.Unlock()
		select {
		case <-asks:
		case <-ctx.Done():
			return -1, nil, res, ctx.Err()
		}
	}
}

// holds is how long a refusal holds for others.
func (r *Rate) holds() time.Duration {
	if r.cfg.Ahead < 0 {
		return DefaultAhead
	}
	return r.cfg.Ahead
}

// sleep waits for what was reserved; a caller that leaves gives it back. If the tenant's limit changes, what has to come back until
// then stays the same number of tokens, less what the burst has become greater.
func (r *Rate) sleep(ctx context.Context, tenant string, l rate.Limit, cost int64, wait time.Duration, res rate.Result) (rate.Result, error) {
	began := time.Since(r.begin)
	need, last := wait.Seconds()*l.PerSecond, began
	nap := func() time.Duration {
		d := seconds(max(0, need) / l.PerSecond)
		if r.cfg.LimitFor != nil {
			d = min(d, lookEvery)
		}
		return d
	}
	timer := time.NewTimer(nap())
	defer timer.Stop()
	for need > 0 {
		select {
		case <-timer.C:
		case <-ctx.Done():
			_ = r.Charge(ctx, tenant, -cost)
			return rate.Result{}, ctx.Err()
		}
		now := time.Since(r.begin)
		need -= (now - last).Seconds() * l.PerSecond
		last = now
		if is := r.limitOf(tenant); is != l {
			need -= float64(is.Burst - l.Burst)
			if l = is; l.PerSecond == 0 {
				break
			}
		}
		timer.Reset(nap())
	}
	res.Waited = time.Since(r.begin) - began
	return res, nil
}

// Charge is of rate.Taker.
func (r *Rate) Charge(ctx context.Context, tenant string, delta int64) error {
	if err := checkTake(ctx, tenant); err != nil {
		return err
	}
	l := r.limitOf(tenant)
	if l.PerSecond == 0 || delta == 0 {
		return nil
	}
	_, _, used, _, err := r.ask(context.WithoutCancel(ctx), tenant, l, delta, 0, 0, "c")
	if err != nil {
		if r.cfg.Down == Share {
			return r.local.Charge(ctx, tenant, delta)
		}
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.tenants[tenant]; a != nil {
		a.at, a.used = time.Since(r.begin), used
		if delta < 0 {
			a.wait = 0 // it may pass now
		} else {
			a.tokens = 0 // they are not ours to give while there may be a debt
		}
	}
	return nil
}
