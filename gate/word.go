package gate

// word is the whole state of a gate but for the order of the waiting calls: how many
// slots are taken, how many calls wait or are about to, the limit, and whether
// the gate admits. In one word, so that "the slots are free and no call waits" and
// "otherwise I am one of the waiters" are one step.
//
//	bit 63     closed: Acquire is refused
//	bits 42    limit
//	bits 21    waiting
//	bits 0     inUse; above limit after SetLimit down
type word uint64

const (
	fieldBits       = 21
	fieldMax        = 1<<fieldBits - 1
	oneInUse   word = 1
	oneWaiting word = 1 << fieldBits
	oneLimit   word = 1 << (2 * fieldBits)
	closedBit  word = 1 << 63
)

func (w word) inUse() int   { return int(w & fieldMax) }
func (w word) waiting() int { return int(w / oneWaiting & fieldMax) }
func (w word) limit() int   { return int(w / oneLimit & fieldMax) }
func (w word) closed() bool { return w&closedBit != 0 }

// fits reports whether n slots are free.
func (w word) fits(n int) bool { return int(w&fieldMax)+n <= int(w/oneLimit&fieldMax) }

// tooHeavy reports whether n slots are more than there are. Where the limit is 0
// no call can be let in, so that none stands in another's way.
func (w word) tooHeavy(n int) bool { return n > w.limit() && w.limit() > 0 }

// idle reports whether the gate is closed and all calls are gone. That is final.
func (w word) idle() bool { return w&^(fieldMax*oneLimit) == closedBit }

// withLimit returns w with another limit.
func (w word) withLimit(n int) word { return w&^(fieldMax*oneLimit) | word(n)*oneLimit }
