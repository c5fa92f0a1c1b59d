package actor

import (
	"errors"
	"math/rand/v2"
)

// ways are the ways in which a handler can wait for another actor's handler of f, and hear what
// has become of it.
var ways = []func(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error{
	wayCall, wayFuture, wayStart, wayFailedStart, wayStop,
}

func wayCall(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error {
	_, err := m.Call(c, to, f)
	return err
}

func wayFuture(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error {
	_, err := m.Start(c, to, f).Wait(c)
	return err
}

// wayStart: the start of an actor makes the call.
func wayStart(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error {
	r, err := Spawn(c, "", func(c *Ctx) (*box, error) { return &box{}, wayCall(c, m, to, f) })
	r.Kill()
	return err
}

// wayFailedStart: a child of an actor whose start fails makes the call.
func wayFailedStart(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error {
	var got error
	_, err := Spawn(c, "", func(c *Ctx) (*box, error) {
		if _, err := childThatCalls(c, m, to, f, &got); err != nil {
			return nil, err
		}
		return nil, errStart
	})
	if errors.Is(err, errStart) {
		return got
	}
	return err
}

// wayStop: an actor that is stopped, or a child of it, makes the call.
func wayStop(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job) error {
	var got error
	var r Ref[*box]
	var err error
	if rand.IntN(2) == 0 {
		r, err = childThatCalls(c, m, to, f, &got)
	} else {
		r, err = Spawn(c, "", func(c *Ctx) (*box, error) {
			_, err := childThatCalls(c, m, to, f, &got)
			return &box{}, err
		}, WithReentrancy(Reentrancy(rand.IntN(3))))
	}
	if err != nil {
		return err
	}
	if err := r.Stop(c); err != nil {
		return err
	}
	return got
}

// childThatCalls starts an actor whose handler makes the call, and returns once the handler runs.
func childThatCalls(c *Ctx, m *Method[*box, job, any], to Ref[*box], f job, got *error) (Ref[*box], error) {
	r, err := Spawn(c, "", fresh, WithReentrancy(Reentrancy(rand.IntN(3))))
	if err != nil {
		return r, err
	}
	begun := make(chan bool)
	err = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) {
		close(begun)
		*got = wayCall(c, m, to, f)
		return nil, nil
	})
	if err != nil {
		return r, err
	}
	return r, c.Await(func() error { <-begun; return nil })
}
