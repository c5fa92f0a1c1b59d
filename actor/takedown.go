package actor

import "github.com/firq-go/firq/internal/proof/failpoint"

// together says whether a is restarted with siblings, one by one.
func (a *actor) together(yes bool) {
	a.mu.Lock()
	a.extra().together = yes
	a.mu.Unlock()
}

func (a *actor) lifeNow() life {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life
}

// takeDown ends the incarnation of a child. A child that gets no other ends permanently.
func (a *actor) takeDown(why error) {
	failpoint.At("take down")
	a.mu.Lock()
	if !a.again() {
		a.recycle = true // others wait for its end
		a.mu.Unlock()
		a.doom(why)
		a.unwait()
		return
	}
	a.recall()
	a.recycle, a.extra().final = true, why
	a.sortRoom()
	wake := a.wake()
	a.mu.Unlock()
	a.unwait()
	if wake {
		a.schedule(nil)
	}
}

// raise lets a child that is down have its next incarnation.
func (a *actor) raise() {
	failpoint.At("raise")
	a.mu.Lock()
	a.x.goUp = a.life == down
	wake := a.wake()
	a.mu.Unlock()
	if wake {
		a.schedule(nil)
	}
}
