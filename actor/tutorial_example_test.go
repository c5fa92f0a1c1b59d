package actor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/actor"
)

type Wallet struct{ balance int }

func (w *Wallet) Move(_ *actor.Ctx, by int) (int, error) { w.balance += by; return w.balance, nil }

var Move = actor.NewMethod("Move", (*Wallet).Move)

type Teller struct{}

type Transfer struct {
	From, To actor.Ref[*Wallet]
	Amount   int
}

func (Teller) Transfer(c *actor.Ctx, x Transfer) (int, error) {
	if _, err := Move.Call(c, x.From, -x.Amount); err != nil {
		return 0, err
	}
	return Move.Call(c, x.To, x.Amount)
}

var Pay = actor.NewMethod("Transfer", Teller.Transfer)

func load(_ context.Context, _ int) (*Wallet, error) { return &Wallet{balance: 100}, nil }

// The tutorial of docs/actors.md: calls, actors that call actors, supervision, actors by key, the end.
func Example_tutorial() {
	ctx := context.Background()
	sys, err := actor.New(actor.Config{}) // one per process
	if err != nil {
		panic(err)
	}
	visits, err := actor.Spawn(sys, "visits", func(*actor.Ctx) (*Counter, error) { return &Counter{}, nil })
	if err != nil {
		panic(err)
	}

	n, err := Add.Call(ctx, visits, 2) // waits for the reply
	fmt.Println(n, err)
	err = Add.Tell(ctx, visits, 1) // does not wait
	fmt.Println(err)
	f := Add.Start(ctx, visits, 1) // start several calls ...
	n, err = f.Wait(ctx)           // ... and wait for their replies later
	fmt.Println(n, err)

	sup, err := actor.Supervise(sys, "wallets", actor.Supervision{Backoff: 100 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	ann, err := actor.Spawn(sup, "ann", func(c *actor.Ctx) (*Wallet, error) { return load(c, 7) })
	if err != nil {
		panic(err)
	}
	bob, err := actor.Spawn(sup, "bob", func(c *actor.Ctx) (*Wallet, error) { return load(c, 8) })
	if err != nil {
		panic(err)
	}

	teller, err := actor.Spawn(sys, "teller", actor.Value(Teller{}))
	if err != nil {
		panic(err)
	}
	n, err = Pay.Call(ctx, teller, Transfer{From: ann, To: bob, Amount: 30})
	fmt.Println(n, err)

	users, err := actor.NewKind(sys, "user", func(*actor.Ctx, string) (*Counter, error) { return &Counter{}, nil },
		actor.WithIdle(time.Minute))
	if err != nil {
		panic(err)
	}

	n, err = Add.Call(ctx, users.Ref("7"), 1) // starts user/7, if it is not there
	fmt.Println(n, err)

	err = sys.Shutdown(ctx) // no new messages from outside; handles what is in the mailboxes; children end before parents
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// <nil>
	// 4 <nil>
	// 130 <nil>
	// 1 <nil>
	// <nil>
}

type Clock struct{ ticks int }

func (k *Clock) tick(c *actor.Ctx, _ actor.Nothing) error {
	k.ticks++
	Tick.After(c, time.Second, actor.Nothing{})
	return nil
}

var Tick *actor.Method[*Clock, actor.Nothing, actor.Nothing]

func init() { Tick = actor.NewAction("Tick", (*Clock).tick) }
