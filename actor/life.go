package actor

// life is the state of an actor's life. Every change of it goes through actor.on, and is a row of
// transitions below: there is no other place to look.
type life uint8

const (
	// The order matters: from stopping on the actor takes no message (refuses), from ended on
	// it is over.
	starting   life = iota // the first start runs, on the goroutine that called Spawn, which has the turn
	alive                  // there is an incarnation, and messages are handled
	restarting             // so, but its supervisor wants it to end: only messages that its handlers may wait for are handled
	failed                 // the incarnation has failed, and ends when no handler is in progress
	falling                // it ends: children first, last first, then the last words
	down                   // there is no incarnation; the supervisor will want the next one
	rising                 // the supervisor wants the next incarnation: its start runs in the next turn, or in this one
	stopping               // the actor ends permanently when no handler is in progress; no message is handled or accepted
	leaving                // it ends: children first, last first, then the last words
	ended                  // it is being taken off the books, and its name is not free yet
	gone                   // Done is closed
	lives                  // how many states there are
)

// event is what changes a life.
type event uint8

const (
	started           event = iota // a start has succeeded
	incarnationFailed              // a handler or a start has failed, and the supervisor will make another incarnation
	failedFinally                  // so, but there will be none
	takenDown                      // the supervisor wants the incarnation to end, as siblings are restarted with it
	terminated                     // it is to end permanently: Kill, c.Stop, its parent's end, Close
	spent                          // Stop was called, or it was idle, and the mailbox is worked off
	rests                          // no handler is in progress
	fallen                         // the children have ended, and the last words were said
	wanted                         // the supervisor wants the next incarnation
	finishes                       // as fallen, for an actor that ends; or Close does not wait for that
	tells                          // Done is closed
	events                         // how many events there are
)

// transition is a row of the table of lives. who says which goroutine brings the event about: "turn",
// the one that has the actor's turn; "handler", that of any handler in progress, or of its timeout;
// "parent", the turn of the parent; "any". All of them hold the actor's mu.
type transition struct {
	from life
	on   event
	to   life
	who  string
}

// transitions is the table. An event that is not in the row of a state leaves it as it is if the pair
// is in ignored, and never happens otherwise.
var transitions = []transition{
	{starting, started, alive, "turn"},
	{starting, failedFinally, stopping, "turn"},
	{starting, terminated, stopping, "any"},
	{alive, takenDown, restarting, "parent"},
	{alive, incarnationFailed, failed, "handler"},
	{alive, failedFinally, stopping, "handler"},
	{alive, terminated, stopping, "any"},
	{alive, spent, leaving, "turn"},
	{restarting, rests, falling, "turn"},
	{restarting, incarnationFailed, failed, "handler"},
	{restarting, failedFinally, stopping, "handler"},
	{restarting, terminated, stopping, "any"},
	{restarting, spent, leaving, "turn"},
	{failed, rests, falling, "turn"},
	{failed, failedFinally, stopping, "handler"},
	{failed, terminated, stopping, "any"},
	{falling, fallen, down, "turn"},
	{falling, terminated, leaving, "any"},
	{down, wanted, rising, "parent"},
	{down, terminated, stopping, "any"},
	{rising, started, alive, "turn"},
	{rising, incarnationFailed, failed, "turn"},
	{rising, failedFinally, stopping, "turn"},
	{rising, terminated, stopping, "any"},
	{stopping, rests, leaving, "turn"},
	{stopping, finishes, ended, "Close"},
	{leaving, finishes, ended, "turn, Close"},
	{ended, tells, gone, "turn, Close"},
}

// ignored says which events may come in a state and change nothing: those of goroutines that do not
// know that another event was first.
var ignored = map[event][]life{
	started:           {stopping, ended, gone},
	incarnationFailed: {failed, stopping},
	failedFinally:     {stopping, ended, gone},
	takenDown:         {starting, restarting, failed, falling, down, rising, stopping, leaving, ended, gone},
	terminated:        {stopping, leaving, ended, gone},
	wanted:            {alive, restarting, failed, falling, rising, stopping, leaving, ended, gone},
	finishes:          {ended, gone},
}

