package schedtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// inUse: not user code fails, but the ticket of the new tenant's task is in use.
const inUse callback = "a ticket in use"

// arrivals are the ways in which a tenant comes.
var arrivals = map[string]func(s anySched, ctx context.Context, k any, tk *firq.Ticket) error{
	"Enqueue": func(s anySched, _ context.Context, k any, tk *firq.Ticket) error {
		return s.Enqueue(k, firq.Task[int]{Ticket: tk})
	},
	"EnqueueWait": func(s anySched, ctx context.Context, k any, tk *firq.Ticket) error {
		return s.EnqueueWait(ctx, k, firq.Task[int]{Ticket: tk})
	},
	"EnqueueBatch": func(s anySched, _ context.Context, k any, tk *firq.Ticket) error {
		_, err := s.EnqueueBatch(k, []firq.Task[int]{{Ticket: tk}, {}})
		return err
	},
}

// panicNewcomers: more new tenants than MaxTenants call, one after the other, and each call
// ends in user code that fails. None of them may take up a place for good: afterwards
// MaxTenants other tenants are let in, and later all are forgotten.
func panicNewcomers(t *testing.T, newSched anyMaker) {
	for _, where := range []callback{inQuantumFor, inBackpressureFor, onExpired, key, inUse} {
		for _, how := range ways {
			if (where == key || where == inUse) && how.name != "a runtime error" {
				continue // there is no other way
			}
			for arrival, arrive := range arrivals {
				for _, shards := range []int{1, 4} {
					t.Run(fmt.Sprintf("%s/%s/%s/shards=%d", arrival, where, how.name, shards), func(t *testing.T) {
						guardFor(t, panicLimit, func() {
							synctest.Test(t, func(t *testing.T) {
								c := newcomers{t: t, where: where, how: how}
								c.open(newSched, shards)
								asks := where != inBackpressureFor || arrival != "EnqueueWait"
								c.come(arrive, asks)
								c.leave()
							})
						})
					})
				}
			}
		}
	}
}

// newcomers is one case of panicNewcomers.
type newcomers struct {
	t      *testing.T
	s      anySched
	where  callback
	how    way
	armed  bool
	sprung int
	ticket firq.Ticket // of a task that is queued
}

// newcomersMost is MaxTenants.
const newcomersMost = 3

func (c *newcomers) open(newSched anyMaker, shards int) {
	step := func(at callback) {
		if c.armed && at == c.where {
			c.sprung++
			c.how.fail()
		}
	}
	c.s = openAny(c.t, newSched, anyConfig{
		Shards: shards, MaxTenants: newcomersMost, TenantIdle: time.Minute,
		QuantumFor:      func(any) int64 { step(inQuantumFor); return 1 },
		BackpressureFor: func(any) firq.Backpressure { step(inBackpressureFor); return firq.Backpressure{} },
		OnDrop:          func(any, int, firq.DropReason) { step(onExpired) },
	})
}

// come makes the calls of new tenants. asks says that the call runs the callback that
// fails, so that it does not return.
func (c *newcomers) come(arrive func(anySched, context.Context, any, *firq.Ticket) error, asks bool) {
	switch c.where {
	case inBackpressureFor, onExpired: // there are as many as may be
		for i := range newcomersMost {
			c.admit(fmt.Sprint("old ", i), firq.Task[int]{Deadline: time.Now().Add(time.Second)})
		}
	case inUse:
		c.admit("old", firq.Task[int]{Ticket: &c.ticket})
	}
	if c.where == onExpired {
		time.Sleep(time.Minute / 2)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	c.armed = true
	for i := range 3 * newcomersMost {
		k, tk := any(fmt.Sprint("new ", i)), new(firq.Ticket)
		switch c.where {
		case key:
			k = []int{i}
		case inUse:
			tk = &c.ticket
		}
		var err error
		before := c.sprung
		call := outcomeOf(func() { err = arrive(c.s, ctx, k, tk) })
		if failed := c.sprung > before || c.where == key; failed == call.returned {
			c.t.Errorf("call %d: %+v", i, call)
		}
		if c.where == inUse && !errors.Is(err, firq.ErrInvalidTask) {
			c.t.Errorf("call %d, with a ticket in use: %v", i, err)
		}
	}
	c.armed = false
	if user := c.where != key && c.where != inUse && asks; user != (c.sprung > 0) {
		c.t.Errorf("%s was called %d times", c.where, c.sprung)
	}
}

func (c *newcomers) admit(k any, x firq.Task[int]) {
	c.t.Helper()
	if err := c.s.Enqueue(k, x); err != nil {
		c.t.Errorf("%v: %v", k, err)
	}
}

// leave checks that nothing is left of the tenants that came.
func (c *newcomers) leave() {
	for _, when := range []string{"right away", "later"} {
		for ok := true; ok; {
			_, ok = c.s.TryDequeue()
		}
		if when == "later" {
			time.Sleep(10 * time.Minute)
			if n := c.s.Stats().Tenants; n != 0 {
				c.t.Errorf("%d tenants are not forgotten", n)
			}
		}
		for i := range newcomersMost {
			c.admit(fmt.Sprint(when, i), firq.Task[int]{})
		}
		if err := c.s.Enqueue("one too many", firq.Task[int]{}); !errors.Is(err, firq.ErrTooManyTenants) {
			c.t.Errorf("%s: one tenant too many: %v", when, err)
		}
	}
}
