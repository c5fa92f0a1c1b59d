package firqgrpc

import (
	"testing"
	"time"
)

// TestRateAnswersAreNotKept: their delays are too many.
func TestRateAnswersAreNotKept(t *testing.T) {
	a := answers{domain: "shop.example"}
	kept := func() (n int) {
		a.made.Range(func(any, any) bool { n++; return true })
		return n
	}
	for i, r := range reasons {
		before := kept()
		if _, err := a.answer(i, time.Second+time.Duration(i)); err != nil {
			t.Fatal(err)
		}
		if kept() == before != (r.reason == RateLimited) {
			t.Errorf("%s: %d kept, %d before", r.reason, kept(), before)
		}
	}
}
