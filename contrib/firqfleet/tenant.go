package firqfleet

import (
	"container/list"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// tenant is a tenant with calls, permits or costs here. Guarded by Gate.mu.
type tenant struct {
	name   string
	weight float64       // 0: Config has not been asked
	most   int           // permits in the fleet; 0: no limit
	asked  time.Duration // when Config was

	queue  [firq.PriorityCritical + 1]list.List // of *call, by priority
	n      int                                  // calls in queue
	uneven int                                  // those of more than one slot
	heavy  list.List                            // of *call: heavier than the limit; they wait aside
	place  *list.Element                        // in Gate.waiting; nil: no call in queue

	turns  int    // in progress here, parked ones included
	parked []turn // that no permit has, for the tenant's next calls
	// Others of the fleet wait for its turns, until then: none is parked, and none goes on for more than Slice.
	wanted time.Duration

	// What the server has to hear.
	dirty            bool
	ended, backSlots int     // turns that have ended, and their slots that go back
	charge           float64 // cost
	sent             float64 // cost that was sent; if not 0, whether it has arrived is not known
	told, toldSlots  int     // calls in queue, as the server knows, and the slots of each
	touch            bool    // it hears of the tenant in any case
	cost             float64 // of a turn, lately
}

// turn is a slot, or several, that the server has given to a tenant. It is that of one permit after another.
type turn struct {
	slots   int
	start   time.Duration // since Gate.base
	cost    float64       // of its permits that have ended
	charged float64       // what the server has reckoned
}

// call is a call of Acquire that waits.
type call struct {
	t        *tenant
	weight   int
	cost     int64
	priority firq.Priority
	since    time.Duration
	place    *list.Element // in one of its tenant's lists; nil: its waiting is over
	aside    bool          // in heavy
	got      chan struct{} // closed with one of these:
	permit   gate.Permit[string]
	err      error
}

// head returns the call that is next; nil: none.
func (t *tenant) head() *call {
	if t.n == 0 {
		return nil
	}
	for p := len(t.queue) - 1; p >= 0; p-- {
		if e := t.queue[p].Front(); e != nil {
			return e.Value.(*call)
		}
	}
	return nil
}

// wants returns how many calls from the head on need as many slots as that, and how many that is.
func (t *tenant) wants(limit int) (n, slots int) {
	head := t.head()
	if head == nil {
		return 0, 1
	}
	if t.uneven == 0 {
		return min(t.n, limit), 1
	}
	for p := len(t.queue) - 1; p >= 0; p-- {
		for e := t.queue[p].Front(); e != nil; e = e.Next() {
			if e.Value.(*call).weight != head.weight || n == limit {
				return n, head.weight
			}
			n++
		}
	}
	return n, head.weight
}

// quiet reports whether nothing is known of it here.
func (t *tenant) quiet() bool {
	return t.n == 0 && t.heavy.Len() == 0 && t.turns == 0 && !t.dirty && t.charge == 0 && t.sent == 0 && t.told == 0
}

// askEvery is how often Config is asked for the weight and limit of a tenant that is never idle.
const askEvery = time.Second

// find returns a tenant, which is made if it is new. Under mu, which it may let go for the time in which the functions of
// Config are called.
func (g *Gate) find(name string) *tenant {
	old, now, asks := g.tenants[name], g.now(), g.cfg.WeightFor != nil || g.cfg.MaxInFlightFor != nil
	if old != nil && old.weight > 0 {
		if !asks || now-old.asked < askEvery {
			return old
		}
		old.asked = now // others need not ask now
	}
	t := &tenant{name: name, weight: 1, most: g.cfg.MaxInFlightPerTenant, cost: 1, asked: now}
	if asks {
		g.mu.Unlock()
		func() {
			defer g.mu.Lock() // they may panic
			t.weight, t.most = g.cfg.weight(name), g.cfg.most(name)
		}()
		old = g.tenants[name]
	}
	if old != nil {
		if old.weight != t.weight || old.most != t.most {
			old.weight, old.most, old.asked, old.touch = t.weight, t.most, now, true
			g.mark(old)
			g.poke()
		}
		return old
	}
	g.tenants[name] = t
	return t
}

// mark has the server hear of a tenant. Under mu.
func (g *Gate) mark(t *tenant) {
	if !t.dirty {
		t.dirty = true
		g.dirty = append(g.dirty, t)
	}
}

// push queues a call, or puts it aside. Under mu.
func (g *Gate) push(c *call) {
	t := c.t
	if c.aside = c.weight > g.limit; c.aside {
		c.place = t.heavy.PushBack(c)
		return
	}
	head := t.head()
	c.place = t.queue[c.priority].PushBack(c)
	t.n++
	if c.weight > 1 {
		t.uneven++
	}
	if t.place == nil {
		t.place = g.waiting.PushBack(t)
	}
	g.mark(t)
	if 2*t.told < t.n || head != nil && t.head().weight != head.weight {
		g.poke()
	}
}

// pull takes a call out of its list. Under mu.
func (g *Gate) pull(c *call) {
	t := c.t
	if c.aside {
		t.heavy.Remove(c.place)
		c.place = nil
		return
	}
	t.queue[c.priority].Remove(c.place)
	c.place = nil
	t.n--
	if c.weight > 1 {
		t.uneven--
	}
	if t.n == 0 {
		g.waiting.Remove(t.place)
		t.place = nil
	}
	g.mark(t)
}

// finish ends the waiting of a call. Under mu; refresh has to follow.
func (g *Gate) finish(c *call, p gate.Permit[string], err error) {
	g.pull(c)
	g.calls--
	c.permit, c.err = p, err
	close(c.got)
}

// sort puts calls aside, or back into the queue, as a new limit wants it. Under mu.
func (g *Gate) sort() {
	for _, t := range g.tenants {
		var move []*call
		for e := t.heavy.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*call); c.weight <= g.limit {
				move = append(move, c)
			}
		}
		for p := range t.queue {
			for e := t.queue[p].Front(); e != nil && t.uneven > 0; e = e.Next() {
				if c := e.Value.(*call); c.weight > g.limit {
					move = append(move, c)
				}
			}
		}
		for _, c := range move {
			g.pull(c)
			g.push(c)
		}
		if t.n > 0 {
			g.mark(t)
		}
	}
	g.poke()
}
