package firqfleet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/sync.lua
var source string

var script = redis.NewScript(source)

// errLost is the error of a round trip to a server that does not know this member, or not as it is.
var errLost = errors.New("firqfleet: the lease is lost")

const (
	mostTenants = 512 // that one round trip tells of, except when it joins
	perTenant   = 10  // arguments
)

// once is a command that the client does not send again after a network error: it may have arrived.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// eval runs a script. A server that does not know it has not run it, and gets it whole. It returns as soon as ctx ends; a client
// that waits for a reply may ignore ctx, and is then left behind until its ReadTimeout: what it hears is for late.
func eval(ctx context.Context, rdb redis.UniversalClient, s *redis.Script, text string, keys []string, args []any, late func(any, error)) (any, error) {
	send := func(how, what string) *redis.Cmd {
		all := make([]any, 0, 3+len(keys)+len(args))
		all = append(all, how, what, len(keys))
		for _, k := range keys {
			all = append(all, k)
		}
		cmd := redis.NewCmd(ctx, append(all, args...)...)
		cmd.SetFirstKeyPos(3)
		_ = rdb.Process(ctx, once{cmd})
		return cmd
	}
	got := make(chan *redis.Cmd, 1)
	go func() {
		cmd := send("evalsha", s.Hash())
		if err := cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			cmd = send("eval", text)
		}
		got <- cmd
	}()
	select {
	case cmd := <-got:
		return cmd.Result()
	case <-ctx.Done():
		if late != nil {
			go func() { late((<-got).Result()) }()
		}
		return nil, ctx.Err()
	}
}

// sync makes a round trip: it tells the server what has changed, and applies its answer. Only one is made at a time.
func (g *Gate) sync(ctx context.Context, leave bool) error {
	g.mu.Lock()
	g.check()
	join := !g.known && !leave
	args := g.request(join, leave)
	g.counters.syncs++
	sent := g.now()
	g.mu.Unlock()

	r, err := eval(ctx, g.rdb, script, source, []string{g.prefix, g.prefix + ":m"}, args, nil)

	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.settle()
	if err == nil {
		err = g.answer(r, sent, join, leave)
	}
	if err == nil {
		g.away = false
		return nil
	}
	g.counters.failed++
	g.known = false
	if errors.Is(err, errLost) {
		g.away = false
		if g.leased {
			g.lose()
		}
		return err
	}
	g.away = true
	g.check()
	g.withoutServer()
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// request returns the arguments of a round trip. Under mu.
func (g *Gate) request(join, leave bool) []any {
	mode, reserve, held := "", 0, 0
	switch {
	case leave:
		mode = "leave"
	case join:
		mode, held = "join", g.held()
		g.back = 0
		for _, t := range g.tenants {
			t.ended, t.backSlots, t.told = -t.turns, 0, 0
			if t.turns > 0 || t.n > 0 || t.sent != 0 {
				t.touch = true
				g.mark(t)
			}
		}
	case !g.hungry && !g.closed && g.waiting.Len() > 0:
		share := g.limit / max(1, g.members)
		reserve = max(min(g.waiting.Len(), share/2), 1)
	}
	n := len(g.dirty)
	if !join && n > mostTenants {
		n = mostTenants
		g.poke()
	}
	args := make([]any, 0, 11+perTenant*n)
	args = append(args, g.member, g.cfg.Lease.Milliseconds(), g.limit, g.back, reserve, g.trips, mode, g.token, held, g.data, g.seen)
	g.back = 0
	if leave {
		return args
	}
	for _, t := range g.dirty[:n] {
		t.dirty = false
		want, slots := t.wants(g.limit)
		if !t.touch && want == t.told && (want == 0 || slots == t.toldSlots) && t.ended == 0 && t.backSlots == 0 && t.charge == 0 {
			continue // as it was
		}
		args = append(args, t.name, t.weight, t.most, want, slots, max(1, math.Round(t.cost)), t.ended, t.backSlots, t.charge, t.sent)
		t.ended, t.backSlots, t.told, t.toldSlots, t.touch = 0, 0, want, slots, false
		if t.charge != 0 {
			if t.sent == 0 {
				g.unsure = append(g.unsure, t)
			}
			t.sent += t.charge
			t.charge = 0
		}
	}
	rest := copy(g.dirty, g.dirty[n:])
	clear(g.dirty[rest:])
	g.dirty = g.dirty[:rest]
	return args
}

// answer applies what the server says. Under mu.
func (g *Gate) answer(reply any, sent time.Duration, join, leave bool) error {
	list, _ := reply.([]any)
	if len(list) == 1 {
		return errLost
	}
	if len(list) != 9 {
		return fmt.Errorf("firqfleet: an answer of %d parts", len(list))
	}
	var text [9]string
	for i := range list {
		text[i], _ = list[i].(string)
	}
	number := func(i int) int { n, _ := strconv.Atoi(text[i]); return n }
	_ = g.check() // a lease that has ended while this was under way is not renewed
	for _, t := range g.unsure {
		t.sent = 0
	}
	clear(g.unsure)
	g.unsure = g.unsure[:0]
	if leave {
		return nil
	}
	if join {
		g.token, _ = strconv.ParseUint(text[0], 10, 64)
		g.trips, g.seen = 0, 0
		g.leased, g.known = true, true
	}
	g.trips++
	// The server counts in whole ms of a time after it was sent.
	ends := sent + time.Duration(number(6)-1)*time.Millisecond
	g.ends.Store(int64(ends))
	g.expire.Reset(ends - g.now())
	if n := number(1); n != g.limit {
		g.limit = n
		g.sort()
	}
	g.members, g.data = number(3), text[7]
	g.next = time.Duration(number(5)) * time.Millisecond
	if g.next <= 0 && g.waiting.Len() > 0 {
		g.poke()
	}
	g.here.add(number(4))
	if !g.check() { // this process has slept
		return errLost
	}
	g.pushed(text[8])
	g.over = text[2] == "2"
	g.setHungry(text[2] != "0")
	g.serve()
	return nil
}

// pushed begins the turns that the server gave: lines of a number, a tenant, slots and a cost. Those of other members' round trips
// have a number above 0, are pushed, and repeated by the next answer. Under mu.
func (g *Gate) pushed(text string) {
	for text != "" {
		var f [4]string
		for i := range f {
			f[i], text, _ = strings.Cut(text, "\n")
		}
		if n, _ := strconv.ParseUint(f[0], 10, 64); n > 0 {
			if n <= g.seen {
				continue
			}
			if n > g.seen+1 { // one was lost
				g.poke()
				return
			}
			g.seen = n
		}
		slots, err := strconv.Atoi(f[2])
		if err != nil || slots < 1 {
			return
		}
		charged, _ := strconv.ParseFloat(f[3], 64)
		g.begin(g.given1(f[1]), turn{slots: slots, start: g.now(), charged: charged})
	}
}

// given1 returns a tenant that the server speaks of. Under mu.
func (g *Gate) given1(name string) *tenant {
	t := g.tenants[name]
	if t == nil { // it has gone in between
		t = &tenant{name: name, most: g.cfg.MaxInFlightPerTenant, cost: 1} // without weight: the functions of Config must not be called now
		g.tenants[name] = t
	}
	return t
}
