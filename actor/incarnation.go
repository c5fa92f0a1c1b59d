package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// setInGroup notes whether a is restarted in a group of siblings, one by one.
func (a *actor) setInGroup(yes bool) {
	a.mu.Lock()
	a.extra().restartsInGroup = yes
	a.mu.Unlock()
}

func (a *actor) lifeNow() life {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life
}

// endIncarnation ends the incarnation of a child that is to be restarted. A child that gets no
// other incarnation ends permanently.
func (a *actor) endIncarnation(why error) {
	failpoint.At("take down")
	a.mu.Lock()
	if !a.again() {
		a.restarting = true // siblings wait for its end
		a.mu.Unlock()
		a.terminate(why)
		a.unwait()
		return
	}
	a.recall()
	a.restarting, a.extra().final = true, why
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
	a.x.startRequested = a.life == down
	wake := a.wake()
	a.mu.Unlock()
	if wake {
		a.schedule(nil)
	}
}
