package firqfleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/gate"
)

// cut makes a member whose network can be cut, and a channel of the leases that it loses.
func cut(t *testing.T, addr, name string, limit int, down Down) (*Gate, *proxy, <-chan Lease) {
	p := newProxy(t, addr)
	lost := make(chan Lease, 100)
	c := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: -1, ReadTimeout: 200 * time.Millisecond, DialTimeout: 200 * time.Millisecond, DialerRetries: 1})
	t.Cleanup(func() { _ = c.Close() })
	g := join(t, addr, limit, Config{Client: c, Name: name, Lease: MinLease, Down: down, OnLost: func(l Lease) { lost <- l }})
	return g, p, lost
}

// overHeard waits until a member knows that more slots are out than there are. The server pushes that: what comes free in the member before
// it hears so goes on to its own calls, which makes the excess no greater.
func overHeard(t *testing.T, g *Gate) {
	t.Helper()
	until(t, "it hears that the fleet is above its limit", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.over })
}

// A process that is cut off gives out nothing more once its lease has run out, and others get its slots. When it comes back, what it has
// out counts, and nothing is given out until the fleet is below its limit.
func TestCutOff(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		for _, how := range []func(*proxy){(*proxy).sever, (*proxy).hang} {
			n := name()
			a, net, lost := cut(t, addr, n, 2, Wait)
			out := get(t, a, "x", gate.Request{})
			get(t, a, "x", gate.Request{}).Release()
			token := a.Lease().Token
			how(net)
			l := <-lost
			if l.Token != token || l.Slots < 1 || l.Until.After(time.Now()) || a.Lease().Token != 0 {
				t.Errorf("%+v, %+v", l, a.Lease())
			}
			if _, ok := a.TryAcquire("x", gate.Request{}); ok {
				t.Error("it has no lease")
			}
			b := join(t, addr, 2, Config{Name: n, Lease: MinLease})
			p, q := get(t, b, "y", gate.Request{}), get(t, b, "y", gate.Request{})
			net.resume()
			until(t, "it joins again", func() bool { return a.Lease().Token > token })
			until(t, "what is out counts", func() bool { return fleet(t, b).InUse == 3 })
			overHeard(t, b)
			waits := later(t, b, "y", gate.Request{})
			p.Release()
			none(t, "above the limit", waits)
			out.Release()
			(<-waits).Release()
			q.Release()
			get(t, a, "x", gate.Request{}).Release()
		}
	})
}

// An outage that is shorter than the lease loses nothing: the process gives out the slots that it has, and what is released counts.
func TestShortOutage(t *testing.T) {
	addr, n := addr(t, "redis-server"), name()
	net := newProxy(t, addr)
	a := join(t, addr, 4, Config{Client: client(t, net.addr()), Name: n, Lease: time.Minute})
	get(t, a, "x", gate.Request{}).Release()
	until(t, "a slot stays", func() bool { return a.Stats().Idle > 0 })
	p := get(t, a, "x", gate.Request{})
	token := a.Lease().Token
	net.sever()
	a.poke()
	until(t, "a round trip fails", func() bool { return a.Stats().Failed > 0 })
	p.Release()
	p, ok := a.TryAcquire("x", gate.Request{})
	if !ok {
		t.Fatal("a slot is here")
	}
	p.Charge(7)
	net.resume()
	until(t, "it joins again", func() bool { return a.Lease().Token > token })
	if s := a.Stats(); s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	until(t, "the debt is known", func() bool {
		f, _ := client(t, addr).HGet(bounded(t), "ff:{"+n+"}:t:x", "f").Float64()
		return f >= 7
	})
	p.Release()
	until(t, "it has what it says", func() bool { s := a.Stats(); return fleet(t, a).InUse == s.Idle && fleet(t, a).Members == 1 })
}

func TestShare(t *testing.T) {
	addr, n := addr(t, "redis-server"), name()
	join(t, addr, 4, Config{Name: n})
	a, net, lost := cut(t, addr, n, 4, Share)
	until(t, "it hears of both", func() bool { a.poke(); return a.Stats().Members == 2 })
	net.hang()
	<-lost
	until(t, "the server is away", func() bool { return a.Stats().Failed > 0 })
	p := get(t, a, "x", gate.Request{})
	get(t, a, "x", gate.Request{})
	order := make(chan string, 4)
	for _, tenant := range []string{"x", "x", "y", "y"} {
		got := later(t, a, tenant, gate.Request{})
		go func() { p := <-got; order <- tenant; p.Release() }()
	}
	p.Release()
	seen := map[string]int{}
	for range 2 {
		seen[<-order]++
	}
	if seen["x"] != 1 {
		t.Errorf("not in turn: %v", seen)
	}
	<-order
	<-order
	if s := a.Stats(); s.Alone != 6 || s.InUse > 2 {
		t.Errorf("%+v", s)
	}
	net.resume()
	until(t, "it joins again", func() bool { return a.Lease().Token > 0 && fleet(t, a).InUse >= 1 })
}

