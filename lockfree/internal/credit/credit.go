// Package credit reserves capacity without a common counter.
package credit

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/cpu"
	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// maxStripes bounds what a look at all stripes costs.
const maxStripes = 64

// Pool is a strict limit: at most its capacity of credits is out at any instant,
// because a credit is in exactly one place: a stripe, or with the call that took it.
// Callers on different processors use different stripes; an empty stripe is
// filled from another one, a chunk at a time (escrow, O'Neil 1986).
//
// No call is refused while there is a credit: before TakeAt says no, it has seen
// all stripes empty at one instant (two equal looks at versioned words, no call
// moving credits).
//
// The capacity can change; see SetCap.
//
// Progress: TakeAt and GiveAt are lock-free as long as the stripe has credit; a TakeAt
// that finds none waits, yielding, for the call that is moving credits between
// stripes. One that finds the pool shut, and credits in it, takes a mutex.
type Pool struct {
	stripes []stripe // immutable, as is mask
	mask    int

	// Written by SetCap and reopen, under mu and while moving is not 0, between two
	// changes of the first stripe's version; read by all calls.
	cap  atomic.Int64
	debt atomic.Int64 // credits that are out beyond cap; above 0 the pool is shut

	_      pad.Pad
	moving atomic.Int32 // movers between taking from a stripe and adding to theirs
	_      [pad.Line - 4]byte

	mu sync.Mutex // of the calls that change the capacity or open the pool again
	_  [pad.Line]byte
}

// stripe is one processor's part. word is version<<32 | shut<<31 | credits; every
// change counts the version up, so that equal words mean that nothing happened. From a
// stripe that is shut no call takes, but credits come back to it.
type stripe struct {
	word atomic.Uint64
	_    [pad.Line - 8]byte
}

const (
	version = 1 << 32
	shut    = 1 << 31
	credits = shut - 1 // mask
)

// has returns how many credits can be taken from a stripe with this word, at most 0 if
// it is shut. (That it is 32 bits with a sign, it costs nothing to look for shut.)
func has(word uint64) int32 { return int32(uint32(word)) }

// New returns a pool of the given capacity, for about as many processors as
// there are.
func New(capacity int) *Pool { return newStriped(capacity, runtime.GOMAXPROCS(0)) }

func newStriped(capacity, processors int) *Pool {
	n := 1
	for n < processors && n < maxStripes {
		n *= 2
	}
	p := &Pool{stripes: make([]stripe, n), mask: n - 1}
	p.cap.Store(int64(capacity))
	for i := range p.stripes {
		share := capacity / n
		if i == 0 {
			share += capacity % n
		}
		p.stripes[i].word.Store(uint64(share))
	}
	return p
}

// TakeAt takes between 1 and n credits, for a caller that knows its cpu.Hint; 0: there is none.
func (p *Pool) TakeAt(hint, n int) int {
	own := &p.stripes[hint&p.mask]
	if got := own.take(n); got > 0 {
		return got
	}
	return p.takeElsewhere(own, n)
}

// takeElsewhere is for a call that has found its own stripe empty.
func (p *Pool) takeElsewhere(own *stripe, n int) int {
	for {
		if got, ok := p.refill(own, n); ok {
			return got
		}
		if got := own.take(n); got > 0 {
			return got
		}
	}
}

// take takes up to n credits of the stripe.
func (s *stripe) take(n int) int {
	for {
		w := s.word.Load()
		got := min(n, int(has(w)))
		if got <= 0 {
			return 0
		}
		failpoint.At("credit take")
		// Before: the credits are the stripe's. After: the caller's. It fails if the word has changed since it
		// was looked at: also if it has changed back, as it counts its versions, which look relies on.
		if s.word.CompareAndSwap(w, w+version-uint64(got)) {
			return got
		}
	}
}

// refill takes from the other stripes: what is asked for, and half of what is
// left there to own. It returns 0, true when there was nothing anywhere at one
// instant, and false when it is worth trying again.
func (p *Pool) refill(own *stripe, n int) (got int, ok bool) {
	for i := range p.stripes {
		from := &p.stripes[i]
		if from == own || has(from.word.Load()) <= 0 {
			continue
		}
		// Before the credits leave: from then until they have arrived they are in no stripe, and a call that
		// adds up the stripes looks at moving (look), and is not sure.
		p.moving.Add(1)
		failpoint.At("credit move")
		// What the call wants is its own from here on. Half of what is left comes along for later calls on this
		// processor: it is in this call's hands, and then in own.
		if got = from.take(n); got > 0 {
			if extra := from.take(int(has(from.word.Load())+1) / 2); extra > 0 {
				failpoint.At("credit arrive")
				own.word.Add(version + uint64(extra))
			}
		}
		failpoint.At("credit moved")
		p.moving.Add(-1) // after they have arrived, in own or with the caller
		if got > 0 {
			return got, true
		}
	}
	// All stripes were empty, but not at one instant: a credit may have gone from one that was still to be looked
	// at to one that was passed.
	if free, _, sure := p.look(); !sure || free > 0 {
		if p.debt.Load() > 0 {
			p.reopen()
		}
		failpoint.Gosched("credit refill")
		return 0, false
	}
	return 0, true
}

