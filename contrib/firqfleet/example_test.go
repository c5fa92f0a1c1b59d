package firqfleet_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/contrib/firqfleet/embedded"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
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

// A service whose processes serve 64 requests at a time, all together.
func ExampleNew() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	g, err := firqfleet.New(ctx, 64, firqfleet.Config{Client: client, Name: "api"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = g.Close() }()

	fair := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.APIKey()}) // or firqgrpc.New, or g.Acquire
	log.Print(http.ListenAndServe("localhost:8080", fair.Handler(http.DefaultServeMux)))
}

// Requests and tokens per second, in all processes together, before the gate.
func ExampleNewRate() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	g := gate.New(64, gate.Config[string]{})
	estimate := func(*http.Request) int64 { return 500 }

	tokens, err := firqfleet.NewRate(firqfleet.RateConfig{Client: client, Name: "tokens", Limit: rate.Limit{PerSecond: 1000, Burst: 50_000}})
	if err != nil {
		log.Fatal(err)
	}

	requests, err := firqfleet.NewRate(firqfleet.RateConfig{Client: client, Name: "requests", Limit: rate.Limit{PerSecond: 10}})
	if err != nil {
		log.Fatal(err)
	}

	fair := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.APIKey(), Cost: estimate, Rate: rate.All(rate.Count[string](requests), tokens)})
	log.Print(http.ListenAndServe("localhost:8080", fair.Handler(http.DefaultServeMux)))
}
