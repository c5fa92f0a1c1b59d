//go:build firq_failpoints

package actor

import (
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// mailboxPlays are about a message on its way into a mailbox and out of it.
var mailboxPlays = map[string]play{
	"two senders": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.rest()
		sc.inOrder(1, 2)
		if sc.count("handled") != 3 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"one message a turn": {3, func(sc *scene) {
		sc.build(1, Config{Throughput: 1})
		r := sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.end()
	}},
	"a batch and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.backlog(r, 5)
		sc.goes("kill", func() {
			r.Kill()
			began := len(sc.order)
			failpoint.At("killed")
			if len(sc.order) > began+1 { // the one in progress may have been before its first mark
				sc.Errorf("%d and %d were handled after Kill", sc.order[began], sc.order[began+1])
			}
		})
		sc.rest()
		sc.inOrder(1, 2, 3, 4, 5)
		sc.end()
	}},
	"a batch and one that is urgent": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.backlog(r, 5)
		sc.goes("urgent", func() {
			sc.tell(urgent, r, 9)
			began := len(sc.order)
			failpoint.At("sent")
			if len(sc.order) > began+2 && sc.order[began] != 9 && sc.order[began+1] != 9 {
				sc.Errorf("%v: 9 was sent when %d had begun", sc.order, began)
			}
		})
		sc.rest()
		sc.inOrder(1, 2, 3, 4, 5)
		sc.end()
	}},
	"a batch and the limit": {2, func(sc *scene) {
		sc.build(1, Config{Mailbox: Mailbox{Limit: 5}})
		r := sc.actor(sc.s, nil)
		sc.backlog(r, 5)
		sc.goes("sender", func() {
			for n := 6; n < 8; n++ {
				sc.tell(tell, r, n)
				if waits := len(sc.accepted) - len(sc.order); waits > 5+1 { // one may have begun, before its first line
					sc.Errorf("%d wait", waits)
				}
				if l := r.Len(); l > 5 {
					sc.Errorf("Len is %d", l)
				}
			}
		})
		sc.end()
	}},
	"a batch and a failure": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, func(_ *prop, _ *Ctx, n int) (int, error) {
			if n == 4 {
				panic(n)
			}
			return n, nil
		})
		sc.backlog(r, 5)
		sc.sends("sender", tell, r, 6)
		sc.rest()
		if sc.ends[5] != "a dead letter" {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"the oldest is dropped": {2, func(sc *scene) {
		sc.build(1, Config{Mailbox: Mailbox{1, firq.Backpressure{Policy: firq.DropOldest}}})
		r := sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.rest()
		if len(sc.accepted) != 3 {
			sc.Errorf("%v were accepted", sc.accepted)
		}
		sc.inOrder(1, 2)
		sc.end()
	}},
	"room that is waited for": {2, func(sc *scene) {
		sc.build(1, Config{Mailbox: Mailbox{1, firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}})
		r := sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.rest()
		if sc.count("handled") != 3 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"room that is waited for in vain": {2, func(sc *scene) {
		sc.build(1, Config{Mailbox: Mailbox{1, firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}})
		r := sc.actor(sc.s, nil)
		sc.backlog(r, 2) // the first one leaves its place in the mailbox as soon as it runs
		sc.sends("sender", tell, r, 3)
		sc.goes("kill", r.Kill)
		sc.end()
	}},
	"readers and a writer": {1, func(sc *scene) {
		sc.build(2, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("reader", reads, r, 1)
		sc.sends("another", reads, r, 2)
		sc.sends("writer", tell, r, 3)
		sc.end()
	}},
	"stash": {2, func(sc *scene) {
		sc.build(1, Config{})
		tries := 0
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			switch {
			case n == 1 && tries == 0:
				tries++
				delete(sc.ends, 1)
				c.Stash()
			case n > 1:
				c.Unstash()
			}
			return n, nil
		})
		sc.sends("stash", tell, r, 1)
		sc.sends("unstash", tell, r, 2)
		sc.Run()
		sc.tell(tell, r, 3)
		sc.rest()
		if tries != 1 || sc.ends[1] != "handled" {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
}

// backlog tells r n messages before the play begins.
func (sc *scene) backlog(r Ref[*prop], n int) {
	for i := range n {
		sc.tell(tell, r, i+1)
	}
}
