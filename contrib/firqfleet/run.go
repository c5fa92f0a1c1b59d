package firqfleet

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	recheck    = 150 * time.Millisecond // how often a member asks while calls wait: so late comes what a lost push said
	wantedFor  = 300 * time.Millisecond // how long a tenant's turns are called back at a time; the server repeats it sooner
	touchEvery = time.Minute            // the data of tenants on the server lasts for some minutes
	firstPause = 10 * time.Millisecond  // after a round trip that failed; doubled each time
	lastPause  = time.Second
	leaving    = time.Second // how long the last round trip may take
)

// run makes the round trips, one after another: when there is something to tell, and so often that the lease lasts.
func (g *Gate) run() {
	defer close(g.done)
	defer g.end()
	var pause time.Duration
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		kick := g.kick
		d := g.period()
		if pause > 0 {
			d, kick = pause, nil
		}
		timer.Reset(d)
		select {
		case <-kick:
		case <-timer.C:
		case <-g.idle:
			return
		}
		g.look()
		ctx, cancel := context.WithTimeout(context.Background(), max(g.cfg.Lease/3, MinLease/3))
		err := g.sync(ctx, false)
		cancel()
		switch {
		case err == nil || errors.Is(err, errLost) && pause == 0:
			pause = 0
			if err != nil {
				pause = 1 // join now
			}
		default:
			pause = min(max(2*pause, firstPause), lastPause, g.cfg.Lease/3)
		}
	}
}

// period returns when the next round trip is due if there is nothing to tell.
func (g *Gate) period() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.cfg.Lease / 3
	if g.waiting.Len() > 0 {
		d = min(d, recheck)
		if g.next > 0 {
			d = min(d, g.next+2*time.Millisecond)
		}
	}
	return d
}

// look sees to what is not urgent before a round trip, each Lease/3: free slots that were not needed go back, and tenants without
// anything here are forgotten.
func (g *Gate) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limited {
		for e := g.waiting.Front(); e != nil; e = e.Next() {
			if t := e.Value.(*tenant); t.most > 0 {
				t.touch = true
				g.mark(t) // the server calls its turns back from other members
			}
		}
	}
	now := g.now()
	if now-g.looked < g.cfg.Lease/3 {
		return
	}
	g.looked = now
	if spare := g.here.spare() - 1; spare > 0 {
		g.back += g.here.drain(max(g.here.load().idle()-spare, 1))
	}
	touch := now-g.touched > touchEvery
	if touch {
		g.touched = now
	}
	for _, t := range g.tenants {
		g.unpark(t)
		switch {
		case t.quiet():
			delete(g.tenants, t.name)
		case touch && (t.turns > 0 || t.n > 0):
			t.touch = true
			g.mark(t)
		}
	}
}

// listen hears what the server says without being asked, until the subscription is closed.
func (g *Gate) listen(from <-chan any) {
	for m := range from {
		switch m := m.(type) {
		case *redis.Subscription: // what was said before is lost
			g.poke()
		case *redis.Message:
			if m.Channel == g.prefix+":all" {
				g.heard(m.Payload)
			} else {
				g.given(m.Payload)
			}
		}
	}
}

// heard takes what is said to all members.
func (g *Gate) heard(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.settle()
	kind, name, _ := strings.Cut(what, "\n")
	switch kind {
	case "o": // more slots are out than there are
		g.over = true
		g.setHungry(true)
	case "h": // calls wait for slots
		g.setHungry(true)
	case "s": // something has been set
		g.poke()
	case "p": // calls wait for the turns of a tenant
		if t := g.tenants[name]; t != nil {
			t.wanted = g.now() + wantedFor
			g.unpark(t)
		}
	}
}

// given takes the turns that were given to this member by another's round trip.
func (g *Gate) given(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.settle()
	first, turns, _ := strings.Cut(what, "\n")
	token, _ := strconv.ParseUint(first, 10, 64)
	switch {
	case token > g.token: // it has joined without knowing yet; the next answer repeats it
		g.poke()
	case token == g.token && g.known && g.check():
		g.pushed(turns)
	}
}