func TestShareFromTheStart(t *testing.T) {
	p := own(t, "redis-server")
	p.kill()
	g, err := New(bounded(t), 2, Config{Client: client(t, p.addr()), Down: Share, Lease: MinLease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(); <-g.Done() })
	out := get(t, g, "x", gate.Request{})
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it joins", func() bool { return g.Lease().Token > 0 })
	if f := fleet(t, g); f.InUse < 1 || f.Limit != 2 || f.Members != 1 {
		t.Errorf("%+v", f)
	}
	out.Release()
}

func TestRefuse(t *testing.T) {
	addr := addr(t, "redis-server")
	a, net, lost := cut(t, addr, name(), 1, Refuse)
	get(t, a, "x", gate.Request{})
	gone := make(chan error, 1)
	go func() { _, err := a.Acquire(bounded(t), "x", gate.Request{}); gone <- err }()
	until(t, "it waits", func() bool { return a.Waiting() == 1 })
	net.sever()
	<-lost
	if err := <-gone; err != ErrUnavailable {
		t.Error(err)
	}
	if _, err := a.Acquire(bounded(t), "x", gate.Request{}); err != ErrUnavailable {
		t.Error(err)
	}
	net.resume()
	until(t, "it joins again", func() bool { return a.Lease().Token > 0 })
}

// A server that has lost its data gives out nothing for a lease from when the first member joins, and then what is not out.
func TestDataLost(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		cfg := Config{Name: n, Lease: MinLease}
		a, b := join(t, addr, 2, cfg), join(t, addr, 2, cfg)
		get(t, a, "x", gate.Request{})
		out := get(t, b, "x", gate.Request{})
		tokenA, tokenB := a.Lease().Token, b.Lease().Token
		c := client(t, addr)
		if err := c.Del(bounded(t), addPrefix(n, keys(t, addr, n, ""))...).Err(); err != nil {
			t.Fatal(err)
		}
		a.poke()
		until(t, "a joins again", func() bool { return a.Lease().Token > max(tokenA, tokenB) })
		waits := later(t, a, "y", gate.Request{}) // b has not said what it has
		until(t, "b joins again", func() bool { return b.Lease().Token > max(tokenA, tokenB) })
		none(t, "above the limit", waits)
		out.Release()
		(<-waits).Release()
		if f := fleet(t, a); f.Limit != 2 || f.Members != 2 {
			t.Errorf("%+v", f)
		}
	})
}

// Slots that are here are not given out once the lease has ended, though nothing has noticed that yet.
func TestQuickLooks(t *testing.T) {
	g := join(t, addr(t, "redis-server"), 2, Config{Name: name(), Lease: time.Minute})
	get(t, g, "x", gate.Request{}).Release()
	if !g.here.take(1, true) {
		t.Fatal("no slot is at hand")
	}
	g.here.put(1, true)
	ends := g.ends.Swap(0)
	if p := g.quick("x", 1); p != nil {
		t.Error("the lease has ended")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leased {
		t.Error("it is not noted")
	}
	g.ends.CompareAndSwap(0, ends)
}

// A lease that ends while a round trip is under way has ended: what was idle then does not stay, whatever the answer says.
func TestEndedOnTheWay(t *testing.T) {
	g := join(t, addr(t, "redis-server"), 2, Config{Name: name(), Lease: time.Minute})
	get(t, g, "x", gate.Request{}).Release()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire.Stop()
	g.ends.Store(0)
	join := []any{"9", "2", "0", "1", "0", "1000", "60000", g.data, ""}
	if err := g.answer(join, g.now(), true, false); err != nil {
		t.Fatal(err)
	}
	if n := g.here.load().idle(); n > 0 || g.counters.lost != 1 || !g.leased {
		t.Errorf("%d are idle; %+v", n, g.counters)
	}
}

// What is released while a join is under way was said to be here, and goes back afterwards.
func TestReleasedWhileJoining(t *testing.T) {
	t.Parallel()
	addr, n := addr(t, "redis-server"), name()
	net := newProxy(t, addr)
	a := join(t, "", 2, Config{Client: client(t, net.addr()), Name: n, Lease: 3 * time.Second})
	b := join(t, addr, 2, Config{Name: n})
	p, q := get(t, a, "x", gate.Request{}), get(t, a, "x", gate.Request{})
	p.Release()
	q.Release()
	p, q = get(t, a, "x", gate.Request{}), get(t, a, "x", gate.Request{}) // without a turn: their slots were here
	if s := a.Stats(); s.Immediate < 1 {
		t.Fatalf("%+v", s)
	}
	waits := later(t, b, "y", gate.Request{})
	until(t, "it hears of the call", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.hungry })
	net.hang()
	a.poke()
	until(t, "a round trip fails", func() bool { return a.Stats().Failed > 0 })
	syncs := a.Stats().Syncs
	until(t, "a join is under way", func() bool { return a.Stats().Syncs > syncs })
	p.Release()
	net.resume()
	(<-waits).Release()
	q.Release()
}

