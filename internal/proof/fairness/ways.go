package fairness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

// slack is by how far shards may run apart.
func slack(t *testing.T, build Maker) {
	var b strings.Builder
	for _, slack := range []int{1, 2, 3, 4, 7, 8} {
		for _, consumers := range []int{1, 4} {
			if quick() && (slack > 4 || consumers == 1) {
				continue
			}
			fmt.Fprintf(&b, "| %d | %d |", slack, consumers)
			for _, m := range []Mix{Random, Cheap} {
				f := setup{shards: 8, crowd: 20, consumers: consumers, batch: 1, slack: slack, mix: m}.must(t, build)
				fmt.Fprintf(&b, " %v | %v |", f.across.Proved, f.across.Stated)
			}
			b.WriteByte('\n')
		}
	}
	t.Logf("slack, consumers; for each mix: across, across as stated\n%s", &b)
}

// twoTenants is the smallest case that reaches the bound of theorem 2: two tenants on two
// shards, tasks of cost 1, quantum 10.
func twoTenants(t *testing.T, build Maker) {
	f := setup{
		shards: 2, crowd: 1, consumers: 1, batch: 1, slack: 1, mix: Mix{"ten", 10, 10, 1, 1, 40, 10},
	}.must(t, build)
	t.Logf("across %v, as stated %v", f.across.Proved, f.across.Stated)
}

// waitingShard: a tenant that joins a shard that waits for a far round joins now, and not
// in the round that the shard was in when it began to wait.
func waitingShard(t *testing.T, build Maker) {
	for shards, consumers := range map[int]int{2: 1, 8: 4} {
		f := setup{
			shards: shards, crowd: 10, consumers: consumers, batch: 1, slack: 1,
			mix: Mix{"long", 1, 3, 1, 1, 400, 50}, costlyCrowd: true,
		}.must(t, build)
		t.Logf("%d shards, %d consumers: across %v", shards, consumers, f.across.Proved)
	}
}

// newcomers: others come at any time, and join shards that wait for a far round. The bound
// grows by what the holds in progress serve, and no further, however many newcomers there are.
func newcomers(t *testing.T, build Maker) {
	var b strings.Builder
	for _, consumers := range []int{1, 4} {
		for _, batch := range []int{1, 32} {
			for i, m := range []Mix{Random, Long, Costly} {
				if testing.Short() && (consumers/4+batch/32+i)%3 != 0 {
					continue // one mix each
				}
				x := setup{shards: 8, crowd: 20, consumers: consumers, batch: batch, slack: 1, mix: m}
				x.newcomers, x.amid = true, consumers == 1
				f := x.must(t, build)
				fmt.Fprintf(&b, "| %d | %d | %s | %v | %v | %v |\n", consumers, batch, m.Name, f.within.Proved, f.across.Proved, f.across.Stated)
			}
		}
	}
	t.Logf("consumers, batch, mix, one shard, across, across as stated\n%s", &b)
}

