package firqfleet

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// oracle is the order as docs/fleet.md states it, start-time fair queueing over tenants, written without a look at the script: a
// free slot goes to the tenant whose cost per weight is least, there to its processes in turn; a tenant that comes back from idle has
// saved up nothing; a call for several slots whose turn it is gets them as they come, and one heavier than the limit blocks none.
type oracle struct {
	limit, use int
	virtual    float64
	tenants    map[string]*fairTenant
}

type fairTenant struct {
	weight, finish, cost float64
	most, turns          int
	calls, slots         map[string]int // by process
	last                 string
}

// grantOf is a turn that was given.
type grantOf struct {
	member, tenant string
	slots          int
	cost           float64
}

func (o *oracle) start(t *fairTenant) float64 { return max(t.finish, o.virtual) }

func (t *fairTenant) waits() (n int) {
	for _, c := range t.calls {
		n += c
	}
	return n
}

// report takes what a process says of a tenant: how many calls wait, and what has ended, at what cost more than was reckoned.
func (o *oracle) report(member string, t *fairTenant, calls, slots, ended int, charge float64) {
	if t.waits() == 0 && t.turns == 0 {
		t.finish = max(t.finish, o.virtual)
	}
	t.finish += charge / t.weight
	t.turns -= ended
	t.calls[member], t.slots[member] = calls, slots
}

// grants gives out what is free.
func (o *oracle) grants() (all []grantOf) {
	for o.use < o.limit {
		next := ""
		for _, name := range slices.Sorted(maps.Keys(o.tenants)) {
			t := o.tenants[name]
			if t.waits() > 0 && (t.most == 0 || t.turns < t.most) && (next == "" || o.start(t) < o.start(o.tenants[next])) {
				next = name
			}
		}
		if next == "" {
			return all
		}
		t := o.tenants[next]
		var in []string
		for _, m := range slices.Sorted(maps.Keys(t.calls)) {
			if t.calls[m] > 0 {
				in = append(in, m)
			}
		}
		i := max(0, slices.IndexFunc(in, func(m string) bool { return m > t.last }))
		m := in[i]
		if t.slots[m] > o.limit {
			t.calls[m] = 0
			continue
		}
		if o.use+t.slots[m] > o.limit {
			return all
		}
		o.virtual = max(o.virtual, o.start(t))
		t.finish = o.virtual + t.cost/t.weight
		t.turns++
		t.calls[m]--
		t.last = m
		o.use += t.slots[m]
		all = append(all, grantOf{m, next, t.slots[m], t.cost})
	}
	return all
}

// scripted is a process that a test plays.
type scripted struct {
	id           string
	token, data  string
	trips, seen  int
	free         int // slots without a turn
	turns        []grantOf
	outstanding  []grantOf // that the oracle has given, and no answer has told yet
	limit, lease int
}

// talk makes a round trip.
func (m *scripted) talk(t *testing.T, c *redis.Client, name, mode string, back, reserve int, of ...any) (got []grantOf, extra int) {
	t.Helper()
	token := m.token
	if mode == "join" {
		token = "0"
	}
	args := append([]any{m.id, m.lease, m.limit, back, reserve, m.trips, mode, token, 0, m.data, m.seen}, of...)
	r, err := script.Run(bounded(t), c, []string{"ff:{" + name + "}", "ff:{" + name + "}:m"}, args...).StringSlice()
	if err != nil || len(r) != 9 {
		t.Fatal(r, err)
	}
	m.token, m.data = r[0], r[7]
	m.trips++
	extra, _ = strconv.Atoi(r[4])
	for f := strings.Split(r[8], "\n"); len(f) > 4; f = f[4:] {
		if n, _ := strconv.Atoi(f[0]); n > 0 {
			m.seen = n
		}
		slots, _ := strconv.Atoi(f[2])
		cost, _ := strconv.ParseFloat(f[3], 64)
		got = append(got, grantOf{m.id, f[1], slots, cost})
	}
	return got, extra
}

