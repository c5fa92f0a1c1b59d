package drr

// line is a queue of tasks: those in slots, and those in entries. Between the two, the
// counts of slots that have come in and left say which is older; see entry.after. The
// zero value is empty.
type line[K comparable, T any] struct {
	row   row[K, T]
	tasks entries[K, T]
}

func (l *line[K, T]) empty() bool { return l.tasks.head == nil && l.row.empty() }

func (l *line[K, T]) push(e *entry[K, T]) {
	e.after = l.row.in
	l.tasks.push(e)
}

// first returns the oldest task, if there is one. e is nil if it is in a slot.
func (l *line[K, T]) first() (h head, e *entry[K, T]) {
	e = l.tasks.head
	switch {
	case !l.row.empty() && (e == nil || int32(e.after-l.row.out) > 0):
		return l.row.front().head(), nil
	case e == nil:
		return head{}, nil
	}
	return e.head, e
}

// last returns the newest task, if there is one. e is nil if it is in a slot.
func (l *line[K, T]) last() (h head, e *entry[K, T]) {
	e = l.tasks.tail
	switch {
	case !l.row.empty() && (e == nil || e.after != l.row.in):
		return l.row.back().head(), nil
	case e == nil:
		return head{}, nil
	}
	return e.head, e
}
