package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// setInGroup notes whether a is restarted in a group of siblings, one by one.
func (a *actor) setInGroup(yes bool) {
	a.mu.Lock()
	a.extra().restartsInGroup = yes
	a.mu.Unlock()
}

// lifeNow is life for who does not hold a.mu.
func (a *actor) lifeNow() life {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life
}

// hasNone is isDown for a caller without a.mu.
func (a *actor) hasNone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isDown()
}

// endIncarnation ends the incarnation of a child that is to be restarted. A child that gets no
// other incarnation ends permanently.
func (a *actor) endIncarnation(why error) {
	failpoint.At("take down")
	a.mu.Lock()
	if a.life == down { // it has just come down, and its supervisor hears of that
		a.mu.Unlock()
		return
	}
	a.awaited = true
	if !a.again() {
		a.mu.Unlock()
		a.terminate(why)
		a.unwait()
		return
	}
	a.recall()
	a.on(takenDown)
	a.extra().takenDownFor = why
	a.sortRoom()
	wake := a.wake()
	a.mu.Unlock()
	a.unwait()
	if wake {
		a.schedule(nil)
	}
}

// requestStart lets a child that is down start its next incarnation.
func (a *actor) requestStart() {
	failpoint.At("raise")
	a.mu.Lock()
	a.on(wanted)
	wake := a.wake()
	a.mu.Unlock()
	if wake {
		a.schedule(nil)
	}
}