// TestOrder lets processes say what comes to their mind, and compares whom the server gives turns with the oracle. Where no cost is
// corrected, tenants that wait all the time have got the same per weight, but for a turn of each.
func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		seeds, steps := 30, 150
		if strings.HasSuffix(t.Name(), "embedded") || testing.Short() {
			seeds = 6
		}
		for seed := range seeds {
			order(t, client(t, addr), rand.New(rand.NewPCG(uint64(seed), 36)), steps, seed%2 == 0)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

func order(t *testing.T, c *redis.Client, r *rand.Rand, steps int, plain bool) {
	n, limit := name(), 1+r.IntN(4)
	o := &oracle{limit: limit, tenants: map[string]*fairTenant{}}
	for i, w := range []float64{1, 2, 4, 0.5} {
		o.tenants[fmt.Sprint("t", i)] = &fairTenant{weight: w, cost: float64(1 + r.IntN(8)), calls: map[string]int{}, slots: map[string]int{}}
	}
	if !plain {
		o.tenants["t1"].most = 1 + r.IntN(2)
	}
	var all []*scripted
	for i := range 3 {
		m := &scripted{id: fmt.Sprint("m", i), limit: limit, lease: 600_000}
		m.talk(t, c, n, "join", 0, 0)
		all = append(all, m)
	}
	given := map[string]float64{}    // cost per weight
	since := map[[2]string]float64{} // of two tenants that wait: the difference when they began
	for range steps {
		m := all[r.IntN(len(all))]
		back, args := m.free, []any(nil)
		m.free = 0
		for _, name := range slices.Sorted(maps.Keys(o.tenants)) {
			if r.IntN(2) == 0 {
				continue
			}
			f := o.tenants[name]
			calls, slots, ended, ours, charge := r.IntN(4), 1, 0, 0, 0.0
			if plain {
				calls = 3 // they wait all the time
			} else if r.IntN(4) == 0 {
				slots = 1 + r.IntN(5)
			}
			m.turns = slices.DeleteFunc(m.turns, func(g grantOf) bool {
				ends := g.tenant == name && r.IntN(2) == 0
				if ends {
					ended, ours = ended+1, ours+g.slots
					if !plain {
						charge += float64(r.IntN(10)) - g.cost
					}
				}
				return ends
			})
			args = append(args, name, f.weight, f.most, calls, slots, f.cost, ended, ours, charge, 0)
			o.report(m.id, f, calls, slots, ended, charge)
			o.use -= ours
		}
		o.use -= back
		want := o.grants()
		got, extra := m.talk(t, c, n, "", back, r.IntN(2), args...)
		m.free, o.use = extra, o.use+extra
		for _, g := range want {
			for _, other := range all {
				if other.id == g.member {
					other.outstanding = append(other.outstanding, g)
				}
			}
			given[g.tenant] += g.cost / o.tenants[g.tenant].weight
		}
		if !slices.Equal(got, m.outstanding) {
			t.Errorf("%s has got %v, not %v; %+v", m.id, got, m.outstanding, o)
			return
		}
		m.turns, m.outstanding = append(m.turns, got...), nil
		if u, err := c.HGet(bounded(t), "ff:{"+n+"}:m", "u").Int(); err != nil || u != o.use || u > limit {
			t.Errorf("%d slots are in use, not %d, of %d: %v", u, o.use, limit, err)
			return
		}
		if plain && !o.even(t, given, since) {
			return
		}
	}
}

// even reports whether tenants that wait have got the same per weight, but for a turn of each.
func (o *oracle) even(t *testing.T, given map[string]float64, since map[[2]string]float64) bool {
	for x, a := range o.tenants {
		for y, b := range o.tenants {
			k, diff := [2]string{x, y}, given[x]-given[y]
			if a.waits() == 0 || b.waits() == 0 {
				delete(since, k)
				continue
			}
			began, ok := since[k]
			if !ok {
				since[k] = diff
				continue
			}
			if most := a.cost/a.weight + b.cost/b.weight; math.Abs(diff-began) > most {
				t.Errorf("%s and %s have got %v and %v per weight, %v when they began to wait; at most %v may lie between", x, y, given[x], given[y], began, most)
				return false
			}
		}
	}
	return true
}
