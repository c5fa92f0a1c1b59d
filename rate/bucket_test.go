package rate

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/internal/proof/race"
)

// oracle is GCRA as it is in the books, in fractions: tat is when the burst will be whole.
type oracle struct {
	tat, now *big.Rat // seconds
	limit    Limit
}

func rat(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }

func seconds(d time.Duration) *big.Rat { return big.NewRat(int64(d), 1e9) }

// times returns how long n tokens take to come back.
func (o *oracle) times(n int64) *big.Rat {
	return new(big.Rat).Quo(new(big.Rat).SetInt64(n), rat(o.limit.PerSecond))
}

// early returns by how many seconds a call of this cost comes too early, not positive if it passes.
func (o *oracle) early(cost int64) *big.Rat {
	tat := o.from()
	least := new(big.Rat).Sub(new(big.Rat).Add(tat, o.times(cost)), o.times(o.limit.Burst))
	if cost > o.limit.Burst {
		least = tat
	}
	return new(big.Rat).Sub(least, o.now)
}

func (o *oracle) from() *big.Rat {
	if o.tat.Cmp(o.now) > 0 {
		return o.tat
	}
	return o.now
}

func (o *oracle) charge(n int64) { o.tat = new(big.Rat).Add(o.from(), o.times(n)) }

// ages is more than a time.Duration has to tell.
var ages = seconds(1 << 62)

// near reports whether a time is so close to 0 that a float64 cannot tell: half a
// nanosecond, or 2^-50 of what has passed.
func (o *oracle) near(r *big.Rat) bool {
	if r.Cmp(big.NewRat(-1, 2e9)) < 0 || r.Cmp(big.NewRat(1, 2e9)) > 0 {
		f, _ := r.Float64()
		now, _ := o.from().Float64()
		return math.Abs(f) <= now/(1<<50)
	}
	return true
}

// TestOracle: any calls at any times are answered as GCRA in fractions answers them.
func TestOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{
			PerSecond: rapid.OneOf(rapid.SampledFrom([]float64{1e-6, 0.1, 1, 3, 10, 1e3, 1e6, 1e9, 1e12}), rapid.Float64Range(1e-6, 1e12)).Draw(t, "per second"),
			Burst:     rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 1e15)).Draw(t, "burst"),
		}
		c := new(clock)
		l := New(Config[string]{Limit: limit, Now: c.Now})
		o := &oracle{tat: new(big.Rat), now: new(big.Rat), limit: limit}
		token := max(1, time.Duration(min(1e9/limit.PerSecond, 1e15)))
		t.Repeat(map[string]func(*rapid.T){
			"advance": func(t *rapid.T) {
				d := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, int64(token)*3)).Draw(t, "ns")
				if c.ns.Load() > 1e17 {
					return
				}
				c.advance(time.Duration(d))
				o.now = seconds(time.Duration(c.ns.Load()))
			},
			"take": func(t *rapid.T) {
				cost := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 2*limit.Burst)).Draw(t, "cost")
				early := o.early(cost)
				r, err := l.Take(background, "a", cost, 0)
				if passes := early.Sign() <= 0; passes != (err == nil) && !o.near(early) {
					t.Fatalf("cost %d: error %v, want it to pass: %t (early by %v s)", cost, err, passes, early.FloatString(12))
				}
				if err == nil {
					o.charge(cost)
				} else if early.Cmp(ages) < 0 {
					late := new(big.Rat).Sub(seconds(r.RetryAfter), early)
					if late.Cmp(big.NewRat(2, 1e9)) > 0 && !o.near(late) || late.Sign() < 0 && !o.near(late) {
						t.Fatalf("RetryAfter %v is %v s off", r.RetryAfter, late.FloatString(12))
					}
				}
				check(t, o, r)
			},
			"charge": func(t *rapid.T) {
				delta := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-limit.Burst, 2*limit.Burst)).Draw(t, "delta")
				if err := l.Charge(background, "a", delta); err != nil {
					t.Fatal(err)
				}
				o.charge(delta)
			},
		})
	})
}

// check compares how it stands.
func check(t *rapid.T, o *oracle, r Result) {
	whole := new(big.Rat).Sub(o.from(), o.now)
	if late := new(big.Rat).Sub(seconds(r.Reset), whole); whole.Cmp(ages) > 0 {
		if r.Reset < 1<<61 {
			t.Fatalf("Reset %v, want ages", r.Reset)
		}
	} else if late.Cmp(big.NewRat(-1, 1e9)) < 0 && !o.near(late) || late.Cmp(big.NewRat(2, 1e9)) > 0 && !o.near(late) {
		t.Fatalf("Reset %v, want %v", r.Reset, whole.FloatString(12))
	}
	left, _ := new(big.Rat).Sub(new(big.Rat).SetInt64(o.limit.Burst), whole.Mul(whole, rat(o.limit.PerSecond))).Float64()
	slack := 1.0
	if o.limit.PerSecond > 1e9 { // what comes back in half a nanosecond, and in 2^-50 of what has passed
		now, _ := o.from().Float64()
		slack += o.limit.PerSecond * max(1e-9, now/(1<<50))
	}
	if got := float64(r.Remaining); math.Abs(got-max(0, left)) > slack+left/(1<<50) {
		t.Fatalf("Remaining %v, want %v", got, left)
	}
}

