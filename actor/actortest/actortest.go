// Package actortest makes Systems of package actor whose order of delivery a seed
// shuffles, within what is allowed, so that tests reveal code that depends on the
// order:
//
//	for seed := range uint64(100) {
//		sys := actortest.New(t, seed, actor.Config{}) // ends with the test
//		...
//	}
package actortest

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/actor/internal/seeded"
)

var (
	mu    sync.Mutex
	users int // Systems in bubbles
	procs int // GOMAXPROCS before the first of them
)

// New returns a System that is closed with the test. It has one slot, turns of one
// message, and no calls on their caller's goroutine. seed decides which actor is next,
// and which sender's message; a handler that has waited goes on when it has the slot
// again. Each message has its own Ctx, so that the use of a Ctx after its handler has
// returned is always ErrStale.
//
// In a bubble of testing/synctest the order is a function of the seed, and does not depend on
// how busy the machine is. All actors that become ready at one instant, and all timers that ring
// at one, are there before the seed chooses; the order in which they came does not matter. For that
// GOMAXPROCS is 1 until the test ends. This requires that
//
//   - goroutines other than handlers, those of the test and those that handlers start, do not
//     send at the same time as each other, nor to the same actor;
//   - handlers do not wait for anything outside of the bubble: files, connections, cgo;
//   - events at one instant that are not messages do not compete with others of their kind: the
//     deadlines of two callers, the timeouts of two handlers, two timers for the last room in a
//     mailbox. The Go runtime draws their order;
//   - a goroutine without a slot, in Ctx.Await for example, loses its processor less than
//     1,000 times between two waits (64 times before Go 1.26, whose runtime does not say
//     whether any goroutine is runnable), and the garbage collector does not stop it there;
//   - names come from the test, and not from the System, where several goroutines call Spawn.
//
// The function that Await runs, and a handler between its wait and its next use of the System,
// are not part of the order: the handler has the slot only from the end of Await on.
func New(t testing.TB, seed uint64, c actor.Config) *actor.System {
	t.Helper()
	s, err := seeded.New(c, seed)
	if err != nil {
		t.Fatalf("actortest: %v", err)
	}
	sys := s.(*actor.System)
	bubble := inBubble()
	if bubble {
		single(+1)
	}
	t.Cleanup(func() {
		_ = sys.Close()
		if bubble {
			single(-1)
		}
	})
	return sys
}

// inBubble reports whether this is a bubble: there time.Now has no monotonic reading.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0) //nolint:staticcheck // Equal does not see the monotonic reading
}

func single(delta int) {
	mu.Lock()
	defer mu.Unlock()
	if users == 0 {
		procs = runtime.GOMAXPROCS(1)
	}
	if users += delta; users == 0 {
		runtime.GOMAXPROCS(procs)
	}
}