// look adds up the credits of all stripes, less the debt, and tells how many are out.
// It is sure of both if that was so at one instant.
func (p *Pool) look() (free, out int, sure bool) {
	var words [maxStripes]uint64
	for i := range p.stripes {
		failpoint.At("credit look")
		words[i] = p.stripes[i].word.Load()
		free += int(words[i] & credits)
	}
	// Between the two looks, which are of the same words: a call that holds credits
	// in its hands at this instant is counted in moving, as is a call that changes cap and
	// debt. If it begins after that, the first stripe has another version before
	// they change.
	failpoint.At("credit moving?")
	sure = p.moving.Load() == 0
	failpoint.At("credit cap?")
	most, debt := int(p.cap.Load()), int(p.debt.Load())
	free -= debt
	if !sure {
		return free, most - free, false
	}
	for i := range p.stripes {
		failpoint.At("credit look again")
		if p.stripes[i].word.Load() != words[i] {
			return free, most - free, false
		}
	}
	return free, most - free, true
}

// None reports whether there was an instant during the call at which no credit
// was left. It takes nothing, and costs one load while the caller's stripe has
// credit.
func (p *Pool) None() bool { return p.NoneAt(cpu.Hint()) }

// NoneAt is None for a caller that knows its cpu.Hint.
func (p *Pool) NoneAt(hint int) bool {
	return has(p.stripes[hint&p.mask].word.Load()) <= 0 && p.none()
}

func (p *Pool) none() bool {
	for {
		free, _, sure := p.look()
		if free > 0 {
			return false
		}
		if sure {
			return true
		}
		failpoint.Gosched("credit none")
	}
}

// Give returns n credits.
func (p *Pool) Give(n int) {
	if n > 0 {
		p.GiveAt(cpu.Hint(), n)
	}
}

// GiveAt is Give for a caller that knows its cpu.Hint; n is at least 1.
func (p *Pool) GiveAt(hint, n int) {
	// Before: the credits are the caller's. After: the stripe's, and any call's that takes them; not those of a
	// stripe that is shut, where they may pay the debt (reopen). Pairs with the CAS of take.
	p.stripes[hint&p.mask].word.Add(version + uint64(n))
}

// Cap returns the capacity.
func (p *Pool) Cap() int { return int(p.cap.Load()) }

// Free returns how many credits are left, 0 to the capacity: exactly, if there
// was a quiet moment for it, and then sure is true.
func (p *Pool) Free() (free int, sure bool) {
	free, _, sure = p.count()
	return max(free, 0), sure
}

// Out returns how many credits are out; as exact as Free.
func (p *Pool) Out() int {
	_, out, _ := p.count()
	return out
}

// Home reports whether no credit is out; false also if it cannot be sure.
func (p *Pool) Home() bool {
	_, out, sure := p.count()
	return sure && out == 0
}

// count is look that tries a few times. If it is not sure then, both are at least what
// they can be.
func (p *Pool) count() (free, out int, sure bool) {
	for range 16 {
		if free, out, sure = p.look(); sure {
			return free, out, true
		}
	}
	most, debt := int(p.cap.Load()), int(p.debt.Load())
	return min(max(free, -debt), most), min(max(out, 0), most+debt), false
}

// TakeOwn takes up to n credits of the caller's stripe. It does not yield.
func (p *Pool) TakeOwn(hint, n int) int { return p.stripes[hint&p.mask].take(n) }

// Own returns how many credits the caller's stripe has.
func (p *Pool) Own(hint int) int { return max(0, int(has(p.stripes[hint&p.mask].word.Load()))) }

// Bring moves half of the credits of some other stripe to the caller's. It does not yield.
func (p *Pool) Bring(hint int) {
	own := &p.stripes[hint&p.mask]
	for i := range p.stripes {
		from := &p.stripes[i]
		if from == own || has(from.word.Load()) <= 0 {
			continue
		}
		p.moving.Add(1) // before the credits leave; see refill
		got := from.take(int(has(from.word.Load())+1) / 2)
		if got > 0 {
			failpoint.At("credit arrive")
			own.word.Add(version + uint64(got))
		}
		p.moving.Add(-1)
		if got > 0 {
			return
		}
	}
}
