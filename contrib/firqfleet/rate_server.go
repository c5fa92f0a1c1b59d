package firqfleet

// Requests of a Rate to the server, and its answers.

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/rate"
)

//go:embed lua/rate.lua
var rateSource string

var rateScript = redis.NewScript(rateSource)

// ask asks the server.
func (r *Rate) ask(ctx context.Context, tenant string, l rate.Limit, cost int64, maxWait float64, more int64, charge string) (what int64, wait time.Duration, used float64, took int64, err error) {
	share := r.cfg.Down == Share
	if share {
		r.mu.Lock()
		now := time.Since(r.begin)
		away := now < r.away
		if !away && r.away > 0 {
			r.away = now + r.cfg.Timeout // the others need not wait for what this one hears
		}
		r.mu.Unlock()
		if away {
			return 0, 0, 0, 0, ErrUnavailable
		}
	}
	short, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	reply, err := eval(short, r.cfg.Client, rateScript, rateSource, []string{"fr:{" + r.cfg.Name + "{" + tenant + "}"}, // a brace, which no Name has, keeps rates apart
		[]any{l.PerSecond, l.Burst, cost, maxWait, more, charge}, func(reply any, _ error) {
			// The caller has left before it heard what it took.
			if what, _, _, took := parseTake(reply); charge == "" && what != refused {
				_ = r.Charge(context.WithoutCancel(ctx), tenant, -cost-took)
			}
		})
	list, _ := reply.([]any)
	if err == nil && len(list) != 4 {
		err = fmt.Errorf("firqfleet: an answer of %d parts", len(list))
	}
	if share {
		r.mu.Lock()
		if r.away = 0; err != nil {
			r.away = time.Since(r.begin) + r.cfg.Timeout
		}
		r.mu.Unlock()
	}
	if err != nil {
		if ctx.Err() != nil {
			return 0, 0, 0, 0, ctx.Err()
		}
		return 0, 0, 0, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	what, wait, used, took = parseTake(reply)
	return what, wait, used, took, nil
}

// parseTake takes an answer of the script apart; one that is none is a refusal.
func parseTake(reply any) (what int64, wait time.Duration, used float64, took int64) {
	list, _ := reply.([]any)
	if len(list) != 4 {
		return refused, 0, 0, 0
	}
	number := func(v any) float64 {
		s, _ := v.(string)
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	what, _ = list[0].(int64)
	took, _ = list[3].(int64)
	return what, seconds(number(list[1])), number(list[2]), took
}

// seconds is a duration, rounded up, without overflow.
func seconds(s float64) time.Duration {
	if s *= 1e9; s >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(math.Ceil(s))
}
