package firqfleet

import (
	"sync/atomic"

	"github.com/firq-go/firq/gate"
)

// word is what a call has to know if free slots are here and no call waits anywhere: so most calls need neither a lock nor a
// round trip.
//
//	bit 63     slow: calls have to ask under Gate.mu
//	bits 42    low: the least that idle has been since it was last looked at
//	bits 21    idle: slots here that no permit has
//	bits 0     used: slots of the permits from idle
type word uint64

const (
	fieldBits      = 21
	fieldMax       = 1<<fieldBits - 1
	slowBit   word = 1 << 63
)

// A fleet's limit has to fit into a field.
const _ = uint(fieldMax - gate.MaxSlots)

func (w word) used() int  { return int(w & fieldMax) }
func (w word) idle() int  { return int(w >> fieldBits & fieldMax) }
func (w word) low() int   { return int(w >> (2 * fieldBits) & fieldMax) }
func (w word) slow() bool { return w&slowBit != 0 }

// with returns a word like w with other numbers.
func (w word) with(low, idle, used int) word {
	return w&slowBit | word(low)<<(2*fieldBits) | word(idle)<<fieldBits | word(used)
}

// slots is a word that changes.
type slots struct{ w atomic.Uint64 }

func (s *slots) load() word { return word(s.w.Load()) }

// take takes n idle slots for a permit, if there are that many; the quick way only if it is not slow.
func (s *slots) take(n int, quick bool) bool {
	for {
		w := s.load()
		idle := w.idle() - n
		if idle < 0 || quick && w.slow() {
			return false
		}
		if s.w.CompareAndSwap(uint64(w), uint64(w.with(min(w.low(), idle), idle, w.used()+n))) {
			return true
		}
	}
}

// put makes the n slots of a permit idle; the quick way only if it is not slow.
func (s *slots) put(n int, quick bool) bool {
	for {
		w := s.load()
		if quick && w.slow() {
			return false
		}
		if s.w.CompareAndSwap(uint64(w), uint64(w.with(w.low(), w.idle()+n, w.used()-n))) {
			return true
		}
	}
}

// end takes the n slots of a permit away.
func (s *slots) end(n int) { s.w.Add(-uint64(n)) }

// add makes n more slots idle, or, below 0, takes that many away.
func (s *slots) add(n int) {
	for {
		w := s.load()
		idle := w.idle() + n
		if s.w.CompareAndSwap(uint64(w), uint64(w.with(min(w.low(), idle), idle, w.used()))) {
			return
		}
	}
}

// drain takes away all idle slots but some, and returns how many.
func (s *slots) drain(but int) int {
	for {
		w := s.load()
		n := w.idle() - but
		if n <= 0 {
			return 0
		}
		if s.w.CompareAndSwap(uint64(w), uint64(w.with(min(w.low(), but), but, w.used()))) {
			return n
		}
	}
}

// spare returns the least that was idle since it was asked last.
func (s *slots) spare() int {
	for {
		w := s.load()
		if s.w.CompareAndSwap(uint64(w), uint64(w.with(w.idle(), w.idle(), w.used()))) {
			return w.low()
		}
	}
}

func (s *slots) setSlow(slow bool) {
	if slow {
		s.w.Or(uint64(slowBit))
	} else {
		s.w.And(^uint64(slowBit))
	}
}
