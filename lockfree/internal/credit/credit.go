// Package credit reserves capacity without a common counter.
package credit

import (
	"runtime"
	"sync/atomic"

	"github.com/firq-go/firq/internal/cpu"
	"github.com/firq-go/firq/internal/failpoint"
	"github.com/firq-go/firq/internal/pad"
)

// maxStripes bounds what a look at all stripes costs.
const maxStripes = 64

// Pool is a strict limit: at most its capacity of credits is out at any instant,
// because a credit is in exactly one place: a stripe, or with who took it.
// Callers on different processors use different stripes; an empty stripe is
// filled from another one, a chunk at a time (escrow, O'Neil 1986).
//
// Nobody is refused while there is a credit: before Take says no, it has seen
// all stripes empty at one instant (two equal looks at versioned words, nobody
// moving credits).
//
// Progress: Take and Give are lock-free as long as the stripe has credit; a Take
// that finds none waits, yielding, for who is just moving credits between
// stripes.
type Pool struct {
	stripes []stripe
	mask    int
	cap     int

	_      pad.Pad
	moving atomic.Int32 // movers between taking from a stripe and adding to theirs
	_      [pad.Line - 4]byte
}

// stripe is one processor's part. word is version<<32 | credits; every change
// counts the version up, so that equal words mean that nothing happened.
type stripe struct {
	word atomic.Uint64
	_    [pad.Line - 8]byte
}

const (
	version = 1 << 32
	credits = version - 1 // mask
)

// New returns a pool of the given capacity, for about as many processors as
// there are.
func New(capacity int) *Pool { return newStriped(capacity, runtime.GOMAXPROCS(0)) }

func newStriped(capacity, processors int) *Pool {
	n := 1
	for n < processors && n < maxStripes {
		n *= 2
	}
	p := &Pool{stripes: make([]stripe, n), mask: n - 1, cap: capacity}
	for i := range p.stripes {
		share := capacity / n
		if i == 0 {
			share += capacity % n
		}
		p.stripes[i].word.Store(uint64(share))
	}
	return p
}

// Take takes one credit; false: there is none.
func (p *Pool) Take() bool { return p.TakeAt(cpu.Hint(), 1) == 1 }

// TakeAt takes between 1 and n credits, for who knows its cpu.Hint; 0: there is none.
func (p *Pool) TakeAt(hint, n int) int {
	own := &p.stripes[hint&p.mask]
	if got := own.take(n); got > 0 {
		return got
	}
	return p.takeElsewhere(own, n)
}

// takeElsewhere is for who has found its own stripe empty.
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
		got := min(uint64(n), w&credits)
		if got == 0 {
			return 0
		}
		failpoint.At("credit take")
		if s.word.CompareAndSwap(w, w+version-got) {
			return int(got)
		}
	}
}

// refill takes from the other stripes: what is asked for, and half of what is
// left there to own. It returns 0, true when there was nothing anywhere at one
// instant, and false when it is worth trying again.
func (p *Pool) refill(own *stripe, n int) (got int, ok bool) {
	for i := range p.stripes {
		from := &p.stripes[i]
		if from == own || from.word.Load()&credits == 0 {
			continue
		}
		p.moving.Add(1) // before the credits leave: who says no looks at it
		failpoint.At("credit move")
		if got = from.take(n); got > 0 {
			if extra := from.take(int(from.word.Load()&credits+1) / 2); extra > 0 {
				failpoint.At("credit arrive")
				own.word.Add(version + uint64(extra))
			}
		}
		failpoint.At("credit moved")
		p.moving.Add(-1)
		if got > 0 {
			return got, true
		}
	}
	if free, sure := p.look(); !sure || free > 0 {
		failpoint.Gosched("credit refill")
		return 0, false
	}
	return 0, true
}

// look adds up the credits of all stripes. It is sure of the sum if that was it
// at one instant.
func (p *Pool) look() (free int, sure bool) {
	var words [maxStripes]uint64
	for i := range p.stripes {
		failpoint.At("credit look")
		words[i] = p.stripes[i].word.Load()
		free += int(words[i] & credits)
	}
	// Between the two looks, which are of the same words: whoever holds credits
	// in its hands at this instant is counted in moving.
	failpoint.At("credit moving?")
	if p.moving.Load() != 0 {
		return free, false
	}
	for i := range p.stripes {
		failpoint.At("credit look again")
		if p.stripes[i].word.Load() != words[i] {
			return free, false
		}
	}
	return free, true
}

// None reports whether there was an instant during the call at which no credit
// was left. It takes nothing, and costs one load while the caller's stripe has
// credit.
func (p *Pool) None() bool { return p.NoneAt(cpu.Hint()) }

// NoneAt is None for who knows its cpu.Hint.
func (p *Pool) NoneAt(hint int) bool {
	return p.stripes[hint&p.mask].word.Load()&credits == 0 && p.none()
}

func (p *Pool) none() bool {
	for {
		free, sure := p.look()
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

// GiveAt is Give for who knows its cpu.Hint; n is at least 1.
func (p *Pool) GiveAt(hint, n int) {
	p.stripes[hint&p.mask].word.Add(version + uint64(n))
}

// Free returns how many credits are left, 0 to the capacity: exactly, if there
// was a quiet moment for it, and then sure is true.
func (p *Pool) Free() (free int, sure bool) {
	for range 16 {
		if free, sure = p.look(); sure {
			return free, true
		}
	}
	return min(max(free, 0), p.cap), false
}

// Out returns how many credits are out; as exact as Free.
func (p *Pool) Out() int {
	free, _ := p.Free()
	return p.cap - free
}