// A process that never was a member and is the first on a server that has lost its data gets slots that others have; once those have
// said so, nothing is given out until enough is back.
func TestStrangerFirst(t *testing.T) {
	t.Parallel()
	addr, n := addr(t, "redis-server"), name()
	a := join(t, addr, 2, Config{Name: n, Lease: 2 * time.Second})
	out := get(t, a, "x", gate.Request{})
	get(t, a, "x", gate.Request{})
	token := a.Lease().Token
	if err := client(t, addr).Del(bounded(t), addPrefix(n, keys(t, addr, n, ""))...).Err(); err != nil {
		t.Fatal(err)
	}
	b := join(t, addr, 2, Config{Name: n, Lease: MinLease})
	p, q := get(t, b, "y", gate.Request{}), get(t, b, "y", gate.Request{})
	a.poke()
	until(t, "a joins again", func() bool { return a.Lease().Token > token })
	if f := fleet(t, b); f.InUse != 4 || f.Members != 2 {
		t.Errorf("%+v", f)
	}
	overHeard(t, b)
	waits := later(t, b, "z", gate.Request{})
	p.Release()
	out.Release()
	none(t, "above the limit", waits)
	q.Release()
	(<-waits).Release()
}

func addPrefix(name string, keys []string) []string {
	for i := range keys {
		keys[i] = "ff:{" + name + "}:" + keys[i]
	}
	return keys
}

// A failover may lose the last round trips, or the last pushes: the member notices, and says what it has.
func TestOlderData(t *testing.T) {
	addr := addr(t, "redis-server")
	for _, count := range []string{"#q", "#s"} {
		n := name()
		a, b := join(t, addr, 1, Config{Name: n, Lease: MinLease}), join(t, addr, 1, Config{Name: n, Lease: MinLease})
		out := get(t, b, "y", gate.Request{})
		if count == "#s" { // a has its slot by a push
			waits := later(t, a, "x", gate.Request{})
			told(t, b, 1)
			out.Release()
			out = <-waits
		} else {
			out.Release()
			out = get(t, a, "x", gate.Request{})
		}
		c, h := client(t, addr), "ff:{"+n+"}:h:"+a.member
		token := a.Lease().Token
		for _, k := range []string{"#", count} {
			if err := c.HIncrBy(bounded(t), h, k, -1).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.HIncrBy(bounded(t), "ff:{"+n+"}:m", "u", -1).Err(); err != nil {
			t.Fatal(err)
		}
		until(t, "it joins again", func() bool { return a.Lease().Token > token })
		until(t, "what is out counts", func() bool { return fleet(t, a).InUse >= 1 })
		if qt, err := c.HGet(bounded(t), "ff:{"+n+"}:m", "qt").Int64(); err != nil || qt == 0 {
			t.Errorf("it goes on giving out: %d %v", qt, err)
		}
		out.Release()
	}
}

// Turns whose push was lost come with the next answer.
func TestLostPush(t *testing.T) {
	t.Parallel()
	addr, n := addr(t, "redis-server"), name()
	a, b := join(t, addr, 1, Config{Name: n}), join(t, addr, 1, Config{Name: n})
	_ = b.pushes.Unsubscribe(bounded(t))
	for range 5 {
		p := get(t, a, "x", gate.Request{})
		waits := later(t, b, "y", gate.Request{})
		told(t, a, 1)
		p.Release()
		(<-waits).Release()
	}
}

// The outcome of a round trip may be open: it is not sent again, and counts once.
func TestOpenOutcome(t *testing.T) {
	addr, n := addr(t, "redis-server"), name()
	a, net, _ := cut(t, addr, n, 3, Wait)
	for i := range 5 {
		p := get(t, a, "x", gate.Request{Weight: 3})
		net.hang()
		p.Release()
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*50*time.Millisecond)
		p, err := a.Acquire(ctx, "x", gate.Request{Weight: 3})
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		p.Release()
		cancel()
		net.resume()
	}
	get(t, a, "x", gate.Request{Weight: 3}).Release()
	until(t, "all is free", func() bool { return fleet(t, a).InUse == a.Stats().Idle && fleet(t, a).Members == 1 })
}
