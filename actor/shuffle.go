package actor

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/firq-go/firq/actor/internal/seeded"
)

// The order by seed of package actortest: one slot, one message per turn, and at each choice a
// number that the seed draws. Everything that may depend on the machine is sorted before it is
// chosen from: entries by the names of their actors, messages by those of their senders. So a
// seed stands for one order, and a failed test can be run again.

// The door for package actortest: it is outside of this package, and the order by seed is no
// part of the API.
func init() {
	seeded.New = func(config any, seed uint64) (any, error) {
		c := config.(Config)
		// One handler at a time, and a choice after each message.
		c.Slots, c.Throughput = 1, 1
		return newSystem(c, &shuffle{rng: rand.New(rand.NewPCG(seed, seed))})
	}
}

// shuffle chooses the next entry by a seed, for package actortest.
type shuffle struct {
	// One goroutine at a time draws; which one that is depends on the draws before.
	mu   sync.Mutex
	rng  *rand.Rand // mu
	nths uint64     // numbers given; mu
}

// intn draws the next number below n.
func (h *shuffle) intn(n int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rng.Int64N(n)
}

// nth returns the next of the numbers by which handlers and timers have an order.
func (h *shuffle) nth() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nths++
	return h.nths
}

// random returns a number from 0 to n-1.
func (s *System) random(n int64) int64 {
	// Jitter is part of the order that a seed stands for.
	if s.shuffle != nil {
		return s.shuffle.intn(n)
	}
	return rand.Int64N(n)
}

// next returns one of the messages that may be handled now: the first of a sender, of
// the highest priority, and gives w a new Ctx for it. The caller holds a.mu.
func (h *shuffle) next(w *worker, a *actor, e *envelope) *envelope {
	// Where the actor may take only certain messages, head has chosen, and there is no freedom
	// left.
	if a.x == nil || e.in != &a.x.back && a.x.readers == 0 && a.x.suspended == 0 {
		var first []*envelope
		var from []*actor
		// The first of each sender, as the order of one sender is guaranteed.
		for k := e; k != nil; k = k.next {
			if !slices.Contains(from, k.from) {
				from, first = append(from, k.from), append(first, k)
			}
		}
		// Which sender came first may depend on the machine's load.
		slices.SortFunc(first, func(e, f *envelope) int { return strings.Compare(e.sender(), f.sender()) })
		e = first[h.intn(int64(len(first)))]
	}
	// A number for each handler, so that entries of handlers that want a slot have an order
	// too.
	w.nth = h.nth()
	// Each message its own Ctx: one that is used after its handler is always stale.
	w.renew(w.ctx)
	w.ctx.hold = holdTurn
	// The turn is the new Ctx's.
	a.cur.Store(w.ctx)
	return e
}

// sender returns the name of the actor that sent e; "": it was none.
func (e *envelope) sender() string {
	if e.from == nil {
		return ""
	}
	return e.from.name
}

const (
	rounds    = 1000 // of settle at most: a goroutine may run all the time
	oldRounds = 64   // where the runtime cannot say whether a goroutine is runnable
)

// settle lets all other goroutines run until they wait. So all actors that become ready at an
// instant are there to be chosen from, however often a goroutine loses its processor on the way.
func (h *shuffle) settle() {
	m := newMeter()
	// With one processor a goroutine that can run is counted; so when none is, all wait.
	for i := range rounds {
		runtime.Gosched()
		if m == nil && i >= oldRounds || m != nil && m.others() == 0 { // with one processor that is exact
			return
		}
	}
}

// timer returns a sender for the messages of a timer: those that ring at the same instant do
// so in an order that the runtime draws.
func (h *shuffle) timer(a *actor) *actor {
	return &actor{name: fmt.Sprintf("%s timer %d", a.name, h.nth())}
}

// draw chooses the next of the entries that wait for a slot, whatever the order in which they came: two
// goroutines that become ready at the same time come in either order on a busy machine.
func (h *shuffle) draw(list []entry) int {
	slices.SortFunc(list, compare)
	return int(h.intn(int64(len(list))))
}

// compare orders entries: names are unique, and an actor's handlers are numbered.
func compare(e, f entry) int {
	return cmp.Or(strings.Compare(e.Of.a.name, f.Of.a.name), cmp.Compare(nth(e), nth(f)))
}

// nth is 0 for a turn, and the handler's number for one that wants a slot.
func nth(e entry) uint64 {
	if e.Of.w == nil {
		return 0
	}
	return e.Of.w.nth
}
