package firqnats_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// Cart is the state of an actor, and what of it is saved.
type Cart struct {
	saved *firqnats.State[map[string]int]
}

func (k *Cart) add(c *actor.Ctx, article string) (int, error) {
	if k.saved.Value == nil {
		k.saved.Value = map[string]int{}
	}
	k.saved.Value[article]++
	return k.saved.Value[article], k.saved.Save(c) // the reply goes out once it is saved
}

var Add = actor.NewMethod("Add", (*Cart).add)

// open makes this process a node with carts. leave is for its end, as when SIGTERM comes.
func open(ctx context.Context, url string) (carts *firqnats.Kind[*Cart], leave func(context.Context) error, err error) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1)) // the server may be away for any time
	if err != nil {
		return nil, nil, err
	}
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, nil, err
	}
	node, err := firqnats.Join(ctx, nc, sys, firqnats.Options{})
	if err != nil {
		return nil, nil, err
	}
	carts, err = firqnats.NewKind(node, "cart", func(c *actor.Ctx, key string) (*Cart, error) {
		saved, err := firqnats.Load[map[string]int](c)
		return &Cart{saved}, err
	}, []actor.AnyMethod[*Cart]{Add}, actor.WithIdle(10*time.Minute))
	leave = func(ctx context.Context) error {
		err := node.Leave(ctx) // the others take over, and lose nothing
		nc.Close()
		return errors.Join(err, sys.Close())
	}
	return carts, leave, err
}

// Two nodes share the carts. One leaves, and the cart goes on with the other.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := embedded.Start(embedded.Options{Port: -1}) // instead of nats-server, in a test
	if err != nil {
		panic(err)
	}
	defer server.Close()

	carts, leave, err := open(ctx, server.URL())
	if err != nil {
		panic(err)
	}
	others, end, err := open(ctx, server.URL())
	if err != nil {
		panic(err)
	}
	defer func() { _ = end(ctx) }()

	fmt.Println(Add.Call(ctx, carts.Ref("ann"), "book")) // on whichever node the cart is
	fmt.Println(Add.Call(ctx, others.Ref("ann"), "book"))
	if err := leave(ctx); err != nil {
		panic(err)
	}
	fmt.Println(Add.Call(ctx, others.Ref("ann"), "book"))
	_, err = Add.Call(ctx, carts.Ref("ann"), "book")
	fmt.Println(errors.Is(err, actor.ErrNotSent), err)
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
	// true actor: stopped
}
