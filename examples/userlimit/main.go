// Userlimit is a rate limiter per user, in which each user is an actor. The actor is made when
// the user comes, counts only that user's requests, and ends by itself when the user has been
// quiet for a while. There is no clean-up, and users share no lock.
//
//	go run ./examples/userlimit
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
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
	flag.Parse()
	if err := l.play(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "userlimit:", err)
		os.Exit(1)
	}
}

// bucket is the state of a user: a token bucket.
type bucket struct {
	limits
	tokens float64
	last   time.Time
	quiet  *actor.Timer
}

func (b *bucket) allow(c *actor.Ctx, _ struct{}) (bool, error) {
	now := time.Now()
	b.tokens = min(float64(b.burst), b.tokens+b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.quiet != nil {
		b.quiet.Stop()
	}
	b.quiet = leave.After(c, b.idle, struct{}{})
	if b.tokens < 1 {
		return false, nil
	}
	b.tokens--
	return true, nil
}

func (b *bucket) leave(c *actor.Ctx, _ struct{}) error {
	c.Stop(nil)
	return nil
}

var (
	allow = actor.NewMethod("Allow", (*bucket).allow)
	leave *actor.Method[*bucket, struct{}, struct{}] // allow uses it
)

func init() { leave = actor.NewAction("Leave", (*bucket).leave) }

// limiter keeps no list of users: the system does.
type limiter struct {
	sys *actor.System
	limits
}

// allow asks the user's actor, and makes it if there is none. If the actor has just left, or
// another caller is making it, allow looks it up again.
func (l limiter) allow(ctx context.Context, user string) (bool, error) {
	for {
		r, ok := actor.Lookup[*bucket](l.sys, user)
		if !ok {
			var err error
			r, err = actor.Spawn(l.sys, user, actor.Value(&bucket{limits: l.limits, tokens: float64(l.burst), last: time.Now()}))
			if errors.Is(err, actor.ErrNameTaken) {
				continue
			}
			if err != nil {
				return false, err
			}
		}
		yes, err := allow.Call(ctx, r, struct{}{})
		if !errors.Is(err, actor.ErrStopped) {
			return yes, err
		}
		<-r.Done() // its name is free now
	}
}

func (l limits) play(ctx context.Context, w io.Writer) error {
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = sys.Close() }()
	lim := limiter{sys, l}
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
				yes, err := lim.allow(ctx, fmt.Sprintf("user-%d", user))
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
