package inbox

import (
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// state is what becomes of a ticket.
type state uint8

const (
	open   state = iota // drawn, nothing published
	plain               // published, and not taken
	other               // the same, for a task that is not plain
	voided              // the same, for one that was refused
	early               // taken behind a hole
	lent                // taken in turn; its task is in the slot
	gone                // the slot is free, or will be once all before it are taken
)

// twin does the same to an inbox and to a list of its tickets, from the first one on. It is
// what a lease holder and its producers do; draw chooses a number below n.
type twin struct {
	b       *Inbox[*int]
	k       Taker
	first   uint32
	tickets []state
	head    int // all tickets before it were taken, and passed in turn
	freed   int // tickets before it have free slots, as far as Free has said
	mixed   bool
	draw    func(what string, n int) int
}

func newTwin(size int, first uint32, draw func(what string, n int) int) *twin {
	w := &twin{b: New[*int](size, first), first: first, draw: draw}
	w.k.Init(first)
	return w
}

func (w *twin) ticket(n int) uint32 { return ring.Cut(w.first + uint32(n)) }
func (w *twin) index(t uint32) int  { return ring.Distance(t, ring.Cut(w.first)) }

func (w *twin) in(s state) (list []int) {
	for i := range w.tickets {
		if w.tickets[i] == s {
			list = append(list, i)
		}
	}
	return list
}

var operations = []struct {
	name string
	do   func(*twin) error
}{
	{"draw", (*twin).drawTicket},
	{"publish", (*twin).publish},
	{"publish the oldest", (*twin).publishOldest},
	{"take all", (*twin).takeAll},
	{"take one", (*twin).takeOne},
	{"deliver", (*twin).deliver},
	{"spill", (*twin).spill},
	{"skip", (*twin).skip},
	{"pass", (*twin).pass},
}

func (w *twin) drawTicket() error {
	if len(w.tickets)-w.freed < w.b.Size() {
		w.tickets = append(w.tickets, open)
	}
	return nil
}

func (w *twin) publish() error {
	if o := w.in(open); len(o) > 0 {
		w.put(o[w.draw("which", len(o))])
	}
	return nil
}

func (w *twin) publishOldest() error {
	if o := w.in(open); len(o) > 0 {
		w.put(o[0])
	}
	return nil
}

func (w *twin) put(i int) {
	t := w.ticket(i)
	task := drr.Task[*int]{Payload: &i, Cost: int64(1 + i%3), Enqueued: int64(i), Priority: firq.PriorityNormal, Due: drr.NoDeadline}
	switch w.draw("what", 6) {
	case 0:
		w.b.PutVoid(t)
		w.tickets[i] = voided
	case 1:
		task.Priority = firq.PriorityHigh
		w.b.Put(t, &task)
		w.tickets[i], w.mixed = other, true
	case 2:
		w.b.Put(t, &task)
		w.tickets[i] = plain
	default:
		w.b.PutPlain(t, &task.Payload, task.Cost, task.Enqueued)
		w.tickets[i] = plain
	}
	w.b.Publish(t)
}

// run lends what can be lent, before the ticket end.
func (w *twin) run(end int) error {
	want := 0
	for i := w.head; i < end && w.tickets[i] == plain && len(w.in(early)) == 0; i++ {
		want++
	}
	if got := w.b.Run(&w.k, w.ticket(end)); got != want {
		return fmt.Errorf("Run took %d, want %d", got, want)
	}
	for range want {
		w.tickets[w.head] = lent
		w.head++
	}
	return nil
}

// passEarly passes what was taken behind a hole that is none any more.
func (w *twin) passEarly(end int) {
	for w.head < end && w.tickets[w.head] == early {
		w.tickets[w.head] = gone
		w.head++
	}
}

// next is one Next, from the ticket at on. What was lent before is copied first, as the
// caller does.
func (w *twin) next(at *uint32, end int) (ok bool, err error) {
	want := -1
	for i := w.index(*at); i < end && want < 0; i++ {
		if i == w.head {
			w.passEarly(i + 1)
		}
		if s := w.tickets[i]; s == plain || s == other || s == voided {
			want = i
		}
	}
	slot, more, ok := w.b.Next(&w.k, at, w.ticket(end))
	if ok != (want >= 0) {
		return ok, fmt.Errorf("Next: %t, with ticket %d to take", ok, want)
	}
	if !ok {
		return false, nil
	}
	if err := w.spill(); err != nil {
		return true, err
	}
	switch s := w.tickets[want]; {
	case (slot != nil) != (s == plain):
		return true, fmt.Errorf("ticket %d: plain is %t", want, slot != nil)
	case (more != nil) != (s == other):
		return true, fmt.Errorf("ticket %d: a task that is not plain: %t", want, more != nil)
	case s == plain && (*slot.Payload != want || int(slot.Enqueued) != want || int(slot.Cost) != 1+want%3),
		s == other && (more.Payload == nil || *more.Payload != want || more.Priority != firq.PriorityHigh):
		return true, fmt.Errorf("ticket %d: took %+v, %+v", want, slot, more)
	case s == plain:
		slot.Payload = nil
	case s == other:
		*more = drr.Task[*int]{}
	}
	if want == w.head {
		w.tickets[want] = gone
		w.head++
	} else {
		w.tickets[want] = early
	}
	return true, nil
}

// takeAll is what the lease holder does with an inbox.
func (w *twin) takeAll() error {
	end := len(w.tickets)
	at := w.k.Head()
	for {
		if at == w.k.Head() {
			if err := w.run(end); err != nil {
				return err
			}
			at = w.k.Head()
		}
		if ok, err := w.next(&at, end); !ok || err != nil {
			return err
		}
	}
}

// takeOne is a pass that ends early.
func (w *twin) takeOne() error {
	at := w.k.Head()
	_, err := w.next(&at, len(w.tickets))
	return err
}

// deliver takes the oldest task that is lent.
func (w *twin) deliver() error {
	if l := w.in(lent); len(l) > 0 {
		*w.slot(l[0]) = nil
		w.tickets[l[0]] = gone
	}
	return nil
}

func (w *twin) slot(i int) **int { return &w.b.Slots()[w.b.Index(w.ticket(i))].Payload }

// spill copies what is lent.
func (w *twin) spill() error {
	for _, i := range w.in(lent) {
		if p := *w.slot(i); p == nil || *p != i {
			return fmt.Errorf("ticket %d, which is lent, has lost its task", i)
		}
		*w.slot(i) = nil
		w.tickets[i] = gone
	}
	return nil
}

// skip is for a task at the head that comes another way. What is lent is copied before, as it
// is before each task that the caller pushes itself.
func (w *twin) skip() error {
	if w.head < len(w.tickets) && w.tickets[w.head] == open {
		if err := w.spill(); err != nil {
			return err
		}
		w.tickets[w.head] = gone
		w.head++
		w.passEarly(len(w.tickets))
		w.b.Skip(&w.k)
	}
	return nil
}

// pass draws a ticket that goes past the inbox.
func (w *twin) pass() error {
	if w.freed == len(w.tickets) {
		w.tickets = append(w.tickets, gone)
		w.k.Pass()
		w.head++
		w.freed++
	}
	return nil
}

// compare compares the answers of all methods that any goroutine may call.
func (w *twin) compare() error {
	n := len(w.tickets)
	if got := w.index(w.k.Head()); got != w.head {
		return fmt.Errorf("head is %d, want %d", got, w.head)
	}
	lends := len(w.in(lent))
	before := w.freed
	w.freed = w.head - lends
	if got := w.k.Free(lends); got != w.freed-before {
		return fmt.Errorf("Free(%d) = %d, want %d", lends, got, w.freed-before)
	}
	prefix := n
	if o := w.in(open); len(o) > 0 {
		prefix = o[0]
	}
	if got := w.index(w.b.Prefix(&w.k, w.ticket(n))); got != prefix {
		return fmt.Errorf("Prefix = %d, want %d", got, prefix)
	}
	// Tickets that were passed have slots that say nothing about them.
	if o := w.in(open); len(o) > 0 && !w.b.Holes(w.ticket(o[0]), w.ticket(n)) {
		return fmt.Errorf("Holes(%d) = false", o[0])
	} else if len(o) == 0 && w.b.Holes(w.ticket(w.head), w.ticket(n)) {
		return fmt.Errorf("Holes(%d) = true", w.head)
	}
	if w.b.Mixed() != w.mixed {
		return fmt.Errorf("Mixed is %t", w.b.Mixed())
	}
	kept, want := 0, len(w.in(plain))+len(w.in(lent))+len(w.in(other))
	for i := range w.b.Slots() {
		if w.b.Slots()[i].Payload != nil {
			kept++
		}
		if w.mixed && (*w.b.more.Load())[i].Payload != nil {
			kept++
		}
	}
	if kept != want {
		return fmt.Errorf("%d payloads are kept, want %d", kept, want)
	}
	return nil
}