// TestInterval: in no interval of t seconds is more taken than Burst + PerSecond x t.
func TestInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{rapid.Float64Range(0.5, 1e4).Draw(t, "per second"), rapid.Int64Range(1, 50).Draw(t, "burst")}
		c := new(clock)
		l := New(Config[string]{Limit: limit, Now: c.Now})
		type taken struct {
			at   time.Duration
			cost int64
		}
		var all []taken
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			c.advance(time.Duration(rapid.Float64Range(0, 2e9/limit.PerSecond).Draw(t, "ns")))
			cost := rapid.Int64Range(1, limit.Burst).Draw(t, "cost")
			if _, err := l.Take(background, "a", cost, 0); err == nil {
				all = append(all, taken{time.Duration(c.ns.Load()), cost})
			}
		}
		for i, from := range all {
			sum := int64(0)
			for _, to := range all[i:] {
				sum += to.cost
				if most := float64(limit.Burst) + limit.PerSecond*(to.at-from.at).Seconds(); float64(sum) > most+1e-9 {
					t.Fatalf("%d in %v, at most %v", sum, to.at-from.at, most)
				}
			}
		}
	})
}

// TestNoDrift: tokens of a fraction of a nanosecond, and fractions of tokens, add up over
// millions of calls.
func TestNoDrift(t *testing.T) {
	race.OneGoroutine(t)
	for _, limit := range []Limit{{1e12, 1000}, {3e9, 1}, {1.0 / 3, 1}, {1e6 / 7.0, 10}} {
		l, c := manual(limit.PerSecond, limit.Burst)
		token := 1e9 / limit.PerSecond
		taken := int64(0)
		for i := range 100_000 {
			c.advance(time.Duration(max(1, token*float64(i%5)/7)))
			for range 3 {
				if _, err := l.Take(background, "a", limit.Burst, 0); err == nil {
					taken += limit.Burst
				}
				charges(t, l, "a", 1)
				charges(t, l, "a", -1)
			}
		}
		most := float64(limit.Burst) + limit.PerSecond*float64(c.ns.Load())/1e9
		if got := float64(taken); got > most || got < most*0.5 && token > 1 {
			t.Errorf("%+v: %v taken in %v ns, at most %v", limit, taken, c.ns.Load(), most)
		}
	}
}

// TestExtremes: no sum overflows, and what is owed takes long rather than wrap around.
func TestExtremes(t *testing.T) {
	const most = math.MaxInt64
	for _, perSecond := range []float64{minPerSecond, 1, 1e9, maxPerSecond} {
		for _, burst := range []int64{1, 1000, most} {
			l, c := manual(perSecond, burst)
			r := takes(t, l, "a", most, true) // the burst is whole
			if r.Remaining != 0 || r.Reset < time.Hour {
				t.Errorf("%v/s, burst %d: after MaxInt64: %+v", perSecond, burst, r)
			}
			charges(t, l, "a", most)
			charges(t, l, "a", most)
			for _, cost := range []int64{1, most} {
				if r := takes(t, l, "a", cost, false); r.RetryAfter < time.Hour && burst < most || r.RetryAfter <= 0 {
					t.Errorf("%v/s, burst %d, cost %d in debt: %+v", perSecond, burst, cost, r)
				}
			}
			charges(t, l, "a", math.MinInt64)
			if r := takes(t, l, "a", 0, true); r.Remaining != burst || r.Reset != 0 {
				t.Errorf("%v/s, burst %d: given back: %+v", perSecond, burst, r)
			}
			takes(t, l, "a", 1, true)
			c.advance(290 * 365 * 24 * time.Hour)
			takes(t, l, "a", 1, true)
		}
	}
}

// TestOldClock: a clock that was read before that of another call gives nothing twice.
func TestOldClock(t *testing.T) {
	limit := Limit{1, 10}
	b := bucket{since: 9e9, rate: 1}
	if !b.take(1e9, limit, 10) || b.take(9e9, limit, 1) {
		t.Errorf("%+v", b)
	}
	if b.take(1e9, Limit{2, 10}, 1); b.take(9e9, Limit{2, 10}, 1) {
		t.Errorf("with another rate: %+v", b)
	}
}

// TestLongBusy: a tenant that is never whole again does not overflow what it has spent.
func TestLongBusy(t *testing.T) {
	b := bucket{rate: maxPerSecond}
	now, limit := int64(0), Limit{maxPerSecond, 1e15}
	for range 1000 {
		if !b.take(now, limit, 1e15) {
			t.Fatalf("refused after %v: %+v", time.Duration(now), b)
		}
		if b.spent > maxBack+3e15 {
			t.Fatalf("spent %d", b.spent)
		}
		now += 1e12 // in which 1e15 come back
		if b.spent > 0 && b.used(now-1, maxPerSecond) == 0 {
			t.Fatal("whole too early")
		}
	}
	b = bucket{since: 0, spent: maxBack + 5e15, rate: maxPerSecond}
	if used := b.used(maxBack/1000+1000, maxPerSecond); used > 5e15 || used < 5e15-2e6 || b.spent != used {
		t.Errorf("used %d, %+v", used, b)
	}
}
