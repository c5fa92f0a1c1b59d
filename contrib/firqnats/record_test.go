package firqnats

import (
	"testing"
	"time"

	"github.com/firq-go/firq/actor"
)

// slow returns options of a cluster whose nodes renew only when the test says so.
func slow(t testing.TB) Options {
	o := options(t)
	o.Lease = time.Hour
	return o
}

// activationOf returns the activation of the actor x, which has saved twice.
func activationOf(t *testing.T, n *testNode) *activation {
	t.Helper()
	k := kind(t, n)
	for range 2 {
		must(keep.Call(bounded(t), k.Ref("x"), 1))(t)
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.acts[actor.Identity{Kind: "tally", Key: "x"}]
}

// A save whose answer was lost is not done again, and one that was lost itself is.
func TestSaveLost(t *testing.T) {
	a := activationOf(t, join(t, slow(t)))
	ctx := bounded(t)
	_, state, rev, err := a.n.readRecord(ctx, a.id)
	if err != nil {
		t.Fatal(err)
	}
	a.own.rev--
	a.own.head.Saves--
	if err := a.replace(ctx, state, true); err != nil {
		t.Fatal("the answer was lost:", err)
	}
	if _, _, now, err := a.n.readRecord(ctx, a.id); now != rev || a.own.rev != rev || err != nil {
		t.Errorf("it was saved again: revision %d, known %d, and before %d; %v", now, a.own.rev, rev, err)
	}
	a.own.rev--
	if err := a.replace(ctx, []byte("7"), true); err != nil {
		t.Fatal("the request was lost:", err)
	}
	if h, state, now, err := a.n.readRecord(ctx, a.id); string(state) != "7" || now != a.own.rev || h.Saves != 3 || err != nil {
		t.Errorf("after a request that was lost: %+v, %s, revision %d, known %d, %v", h, state, now, a.own.rev, err)
	}
}

// A take whose answer was lost is seen by its tag; the state comes with it.
func TestTakeLost(t *testing.T) {
	a := activationOf(t, join(t, slow(t)))
	again := &activation{n: a.n, k: a.k, id: a.id, node: a.node, tag: a.tag}
	owner, err := again.own.take(bounded(t), again)
	if owner != "" || err != nil || again.own.rev != a.own.rev || string(again.own.state) != "2" || !again.own.saved {
		t.Errorf("owner %q, revision %d for %d, state %s, %v", owner, again.own.rev, a.own.rev, again.own.state, err)
	}
	other := &activation{n: a.n, k: a.k, id: a.id, node: a.node, tag: "another"}
	if owner, err := other.own.take(bounded(t), other); owner != "" || err != nil || other.own.fence <= a.own.fence {
		t.Errorf("the next activation: owner %q, fence %d after %d, %v", owner, other.own.fence, a.own.fence, err)
	}
	elsewhere := &activation{n: a.n, k: a.k, id: a.id, node: "elsewhere", tag: "elsewhere"}
	if owner, err := elsewhere.own.take(bounded(t), elsewhere); owner != a.node || err != nil {
		t.Errorf("another node takes it from %q, which is alive: %q, %v", a.node, owner, err)
	}
}

// Who is no owner any more gives nothing back.
func TestGiveBackFenced(t *testing.T) {
	a := activationOf(t, join(t, slow(t)))
	other := &activation{n: a.n, k: a.k, id: a.id, node: a.node, tag: "another"}
	if _, err := other.own.take(bounded(t), other); err != nil {
		t.Fatal(err)
	}
	a.giveBack()
	h, state, rev, err := a.n.readRecord(bounded(t), a.id)
	if h.Activation != "another" || string(state) != "2" || rev != other.own.rev || err != nil {
		t.Errorf("%+v, %s, revision %d for %d, %v", h, state, rev, other.own.rev, err)
	}
	other.giveBack()
	if h, state, _, err := a.n.readRecord(bounded(t), a.id); h.Node != "" || string(state) != "2" || err != nil {
		t.Errorf("after its owner gave it back: %+v, %s, %v", h, state, err)
	}
}

// A renewal that was done, though its answer was lost, does not extend the lease; the next one does.
func TestRenewLost(t *testing.T) {
	n := join(t, slow(t))
	l := n.life.Load()
	l.rev--
	l.until.Store(1)
	n.renew(n.ctx)
	if l != n.life.Load() || l.until.Load() != 1 {
		t.Fatalf("the life is another one, or the lease holds until %d", l.until.Load())
	}
	before := instant()
	n.renew(n.ctx)
	if until := l.until.Load(); until < before+int64(n.o.Lease)*2/3 || until > instant()+int64(n.o.Lease)*2/3 {
		t.Errorf("the lease holds for %v, and should for two thirds of %v", time.Duration(until-before), n.o.Lease)
	}
	l.extend(100, 3*time.Second)
	if until := l.until.Load(); until != 100+int64(2*time.Second) {
		t.Errorf("a lease of 3 s, renewed at 100 ns, holds until %d", until)
	}
}

// Who was silent, and has renewed before the observer deletes its record, stays.
func TestSilentRenews(t *testing.T) {
	o := slow(t)
	a, b := join(t, o), join(t, o)
	see := func() member {
		b.mu.RLock()
		defer b.mu.RUnlock()
		return *b.members[a.ID()]
	}
	silent := see()
	a.renew(a.ctx)
	b.declareDead(silent)
	if b.living(a.ID()) == "" || a.look(bounded(t), a.ID()) != nil {
		t.Fatal("a node that has renewed was declared dead")
	}
	eventually(t, "the renewal is known", func() bool { return see().Rev > silent.Rev })
	b.declareDead(see())
	if b.living(a.ID()) != "" || a.look(bounded(t), a.ID()) == nil {
		t.Error("a silent node was not declared dead")
	}
}

// Time in which an observer is cut off is no silence of others.
func TestAwayIsNoSilence(t *testing.T) {
	o := slow(t)
	a, b := join(t, o), join(t, o)
	b.mu.Lock()
	b.members[a.ID()].heard = time.Now().Add(-2 * o.Lease)
	b.mu.Unlock()
	w := &watch{reconnects: b.nc.Stats().Reconnects + 1, last: time.Now()} // it was cut off
	b.watch = *w
	b.observe(o.Lease / 5)
	b.mu.RLock()
	heard := b.members[a.ID()].heard
	b.mu.RUnlock()
	if time.Since(heard) > o.Lease {
		t.Error("the silence counts, though the observer was cut off")
	}
	b.mu.Lock()
	b.members[a.ID()].heard = time.Now().Add(-2 * o.Lease)
	b.mu.Unlock()
	b.observe(o.Lease / 5)
	eventually(t, "a node that is silent is dead", func() bool { return b.living(a.ID()) == "" })
}
