package ring

import "fmt"

// model is the ring as a slice of tickets, from the first one on.
type model struct {
	tickets []ticketState
	freed   int // tickets before it may be used again
	size    int
}

type ticketState uint8

const (
	open      ticketState = iota // drawn, not published
	published                    // not taken
	taken                        // and Free was not called since: still looks published
	gone                         // taken, and Free was called
)

func (m *model) full() bool { return m.room(len(m.tickets)) == 0 }

func (m *model) room(ticket int) int { return m.size - (ticket - m.freed) }

// in lists the tickets in a state, from one on and before another.
func (m *model) in(s ticketState, from, to int) (list []int) {
	for i := from; i < to; i++ {
		if m.tickets[i] == s {
			list = append(list, i)
		}
	}
	return list
}

// free ends a pass that came as far as end: what was taken up to the first
// ticket that was not can be used again.
func (m *model) free(end int) {
	for i, s := range m.tickets {
		if s == taken {
			m.tickets[i] = gone
		}
	}
	for m.freed < end && m.tickets[m.freed] == gone {
		m.freed++
	}
}

// twin does the same to a ring and to the model. A value is a pointer to the
// number of its ticket. draw chooses a number below n.
type twin struct {
	r     *MPSC[*int]
	m     model
	first uint32
	draw  func(what string, n int) int

	passing  bool // between the first Pop and Free
	at, tail uint32
	version  uint64
	moved    bool // version must differ from now on
}

func newTwin(size int, first uint32, draw func(what string, n int) int) *twin {
	w := &twin{r: newRing[*int](size, first), m: model{size: size}, first: first, draw: draw}
	w.version = w.r.Version()
	return w
}

var operations = []struct {
	name string
	do   func(*twin) error
}{
	{"push", (*twin).push},
	{"draw and stop", (*twin).drawAndStop},
	{"publish a hole", (*twin).publish},
	{"pop", (*twin).pop},
	{"pop to the end, free", (*twin).finish},
	{"free", (*twin).free},
}

func (w *twin) push() error {
	n := len(w.m.tickets)
	if ok := w.r.Push(&n); ok == w.m.full() {
		return fmt.Errorf("Push = %t with room for %d", ok, w.m.room(n))
	} else if ok {
		w.m.tickets = append(w.m.tickets, published)
		w.moved = true
	}
	return nil
}

// drawAndStop is a producer that stops with a ticket.
func (w *twin) drawAndStop() error {
	if !w.m.full() {
		draw(w.r)
		w.m.tickets = append(w.m.tickets, open)
		w.moved = true
	}
	return nil
}

// publish lets one of those that stopped go on, in any order.
func (w *twin) publish() error {
	if holes := w.m.in(open, 0, len(w.m.tickets)); len(holes) > 0 {
		i := holes[w.draw("which hole", len(holes))]
		w.r.Put(ticket(w.first, i), &i)
		w.m.tickets[i] = published
	}
	return nil
}

// index is the inverse of ticket.
func (w *twin) index(t uint32) int { return Distance(t, w.first&ticketMask) }

// pop is one Pop, the first of a pass if there is none: the next published value
// before the tail that the pass began with.
func (w *twin) pop() error {
	if !w.passing {
		w.passing, w.at, w.tail = true, w.r.Head(), w.r.Tail()
	}
	want := w.m.in(published, w.index(w.at), w.index(w.tail))
	v, ok := w.r.Pop(&w.at, w.tail)
	switch {
	case ok != (len(want) > 0):
		return fmt.Errorf("Pop = %t, with %v to take", ok, want)
	case !ok && w.at != w.tail:
		return fmt.Errorf("the pass ends at ticket %d, want %d", w.index(w.at), w.index(w.tail))
	case ok && (*v != want[0] || w.index(w.at) != want[0]+1):
		return fmt.Errorf("took %d and went to ticket %d, want %d", *v, w.index(w.at), want[0])
	case ok:
		w.m.tickets[want[0]] = taken
	}
	return nil
}

// finish takes what there is.
func (w *twin) finish() error {
	for more := true; more; more = w.at != w.tail {
		if err := w.pop(); err != nil {
			return err
		}
	}
	return w.free()
}

// free ends the pass, at its end or halfway.
func (w *twin) free() error {
	if !w.passing {
		w.at = w.r.Head()
	}
	w.passing = false
	before := w.m.freed
	w.moved = w.moved || len(w.m.in(taken, 0, len(w.m.tickets))) > 0
	w.r.Free()
	w.m.free(w.index(w.at))
	w.moved = w.moved || w.m.freed != before
	return nil
}

// compare compares the answers of all methods that any goroutine may call.
func (w *twin) compare() error {
	n := len(w.m.tickets)
	if got := w.index(w.r.Tail()); got != n {
		return fmt.Errorf("Tail = first + %d, want %d", got, n)
	}
	for i := w.m.freed; i <= w.m.freed+2*w.m.size; i++ {
		room := w.m.room(i)
		if got := w.r.Room(ticket(w.first, i)); got != room {
			return fmt.Errorf("Room(first + %d) = %d, want %d", i, got, room)
		}
	}
	for i := w.m.freed; i <= n; i++ {
		freed, tail := w.r.freed.Load(), ticket(w.first, i)
		seen := len(w.m.in(published, w.m.freed, i))+len(w.m.in(taken, w.m.freed, i)) > 0
		if got := w.r.Published(freed, tail); got != seen {
			return fmt.Errorf("Published(first + %d) = %t", i, got)
		}
		if got := w.r.Ready(); i == n && got != seen {
			return fmt.Errorf("Ready = %t", got)
		}
	}
	kept := 0
	for i := range w.r.slots {
		if w.r.slots[i].value != nil {
			kept++
		}
	}
	if want := len(w.m.in(published, 0, n)); kept != want {
		return fmt.Errorf("%d payloads are kept, %d are published", kept, want)
	}
	before := w.version
	w.version = w.r.Version()
	if (w.version != before) != w.moved {
		return fmt.Errorf("version %d, %d before, must differ: %t", w.version, before, w.moved)
	}
	w.moved = false
	return nil
}
