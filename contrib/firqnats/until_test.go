package firqnats

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A request that the server never answers, as none of three does before they have a leader, ends
// its try, not the whole Join.
func TestUntilTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		tries := 0
		err := until(ctx, func(ctx context.Context) error {
			if tries++; tries == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		if err != nil || tries != 2 {
			t.Errorf("%d tries: %v", tries, err)
		}
	})
}
