package page

import "github.com/firq-go/firq/cmd/firqbench/internal/contest"

// slots gives each contestant the same colour, dash and marker on every chart.
type slots map[string]int

// The style sheet has the colours: those of Okabe and Ito (2008), which people
// who do not see red or green can tell apart, darkened or lightened until they
// stand out from the page.
var fixed = map[string]int{
	contest.Lockfree: 0, contest.OneLock: 1, contest.Sharded: 2, contest.Channel: 3, contest.FIFO: 4,
	contest.Unbuffered: 5, contest.Floor: 6, contest.Simple: 7,
}

const (
	firstFree = 8
	slotAsked = 10 // what tenants asked for; no contestant
)

// Slot returns the style of a contestant's series (see package chart): the same
// on every page. Those that are not known here share one.
func Slot(contestant string) int {
	if slot, ok := fixed[contestant]; ok {
		return slot
	}
	return firstFree
}

// of returns the slot of a contestant. Those of which this package does not know
// share what is left.
func (s slots) of(contestant string) int {
	if slot, ok := fixed[contestant]; ok {
		return slot
	}
	if _, ok := s[contestant]; !ok {
		s[contestant] = firstFree + len(s)%(slotAsked-firstFree)
	}
	return s[contestant]
}
