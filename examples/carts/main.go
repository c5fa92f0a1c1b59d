// Carts keeps shopping carts in three processes, and kills one of them with SIGKILL.
//
//	go run ./examples/carts
//
// A cart is an actor of contrib/firqnats: it is in one of the processes, and is saved before it answers.
// Customers put articles into their carts. While they do, a process is killed. Its carts start again in the
// other processes, from what was saved, as soon as its lease is over. A customer whose call has got lost cannot know
// whether the article is in the cart, so it sends it again, with the same number, and the cart knows which
// numbers it has. In the end all processes are killed, and a new one reads the carts: each has every
// article that was acknowledged, once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
	"github.com/firq-go/firq/examples/internal/nodes"
)

func main() {
	var s shop
	url := flag.String(nodes.Flag[1:], "", "be a node of the cluster at this `URL`; the program starts itself with it")
	flag.IntVar(&s.carts, "carts", 24, "carts, one for each customer")
	flag.IntVar(&s.articles, "articles", 300, "articles that each customer puts into its cart")
	flag.Parse()
	err := error(nil)
	if *url != "" {
		err = nodes.Serve(*url, func(n *firqnats.Node) error { _, err := kind(n); return err })
	} else {
		err = s.play(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "carts:", err)
		os.Exit(1)
	}
}

// content of a cart.
type content struct {
	Last     int // number of the article that came last
	Articles map[string]int
}

type cart struct{ saved *firqnats.State[content] }

// article has a number: 1, 2 and so on in each cart.
type article struct {
	Number int
	Name   string
}

func (k *cart) put(c *actor.Ctx, a article) (actor.Nothing, error) {
	in := &k.saved.Value
	if a.Number <= in.Last {
		return actor.Nothing{}, nil // it is in the cart: only the answer was lost
	}
	if in.Articles == nil {
		in.Articles = map[string]int{}
	}
	in.Last = a.Number
	in.Articles[a.Name]++
	return actor.Nothing{}, k.saved.Save(c)
}

func (k *cart) count(*actor.Ctx, actor.Nothing) (sum int, err error) {
	for _, n := range k.saved.Value.Articles {
		sum += n
	}
	return sum, nil
}

var (
	put   = actor.NewMethod("Put", (*cart).put)
	count = actor.NewMethod("Count", (*cart).count)
)

func kind(n *firqnats.Node) (*firqnats.Kind[*cart], error) {
	return firqnats.NewKind(n, "cart", func(c *actor.Ctx, _ string) (*cart, error) {
		saved, err := firqnats.Load[content](c)
		return &cart{saved}, err
	}, []actor.AnyMethod[*cart]{put, count})
}

const processes = 3

type shop struct {
	carts, articles int

	acknowledged, repeated atomic.Int64
	longest                atomic.Int64 // ns from the first try to the answer
}

// play runs a server and the customers here, and the carts in other processes.
func (s *shop) play(ctx context.Context, w io.Writer) (err error) {
	server, err := embedded.Start(embedded.Options{Port: -1})
	if err != nil {
		return err
	}
	defer server.Close()
	var running []*nodes.Process
	defer func() {
		for _, p := range running {
			err = errors.Join(err, p.Kill())
		}
	}()
	start := func() error {
		p, err := nodes.Start(ctx, server.URL())
		if err == nil {
			running = append(running, p)
		}
		return err
	}
	for range processes {
		if err := start(); err != nil {
			return err
		}
	}
	node, leave, err := nodes.Join(ctx, server.URL(), firqnats.Options{Client: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	carts, err := kind(node)
	if err != nil {
		return err
	}
	half := make(chan struct{}) // of all articles are in the carts
	failed := make(chan error, s.carts)
	var customers sync.WaitGroup
	for i := range s.carts {
		customers.Go(func() { failed <- s.buy(ctx, carts.Ref(fmt.Sprint("cart-", i)), half) })
	}
	over := make(chan struct{})
	go func() { customers.Wait(); close(over) }()
	select {
	case <-half:
	case <-over: // they have failed
	}
	if err := running[0].Kill(); err != nil {
		return err
	}
	<-over
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	for _, p := range running {
		if err := p.Kill(); err != nil {
			return err
		}
	}
	if err := start(); err != nil {
		return err
	}
	return s.report(ctx, w, carts)
}

// buy is what a customer does.
func (s *shop) buy(ctx context.Context, cart actor.Ref[*cart], half chan struct{}) error {
	for i := range s.articles {
		began := time.Now()
		for {
			err := s.try(ctx, cart, article{i + 1, fmt.Sprint("article-", i%7)})
			if err == nil {
				break
			}
			if !errors.Is(err, actor.ErrNotSent) && !errors.Is(err, firqnats.ErrLost) && !errors.Is(err, firqnats.ErrUnsaved) {
				return err
			}
			s.repeated.Add(1)
		}
		took := int64(time.Since(began))
		for l := s.longest.Load(); took > l && !s.longest.CompareAndSwap(l, took); l = s.longest.Load() {
		}
		if s.acknowledged.Add(1) == int64(s.carts*s.articles/2) {
			close(half)
		}
	}
	return nil
}

func (s *shop) try(ctx context.Context, cart actor.Ref[*cart], a article) error {
	ctx, end := context.WithTimeout(ctx, 30*time.Second)
	defer end()
	_, err := put.Call(ctx, cart, a)
	return err
}

// report reads all carts.
func (s *shop) report(ctx context.Context, w io.Writer, carts *firqnats.Kind[*cart]) error {
	ctx, end := context.WithTimeout(ctx, 30*time.Second)
	defer end()
	sum := 0
	for i := range s.carts {
		n, err := count.Call(ctx, carts.Ref(fmt.Sprint("cart-", i)), actor.Nothing{})
		if err != nil {
			return err
		}
		sum += n
	}
	_, err := fmt.Fprintf(w, "%d carts in %d processes, one of which was killed with SIGKILL\n"+
		"  %d articles were acknowledged; %d calls were sent again; the longest wait was %v (the lease is %v)\n"+
		"  then all processes were killed, and a new one finds %d articles\n",
		s.carts, processes, s.acknowledged.Load(), s.repeated.Load(), time.Duration(s.longest.Load()).Round(time.Millisecond), nodes.Lease, sum)
	return err
}
