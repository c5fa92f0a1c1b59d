package drr

// flow is one of a tenant's flows (Task.Flow) at one level: it has tasks queued, or
// it is in debt. Mostly it has its own line (home is itself). If there are as many
// lines as may be, it is a guest in another's. A line stays as it is until it is empty,
// and a guest in it until its tasks are gone, so that each flow is first in, first out.
type flow[K comparable, T any] struct {
	id         uint64
	chain      *flow[K, T] // the next one in its bucket of flows.table
	home       *flow[K, T] // in whose line its tasks are; nil: it has none, and is among the debtors
	next, prev *flow[K, T] // of the lines, or of the debtors
	line       line[K, T]
	deficit    int64  // of the line; of a debtor, what it owes
	since      uint64 // the round in which a debtor left, or up to which its debt was paid off
	held       int32  // tasks in its line, guests' included
	queued     int32  // a guest's own tasks
	at         int32  // its place in flows.open
	inTurn     bool   // the line got its quantum, and the turn is not over
	shared     bool   // the line has, or had, guests
}

// flowList is a doubly linked list. The zero value is empty.
type flowList[K comparable, T any] struct{ head, tail *flow[K, T] }

func (l *flowList[K, T]) push(f *flow[K, T]) {
	f.prev, f.next = l.tail, nil
	if l.tail == nil {
		l.head = f
	} else {
		l.tail.next = f
	}
	l.tail = f
}

func (l *flowList[K, T]) remove(f *flow[K, T]) {
	if f.prev == nil {
		l.head = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next == nil {
		l.tail = f.prev
	} else {
		f.next.prev = f.prev
	}
	f.next, f.prev = nil, nil
}

// flows is the round robin among the flows of one tenant at one level: their lines take
// turns as seats do in a list of the Queue, each with the tenant's quantum. A level has
// one only while it is needed (seat.split): from when a second flow has a task queued,
// or one gets into debt, until no task is left and no flow is in debt.
//
// What the seat is to serve next is chosen when it is asked for (choose): then the turn
// passes to a line that can pay. First in, first out, what was chosen stays chosen
// until it leaves, so that the seat's front does not change while other seats are asked
// whether they can pay; else it is what the line in turn has in front, if that can pay.
type flows[K comparable, T any] struct {
	table   []*flow[K, T] // buckets, a power of two, of all flows
	open    []*flow[K, T] // those with a line, in no order
	lines   flowList[K, T]
	debtors flowList[K, T] // without tasks; the flow that left first is first
	mark    *flow[K, T]    // the last line that this round has still to visit
	round   uint64
	n       int32 // flows in the table
	tasks   int32
	owing   int32 // debtors
	chosen  bool  // the front of the line at the head is the next task, whatever it costs
	served  bool  // a task was delivered in this round
}
