package actor_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/firq-go/firq/actor"
)

type Counter struct{ n int }

func (k *Counter) Add(_ *actor.Ctx, by int) (int, error) { k.n += by; return k.n, nil }

var Add = actor.NewMethod("Add", (*Counter).Add)

// A counter: tell it to add, then ask for its value.
func Example() {
	ctx := context.Background()
	s, err := actor.New(actor.Config{})
	if err != nil {
		panic(err)
	}
	visits, err := actor.Spawn(s, "visits", actor.Value(&Counter{}))
	if err != nil {
		panic(err)
	}
	_ = Add.Tell(ctx, visits, 1)
	fmt.Println(Add.Call(ctx, visits, 2))
	fmt.Println(s.Shutdown(ctx))
	// Output:
	// 3 <nil>
	// <nil>
}

type Clerk struct{ jobs int }

func (k *Clerk) Do(_ *actor.Ctx, job int) (int, error) {
	if job == 13 {
		panic("unlucky")
	}
	k.jobs++
	return k.jobs, nil
}

var Do = actor.NewMethod("Do", (*Clerk).Do)

// A supervised worker: the caller gets the panic, and the next message gets a new state.
func ExampleSupervise() {
	ctx := context.Background()
	s, _ := actor.New(actor.Config{})
	defer s.Close()
	sup, _ := actor.Supervise(s, "office", actor.Supervision{})
	clerk, _ := actor.Spawn(sup, "clerk", func(*actor.Ctx) (*Clerk, error) { return &Clerk{}, nil })
	fmt.Println(Do.Call(ctx, clerk, 1))
	_, err := Do.Call(ctx, clerk, 13)
	fmt.Println(err, errors.Is(err, actor.ErrPanicked))
	fmt.Println(Do.Call(ctx, clerk, 2))
	// Output:
	// 1 <nil>
	// actor: panicked: unlucky true
	// 1 <nil>
}

type Account struct{ other actor.Ref[*Account] }

var Ask *actor.Method[*Account, int, int]

func init() { // because the handler uses the handle
	Ask = actor.NewMethod("Ask", func(a *Account, c *actor.Ctx, n int) (int, error) {
		return Ask.Call(c, a.other, n+1)
	})
}

// Two actors that call each other: the error comes immediately.
func ExampleDeadlockError() {
	s, _ := actor.New(actor.Config{})
	defer s.Close()
	ann, bob := &Account{}, &Account{}
	a, _ := actor.Spawn(s, "ann", actor.Value(ann))
	b, _ := actor.Spawn(s, "bob", actor.Value(bob))
	ann.other, bob.other = b, a
	_, err := Ask.Call(context.Background(), a, 0)
	fmt.Println(err)
	// Output: actor: deadlock: ann -> bob -> ann
}