// next is transitions by state and event; lives: never happens.
var next = func() (t [lives][events]life) {
	// Whatever no row says never happens.
	for from := range t {
		for on := range t[from] {
			t[from][on] = lives
		}
	}
	for on, states := range ignored {
		for _, from := range states {
			// Late news of a goroutine that did not know: nothing changes.
			t[from][on] = from
		}
	}
	for _, r := range transitions {
		// The rows come last: a pair in both lists would be a mistake, which TestLifeTable
		// finds.
		t[r.from][r.on] = r.to
	}
	return t
}()

// seesLife is called with each event, under the actor's mu. Tests set it before they start.
var seesLife func(from life, on event, to life)

// on changes the life of a, and reports whether it did. The caller holds a.mu.
func (a *actor) on(e event) bool {
	// Two loads: the table is an array.
	from, to := a.life, next[a.life][e]
	if seesLife != nil {
		seesLife(from, e, to)
	}
	// Late news, or, without the tests, something that was never seen: nothing changes.
	if to == from || to == lives {
		return false
	}
	// The only place that changes it, and always under mu.
	a.life = to
	return true
}

// serves reports whether messages in the mailbox are handled, if only those that handlers in progress
// wait for. The caller holds a.mu.
func (a *actor) serves() bool { return a.life == alive || a.life == restarting }

// refuses reports whether no message is accepted any more. The caller holds a.mu.
func (a *actor) refuses() bool { return a.life >= stopping || a.draining }

// over reports whether the actor has ended, though its supervisor may not have been told yet. The caller holds a.mu.
func (a *actor) over() bool { return a.life >= ended }

// isDown reports whether there is no incarnation, and will be one. The caller holds a.mu.
func (a *actor) isDown() bool { return a.life == down || a.life == rising }

// ends reports whether the children are being ended. The caller holds a.mu.
func (a *actor) ends() bool { return a.life == falling || a.life == leaving }

// between reports whether the actor has no incarnation, or one that has to end and takes no message
// before that, and will have another one. The caller holds a.mu.
func (a *actor) between() bool {
	switch a.life {
	case failed, falling, down, rising:
		return true
	case starting, restarting:
		// Taken down while it starts, or with its last handler gone: nothing more is handled before
		// the next incarnation.
		return a.awaited && a.atRest()
	}
	return false
}

// due reports whether a step of the actor's life comes before its messages. The caller holds a.mu.
func (a *actor) due() bool {
	switch a.life {
	case restarting, failed, rising, stopping:
		// These states exist only to be left by a step.
		return true
	case falling, leaving:
		return a.nudged // a child has ended
	case alive:
		// An actor that lives has a step to take when a child has to be looked at (it is a
		// supervisor), or when Stop has been called and the last message was handled.
		return a.nudged || a.draining && a.spent()
	}
	return false
}

// String returns the state in one word, for Info.
func (l life) String() string {
	return [...]string{"starting", "alive", "restarting", "failed", "falling", "down", "rising", "stopping", "leaving", "ended", "gone", "?"}[l]
}

// is reports what, a function for a caller that holds a.mu, says.
func (a *actor) is(what func(*actor) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return what(a)
}

// spent reports whether no messages wait but stashed ones. The caller holds a.mu.
func (a *actor) spent() bool {
	// Stashed ones wait too, but no handler will ask for them any more: they become dead
	// letters.
	n := a.waits()
	if n == 0 || a.x == nil {
		return n == 0
	}
	// One by one, as their number is needed nowhere else.
	for e := a.x.stash.first; e != nil; e = e.next {
		n--
	}
	return n == 0
}

// isAwaited reports whether the supervisor waits for the end of the actor's incarnation. The caller holds
// a.mu, as those of the next two do.
func (a *actor) isAwaited() bool { return a.awaited }

// inGroup reports whether a is down, and is restarted together with siblings.
func (a *actor) inGroup() bool { return a.isDown() && a.x.restartsInGroup }

// inLine reports whether its supervisor still has to start a, after older siblings: a is in a
// group, and its start has not been requested. (It may have been, if a sibling has failed since.)
func (a *actor) inLine() bool { return a.x != nil && a.x.restartsInGroup && a.life != rising }

// atRest reports whether no handler but the one with the turn is in progress. The
// caller holds a.mu.
func (a *actor) atRest() bool { return a.x == nil || a.x.readers == 0 && a.x.suspended == 0 }
