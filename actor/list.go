package actor

import (
	"iter"
	"time"
)

// Who is there, for people: a page, a command, a log. It is made of looks at one actor after
// the other, and so shows no single instant; each line by itself is true.

// Info says what an actor does.
type Info struct {
	Name    string
	Kind    string        // the type of its state; "supervisor"
	Parent  string        // the name of the actor or supervisor whose child it is; "": the System's
	Life    string        // starting, alive, draining, failed, down, stopping, ...: see the package's documentation
	Waiting int           // messages in its mailbox, stashed ones included
	Method  string        // of the handler in progress that was started first; "": none
	Elapsed time.Duration // since then
}

// Actors returns what every actor does that has not ended, supervisors too, in no order. Each is
// looked at when the loop comes to it.
func (s *System) Actors() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		// Every actor that has a name, from before its start until after its end: hence the
		// question whether it is over.
		for a := range s.names.all() {
			if in, ok := a.info(); ok && !yield(in) {
				return
			}
		}
	}
}

// info returns what a does; false: it has ended.
func (a *actor) info() (in Info, ok bool) {
	s := a.sys()
	s.tree.Lock()
	// Under the tree's lock, as adopt sets it.
	up := a.up
	s.tree.Unlock()
	a.mu.Lock()
	// One lock for what belongs together: an actor that is "draining" has the messages that are
	// shown.
	in = Info{Name: a.name, Kind: a.kindName(), Life: a.lifeName(), Waiting: int(a.waits())}
	ok = !a.over()
	a.mu.Unlock()
	// Not yet a child while Spawn is at work.
	if up != nil {
		in.Parent = up.name
	}
	var first int64
	// Several, if readers run or handlers of a reentrant actor wait: the one that has run for
	// the longest is shown.
	for _, c := range a.handlers() {
		m, start := c.m.Load(), c.start.Load()
		// The Ctx of a worker between two handlers is not valid, and no handler.
		if m != nil && c.valid() && (in.Method == "" || start < first) {
			in.Method, first = m.name, start
		}
	}
	if in.Method != "" {
		in.Elapsed = time.Duration(max(s.now()-first, 0))
	}
	return in, ok
}

// lifeName is the life in one word. draining is none of the states, since it outlasts them: it
// is what an actor that lives does once Stop was called.
func (a *actor) lifeName() string {
	if a.serves() && a.draining {
		return "draining"
	}
	return a.life.String()
}
