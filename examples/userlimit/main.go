// Userlimit is a rate limiter per user, in which each user is an actor of a Kind. The actor is
// started by the user's first request, counts only that user's requests, and ends when the user has
// been quiet for a while. There is no clean-up, and users share no lock.
//
//	go run ./examples/userlimit
//	go run ./examples/userlimit -listen 127.0.0.1:8080   # /allow?user=me; / lists who is there
//
// It ends by itself, or with -listen when you interrupt it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/firq-go/firq/actor"
)

type limits struct {
	users, requests, burst int
	rate                   float64
	idle                   time.Duration
}

func main() {
	var l limits
	flag.IntVar(&l.users, "users", 1000, "users")
	flag.IntVar(&l.requests, "requests", 50_000, "requests, half of them from the first user")
	flag.IntVar(&l.burst, "burst", 10, "requests that a user may make in one burst")
	flag.Float64Var(&l.rate, "rate", 20, "requests per second that a user may make in the long run")
	flag.DurationVar(&l.idle, "idle", 200*time.Millisecond, "how long a user's actor stays when nothing comes")
	listen := flag.String("listen", "", "serve here, instead of playing load: /allow?user=NAME, and / with the users that are there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	if *listen != "" {
		err = l.serve(ctx, *listen, os.Stdout)
	} else {
		err = l.play(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "userlimit:", err)
		os.Exit(1)
	}
}

// bucket is the state of a user: a token bucket.
type bucket struct {
	limits
	tokens float64
	last   time.Time
}

func (b *bucket) allow(*actor.Ctx, actor.Nothing) (bool, error) {
	now := time.Now()
	b.tokens = min(float64(b.burst), b.tokens+b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.tokens < 1 {
		return false, nil
	}
	b.tokens--
	return true, nil
}

var allow = actor.NewMethod("Allow", (*bucket).allow)

// limiter keeps no list of users: the system does.
type limiter struct {
	sys   *actor.System
	users *actor.Kind[*bucket]
}

func (l limits) limiter() (*limiter, error) {
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, err
	}
	full := func(*actor.Ctx, string) (*bucket, error) {
		return &bucket{limits: l, tokens: float64(l.burst), last: time.Now()}, nil
	}
	users, err := actor.NewKind(sys, "user", full, actor.WithIdle(l.idle))
	return &limiter{sys, users}, err
}

// allow asks the user's actor.
func (l *limiter) allow(ctx context.Context, user string) (bool, error) {
	return allow.Call(ctx, l.users.Ref(user), actor.Nothing{})
}

func (l limits) play(ctx context.Context, w io.Writer) error {
	lim, err := l.limiter()
	if err != nil {
		return err
	}
	sys := lim.sys
	defer func() { _ = sys.Close() }()
	type count struct{ asked, allowed int }
	var mu sync.Mutex
	var first, others count
	var wrong error
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range l.requests / 8 {
				user := 0
				if rand.IntN(2) == 0 {
					user = 1 + rand.IntN(l.users)
				}
				yes, err := lim.allow(ctx, strconv.Itoa(user))
				mu.Lock()
				to := &others
				if user == 0 {
					to = &first
				}
				to.asked++
				if yes {
					to.allowed++
				}
				wrong = errors.Join(wrong, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if wrong != nil {
		return wrong
	}
	alive := sys.Stats().Actors
	for sys.Stats().Actors > 0 {
		time.Sleep(l.idle / 10)
	}
	_, err = fmt.Fprintf(w, "the first user: %d requests, %d allowed\nall others:     %d requests, %d allowed\n"+
		"actors: %d at the end, 0 a while later\n", first.asked, first.allowed, others.asked, others.allowed, alive)
	return err
}
