//go:build firq_failpoints

package gate

import "github.com/firq-go/firq"

// heavyPrograms are those of permits of several slots, of calls that are heavier than
// the limit, and of four goroutines.
var heavyPrograms = map[string]struct {
	preemptions int
	f           func(sc *scene)
}{
	"two release, one gathers": {2, func(sc *scene) {
		sc.build(2, Config[string]{})
		sc.Go("release", sc.hold("a"))
		sc.Go("and release", sc.hold("b"))
		sc.heavyUser("heavy", "c", 2)
		sc.end()
	}},
	"one gathers, another comes": {2, func(sc *scene) {
		sc.build(2, Config[string]{})
		release := sc.hold("a")
		sc.heavyUser("heavy", "b", 2)
		sc.user("light", "c")
		sc.Go("release", release)
		sc.end()
	}},
	// No permit is released: a call that is next has to make way by itself.
	"next gives up": {2, func(sc *scene) {
		sc.build(2, Config[string]{})
		release := sc.hold("a")
		sc.Go("gives up", func() { sc.giveUp("b", 2) })
		sc.user("light", "c")
		sc.Run()
		if sc.g.Waiting() > 0 {
			sc.Errorf("%d wait while a slot is free", sc.g.Waiting())
		}
		release()
		sc.end()
	}},
	"next gives up, in flight": {2, func(sc *scene) {
		sc.build(2, Config[string]{MaxInFlightPerTenant: 1})
		release := sc.hold("a")
		sc.Go("gives up", func() { sc.giveUp("b", 2) })
		sc.user("light", "b")
		sc.Run()
		if sc.g.Waiting() > 0 {
			sc.Errorf("%d wait while a slot is free", sc.g.Waiting())
		}
		release()
		sc.end()
	}},
	"the limit falls below who is next": {2, func(sc *scene) {
		sc.falls = true
		sc.build(3, Config[string]{})
		release := sc.hold("a")
		sc.heavyUser("heavy", "b", 3)
		sc.user("light", "c")
		sc.Go("limit", func() { sc.g.SetLimit(2) })
		sc.Run()
		if sc.g.Waiting() != 1 {
			sc.Errorf("%d wait; want the heavy one only", sc.g.Waiting())
		}
		sc.g.SetLimit(3)
		release()
		sc.end()
	}},
	// A call that was not let in when the limit fell stays out.
	"the limit falls while one is let in": {2, func(sc *scene) {
		sc.falls = true
		sc.build(2, Config[string]{})
		release, stays := sc.hold("a"), sc.hold("b")
		sc.user("waiter", "c")
		sc.Run()
		fell := false
		sc.Go("release", release)
		sc.Go("limit", func() { sc.g.SetLimit(1) })
		sc.Go("watch", func() {
			w := sc.g.load()
			fell = w.limit() == 1 && w.waiting() == 1
		})
		sc.Run()
		if fell && sc.g.Waiting() == 0 {
			sc.Errorf("let in with %d out, after the limit fell to 1", sc.g.InUse())
		}
		stays()
		sc.end()
	}},
	"the limit rises, one is aside": {3, func(sc *scene) {
		sc.build(1, Config[string]{})
		sc.heavyUser("heavy", "b", 2)
		sc.Go("limit", func() { sc.g.SetLimit(2) })
		sc.end()
	}},
	"two are aside, one gives up": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		sc.heavyUser("heavy", "b", 2)
		sc.Go("gives up", func() { sc.giveUp("b", 2) })
		sc.Go("limit", func() { sc.g.SetLimit(2) })
		sc.end()
	}},
	"shutdown, one is aside": {2, func(sc *scene) {
		sc.build(1, Config[string]{})
		sc.guest("heavy", "b", 2)
		sc.Go("shutdown", func() {
			if err := sc.g.Shutdown(background); err != nil || sc.g.InUse() != 0 {
				sc.Errorf("%v; in use %d", err, sc.g.InUse())
			}
		})
		sc.end()
	}},
	"close, one gathers, one is aside": {2, func(sc *scene) {
		sc.build(2, Config[string]{})
		release := sc.hold("a")
		sc.guest("next", "b", 2)
		sc.guest("aside", "c", 3)
		sc.Go("close", func() { sc.g.Close() })
		sc.Run()
		release()
		sc.end()
	}},
	// Close ends the waiter whom Shutdown waits for.
	"shutdown, then close": {3, func(sc *scene) {
		sc.build(1, Config[string]{})
		release := sc.hold("a")
		sc.guest("waiter", "b", 1)
		sc.Run()
		sc.g.SetLimit(0)
		release()
		sc.Go("shutdown", func() {
			if err := sc.g.Shutdown(background); err != firq.ErrClosed {
				sc.Errorf("Shutdown, when Close came first: %v", err)
			}
		})
		sc.Go("close", func() { sc.g.Close() })
		sc.end()
	}},
	// The timer looks, while a tenant comes that it has to look for later.
	"the timer looks, one comes": {2, func(sc *scene) {
		sc.build(1, Config[string]{MaxInFlightPerTenant: 1})
		sc.g.memory.Store(timed)
		sc.Go("timer", func() { sc.g.forget() })
		sc.user("user", "a")
		sc.end()
		if sc.g.memory.Load() == nothing {
			sc.Errorf("the tenant will never be forgotten")
		}
	}},
	// Four: a pump looks in vain, as the tenant is at its limit; a slot comes back and
	// is taken for another one; then the tenant's permit comes back.
	"in flight, two others use what comes back": {1, func(sc *scene) {
		sc.build(2, Config[string]{MaxInFlightPerTenant: 1})
		release := sc.hold("a")
		sc.user("second", "a")
		sc.Go("release", release)
		sc.user("one", "b")
		sc.user("two", "c")
		sc.end()
	}},
	"two release, a heavy and a light one wait": {0, func(sc *scene) {
		sc.build(2, Config[string]{})
		sc.Go("release", sc.hold("a"))
		sc.Go("and release", sc.hold("b"))
		sc.heavyUser("heavy", "c", 2)
		sc.user("light", "d")
		sc.end()
	}},
	"next gives up while one releases and one comes": {0, func(sc *scene) {
		sc.build(2, Config[string]{})
		sc.Go("release", sc.hold("a"))
		sc.Go("gives up", func() { sc.giveUp("b", 2) })
		sc.user("one", "c")
		sc.heavyUser("two", "d", 2)
		sc.end()
	}},
}
