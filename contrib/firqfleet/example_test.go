package firqfleet_test

import (
	"context"
	"fmt"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/contrib/firqfleet/embedded"
	"github.com/firq-go/firq/gate"
)

// Two slots of the whole fleet, on a server in this process. A service passes its own Client to firqfleet.New.
func Example() {
	ctx := context.Background()
	g, err := embedded.New(ctx, 2, firqfleet.Config{Name: "api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Close() }()
	p, err := g.Acquire(ctx, "alice", gate.Request{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Release()
	fmt.Println(g.Limit(), g.InUse())
	// Output: 2 1
}
