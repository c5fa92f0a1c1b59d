package rate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq/rate"
)

// Tokens of a language model: what a call will use is a guess, and is corrected when it has
// ended. Requests have a limit, too.
func Example() {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	requests := rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 10}, Now: clock})
	tokens := rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 1000, Burst: 5000}, Now: clock})
	both := rate.All(rate.Count[string](requests), rate.Taker[string](tokens))
	ctx := context.Background()

	ask := func(guess, used int64) {
		r, err := both.Take(ctx, "acme", guess, 0)
		if errors.Is(err, rate.ErrLimited) {
			fmt.Println("refused; try again in", r.RetryAfter)
			return
		}
		_ = both.Charge(ctx, "acme", used-guess) // more than there is: a debt
		fmt.Println("used", used)
	}
	ask(500, 800)
	ask(500, 6000)
	ask(500, 0)
	now = now.Add(2300 * time.Millisecond)
	ask(500, 200)
	// Output:
	// used 800
	// used 6000
	// refused; try again in 2.3s
	// used 200
}
