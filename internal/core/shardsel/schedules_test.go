//go:build firq_failpoints

package shardsel

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/internal/proof/interleave"
)

// look looks for a ready shard, of which there is one at every instant; false: it
// cannot be sure.
func look(ip *interleave.Schedule, r *Rounds) bool {
	before, sure := r.Version()
	for i := range r.cells {
		failpoint.At("look")
		if r.Ready(i) {
			return true
		}
	}
	failpoint.At("look at the version")
	if after, sureAfter := r.Version(); sure && sureAfter && after == before {
		ip.Errorf("no shard ready, and the version has not changed")
		return true
	}
	return false
}

func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		preemptions int
		f           func(ip *interleave.Schedule, r *Rounds)
	}{
		// Some shard is ready at every instant, but not always the same one.
		"a version tells an instant": {4, func(ip *interleave.Schedule, r *Rounds) {
			r.Publish(1, 0, true)
			ip.Go("holder", func() {
				for _, next := range []int{0, 1} {
					r.Publish(next, 0, true)
					failpoint.At("both")
					r.Publish(1-next, 0, false)
					failpoint.At("one")
				}
			})
			ip.Go("consumer", func() {
				for !look(ip, r) {
					failpoint.Gosched("unsure")
				}
			})
			ip.Run()
		}},
		// One shard becomes ready, then the other is served its last task.
		"a version that is not sure": {4, func(ip *interleave.Schedule, r *Rounds) {
			r.Publish(1, 0, true)
			ip.Go("first", func() { r.Publish(0, 0, true) })
			ip.Go("second", func() {
				if r.Ready(0) {
					r.Publish(1, 0, false)
				}
			})
			ip.Go("consumer", func() { look(ip, r) })
			ip.Run()
		}},
		"the current round": {4, func(ip *interleave.Schedule, r *Rounds) {
			ip.Go("a", func() { r.Served(5); failpoint.At("more"); r.Served(7) })
			ip.Go("b", func() { r.Served(6); failpoint.At("more"); r.Served(9) })
			ip.Go("asker", func() {
				first := r.Current()
				failpoint.At("again")
				if again := r.Current(); again < first {
					ip.Errorf("the current round went from %d to %d", first, again)
				}
			})
			ip.Run()
			if r.Current() != 9 {
				ip.Errorf("the current round is %d, want 9", r.Current())
			}
		}},
		// One shard passes empty turns up to a far round, while the other one goes back from
		// a round that is further: either the first one sees that, or the second one joins
		// where the first one has gone to.
		"passing, and going back": {4, func(ip *interleave.Schedule, r *Rounds) { passAndBack(ip, r, true) }},
		"passing, and waking up":  {4, func(ip *interleave.Schedule, r *Rounds) { passAndBack(ip, r, false) }},
		"two pass, one goes back": {2, func(ip *interleave.Schedule, _ *Rounds) {
			r := NewRounds(3, 1)
			r.Publish(0, 200, true)
			r.Publish(1, 100, true)
			r.Publish(2, 100, true)
			var passed [3]bool
			for _, shard := range []int{1, 2} {
				ip.Go([]string{"", "first", "second"}[shard], func() { passed[shard], _ = r.Pass(shard, 100) })
			}
			joined := uint64(0)
			ip.Go("joiner", func() {
				r.Publish(0, 0, true)
				joined = r.Settled()
			})
			ip.Run()
			if (passed[1] || passed[2]) != (joined == 100) || r.Current() != joined {
				ip.Errorf("passed: %v; the newcomer joined in round %d, the current one is %d", passed, joined, r.Current())
			}
			if r.jumping.Load() != 0 {
				ip.Errorf("a shard is still passing")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Explore(t, c.preemptions, func(ip *interleave.Schedule) { c.f(ip, NewRounds(2, 1)) })
		})
	}
}

// passAndBack: the shard that goes back, or wakes up, publishes its tag and then asks
// where to join.
func passAndBack(ip *interleave.Schedule, r *Rounds, ready bool) {
	r.Publish(0, 200, ready)
	r.Publish(1, 100, true)
	passed, joined := false, uint64(0)
	ip.Go("passer", func() {
		may, alone := r.Pass(1, 100)
		passed = may && !alone
	})
	ip.Go("joiner", func() {
		r.Publish(0, 0, true)
		failpoint.At("published")
		joined = r.Settled()
	})
	ip.Run()
	if passed != (joined == 100) {
		ip.Errorf("passed: %t, and the newcomer joined in round %d", passed, joined)
	}
}