// midHold: a shard goes back, or wakes up, in the middle of another one's hold. That one
// goes on for two rounds at most, and the newcomer joins where it has come to.
func midHold(t *testing.T, build Maker) {
	const began, before = 50, 100
	law := Law{Slack: 1, Across: 3 + 1 + 2*2}
	for _, idle := range []bool{false, true} {
		for held := range 2 {
			log := new(Log)
			s, shardOf, err := build(firq.Config[int, int]{Shards: 2}, log, 0)
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			another := func(shard int) int {
				for next++; shardOf(next) != shard; next++ {
				}
				return next
			}
			busy, saver, newcomer := another(held), another(1-held), another(1-held)
			send := func(key, n int, cost int64) {
				if got, err := s.EnqueueBatch(key, slices.Repeat([]firq.Task[int]{{Payload: key, Cost: cost}}, n)); got < n {
					t.Error(err)
				}
			}
			if send(busy, 1000, 1); !idle {
				send(saver, 1, 1<<40)
			}
			Serve(s, began, 1, 1)
			served := 0
			log.amid = func(shard int) {
				if served++; served == before {
					if shard != held {
						t.Error("the wrong shard is served: this says nothing")
					}
					send(newcomer, 300, 1)
				}
			}
			ahead, most, least, newly := 0, 0, 0, 0
			for _, d := range Serve(s, 256, 1, 256)[before:] {
				if d.Tenant == busy {
					ahead++
				} else {
					ahead--
					newly++
				}
				most, least = max(most, ahead), min(least, ahead)
			}
			log.amid = nil
			if bound := int(law.Across); most-least > bound || newly < 50 {
				t.Errorf("shard %d is held, the other one was idle: %t: turns apart %d, the bound is %d; the newcomer had %d", held, idle, most-least, bound, newly)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// history: neither what was served before, nor where the count of rounds stands, makes a difference.
func history(t *testing.T, build Maker) {
	for s, shards := range []int{1, 2, 8} {
		for i, m := range []Mix{Random, Cheap, Costly} {
			if testing.Short() && (s+i)%3 != 0 {
				continue // one mix each
			}
			x := setup{shards: shards, crowd: 20, consumers: 1, batch: 1, slack: 1, mix: m}
			for _, x.round = range []uint64{1<<61 - 20, 1<<62 - 20, 1<<62 + 1<<61 - 20, 1<<63 - 20, 1<<63 - 1} {
				x.must(t, build)
			}
			x.round = 0
			for _, x.history = range Histories {
				x.must(t, build)
				x.consumers, x.batch = 5-x.consumers, 33-x.batch
			}
		}
	}
}

// newFirst: a tenant that comes gets a turn ahead of its order.
func newFirst(t *testing.T, build Maker) {
	for _, m := range []Mix{Random, Cheap, Costly} {
		f := setup{shards: 1, crowd: 50, consumers: 1, batch: 1, slack: 1, mix: m, newFirst: true}.must(t, build)
		t.Logf("%s: %v", m.Name, f.within.Proved)
	}
}

// wait is theorem 3: how much is served to others before a newcomer's first task.
func wait(t *testing.T, build Maker) {
	var b strings.Builder
	for _, shards := range []int{1, 2, 8} {
		for _, m := range []Mix{Random, Cheap, Costly} {
			nearest, err := waits(setup{shards: shards, crowd: 20, slack: 1, mix: m}, build)
			if err != nil {
				t.Errorf("%d shards, %s: %v", shards, m.Name, err)
			}
			fmt.Fprintf(&b, "| %d | %s | %v |\n", shards, m.Name, nearest)
		}
	}
	t.Logf("shards, mix, cost served before a newcomer\n%s", &b)
}

func waits(x setup, build Maker) (nearest Nearest, err error) {
	s, shardOf, err := build(firq.Config[int, int]{Shards: x.shards, FairnessSlack: x.slack, MaxGlobal: 1 << 20}, new(Log), x.round)
	if err != nil {
		return nearest, err
	}
	defer func() { _ = s.Close() }()
	keys := x.place(shardOf)
	r := rand.New(rand.NewPCG(uint64(x.shards), 3))
	load := x.mix.Draw(r, len(keys))
	tasks, err := Admit(s, load, keys, Everybody)
	if err != nil {
		return nearest, err
	}
	for n := range 50 {
		key := 1<<30 + n
		Serve(s, r.IntN(tasks/200), 1, 1)
		quantum, cost := 1+r.Int64N(20), 1+r.Int64N(60)
		s.SetQuantum(key, quantum)
		if err := s.Enqueue(key, firq.Task[int]{Payload: -1, Cost: cost}); err != nil {
			return nearest, err
		}
		turns := (cost-1)/quantum + 1
		var most, served int64
		for i, t := range load.Tenants {
			k := turns
			if shardOf(keys[i]) != shardOf(key) {
				k += Proved(x.slack).Across
			}
			most += k*t.Quantum + t.Costliest - 1
		}
		for it, ok := s.TryDequeue(); it.Payload >= 0; it, ok = s.TryDequeue() {
			if !ok {
				return nearest, fmt.Errorf("newcomer %d is not served", n)
			}
			served += it.Cost
		}
		if served > most {
			return nearest, fmt.Errorf("newcomer %d, of quantum %d, waited for cost %d before its task of cost %d; the bound is %d", n, quantum, served, cost, most)
		}
		nearest.add(Tenant{Quantum: 1}, Tenant{Quantum: 1}, served, most)
	}
	return nearest, nil
}
