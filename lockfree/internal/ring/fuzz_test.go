package ring

import "testing"

// model is the ring as a slice of tickets.
type model struct {
	tickets []ticketState
	freed   int // tickets before it may be used again
	size    int
}

type ticketState uint8

const (
	open ticketState = iota // drawn, not published
	published
	taken
)

func (m *model) full() bool { return len(m.tickets)-m.freed == m.size }

// first returns the first ticket in a state, -1 for none.
func (m *model) first(s ticketState) int {
	for i, x := range m.tickets {
		if x == s {
			return i
		}
	}
	return -1
}

// free moves freed over the taken tickets up to end, as far as the pass came.
func (m *model) free(end int) {
	for m.freed < end && m.tickets[m.freed] == taken {
		m.freed++
	}
}

// Any sequence of pushes, draws, late publications and passes against the model.
// The value of a ticket is its number.
func FuzzRing(f *testing.F) {
	f.Add(uint32(0), []byte{0, 1, 0, 0, 4, 2, 4})
	f.Add(uint32(1<<32-2), []byte{1, 0, 1, 0, 0, 3, 3, 2, 3, 4, 0, 0, 0, 4})
	f.Add(uint32(1<<31-1), []byte{1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 0, 0, 0, 0, 0, 3})
	f.Fuzz(func(t *testing.T, first uint32, ops []byte) {
		m := model{size: 4}
		r := newRing[int](m.size, first)
		for i, op := range ops {
			step(t, r, &m, first, op%5)
			if t.Failed() {
				t.Fatalf("at step %d of %v", i, ops)
			}
		}
	})
}

func step(t *testing.T, r *MPSC[int], m *model, first uint32, op byte) {
	switch op {
	case 0: // push
		if ok := r.Push(len(m.tickets)); ok == m.full() {
			t.Errorf("Push = %t with %d of %d slots in use", ok, len(m.tickets)-m.freed, m.size)
		} else if ok {
			m.tickets = append(m.tickets, published)
		}
	case 1: // draw and stop
		if !m.full() {
			draw(r)
			m.tickets = append(m.tickets, open)
		}
	case 2: // publish the first hole
		if i := m.first(open); i >= 0 {
			r.Put(first+uint32(i), i)
			m.tickets[i] = published
		}
	case 3: // one value, and leave the pass
		at := r.Head()
		popOne(t, r, m, &at)
		r.Free()
		m.free(int(at - first))
	case 4: // a whole pass
		at := r.Head()
		for popOne(t, r, m, &at) {
			continue
		}
		r.Free()
		m.free(len(m.tickets))
	}
	if got, want := r.Ready(), m.first(published) >= 0; got != want {
		t.Errorf("Ready = %t, want %t", got, want)
	}
	if got, want := r.Room(r.Tail()), m.size-(len(m.tickets)-m.freed); got != want {
		t.Errorf("Room = %d, want %d", got, want)
	}
}

// popOne compares one Pop, which gives the first published value.
func popOne(t *testing.T, r *MPSC[int], m *model, at *uint32) bool {
	v, ok := r.Pop(at, r.Tail())
	want := m.first(published)
	if ok != (want >= 0) || ok && v != want {
		t.Errorf("Pop = %d, %t; want %d", v, ok, want)
		return false
	}
	if ok {
		m.tickets[want] = taken
	}
	return ok
}
