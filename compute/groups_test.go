package compute

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Behaviour 4: home while a slot is free there; else the load stays within the bound, and
// a spilled key is kept and joined as ever.
func TestBoundedLoad(t *testing.T) {
	// Where the keys are at home is chance. One time in a hundred no group is ever full
	// before the others.
	spilled := uint64(0)
	for range 5 {
		spilled += boundedLoad(t)
	}
	if spilled == 0 {
		t.Error("no call was spilled")
	}
}

func boundedLoad(t *testing.T) (spilled uint64) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Groups: 4, Limit: 8, Gate: gate.Config[string]{MaxQueueAge: -1}})
		release := d.m.hold("k")
		first := d.start(background, "a", "k")
		joined := d.start(background, "a", "k")
		for i := range 100 {
			before := d.loads()
			d.start(background, "a", "k", NoCache(), d.With(d.m.exec)) // joins
			key := fmt.Sprint(i)
			d.m.hold(key)
			d.start(background, "a", key)
			after, grew := d.loads(), -1
			total, most := 1, 0
			for g := range before {
				total += before[g]
				most = max(most, after[g])
				if after[g] > before[g] {
					grew = g
				}
			}
			if grew < 0 {
				t.Fatalf("call %d went nowhere: %v, %v", i, before, after)
			}
			if bound := int(math.Ceil(1.25 * float64(total) / 4)); before[grew] >= bound && before[grew] >= 2 {
				t.Fatalf("call %d: group %d had %d of %v; the bound is %d", i, grew, before[grew], before, bound)
			}
		}
		release()
		synctest.Wait()
		first.is(Executed, "a/k#1")
		if joined.is(Coalesced, "a/k#1"); joined.info.Group != first.info.Group {
			t.Errorf("groups %d and %d", joined.info.Group, first.info.Group)
		}
		for i := range 100 {
			d.m.mu.Lock()
			ch := d.m.block[fmt.Sprint(i)]
			d.m.mu.Unlock()
			close(ch)
		}
		synctest.Wait()
		st := d.Stats()
		if spilled = uint64(st.Spilled); st.Executions != 101 {
			t.Errorf("%d executions", st.Executions)
		}
	})
	return spilled
}

func (d *desk) loads() []int {
	var all []int
	for _, g := range d.Stats().Groups {
		all = append(all, g.InUse+g.Waiting)
	}
	return all
}

// No spilling: all go home, however long the queue.
func TestNeverSpill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Groups: 4, Limit: 4, Spill: math.Inf(1), NoCoalesce: true})
		release := d.m.hold("k")
		for range 20 {
			d.start(background, "a", "k")
		}
		most := 0
		for _, n := range d.loads() {
			most = max(most, n)
		}
		if most != 20 {
			t.Errorf("loads %v", d.loads())
		}
		release()
		synctest.Wait()
		if st := d.Stats(); st.Spilled != 0 {
			t.Errorf("spilled %d", st.Spilled)
		}
	})
}

func (d *desk) limits() []int {
	var all []int
	for _, g := range d.Stats().Groups {
		all = append(all, g.Limit)
	}
	return all
}

// The limit is divided exactly, and changes while running.
func TestLimitIsDivided(t *testing.T) {
	d := open(t, config{Groups: 4, Limit: 10})
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "[3 3 2 2]"},
		{func() { d.SetLimit(3) }, "[1 1 1 0]"},
		{func() { d.SetGroups(2) }, "[2 1]"},
		{func() { d.SetGroups(5) }, "[1 1 1 0 0]"},
		{func() { d.SetLimit(0) }, "[0 0 0 0 0]"},
		{func() { d.SetLimit(5) }, "[1 1 1 1 1]"},
		{func() { d.SetGroups(1) }, "[5]"},
		{func() { d.SetGroups(MaxGroups) }, ""},
		{func() { d.SetGroups(4); d.SetLimit(10) }, "[3 3 2 2]"},
	} {
		step.do()
		if got := fmt.Sprint(d.limits()); step.want != "" && got != step.want {
			t.Errorf("limits %s, want %s", got, step.want)
		}
	}
	for _, bad := range []func(){
		func() { d.SetLimit(-1) }, func() { d.SetLimit(gate.MaxSlots + 1) },
		func() { d.SetGroups(0) }, func() { d.SetGroups(MaxGroups + 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			bad()
		}()
	}
}

// What waits in a group that goes, or loses its slots, queues elsewhere, and keeps the
// time that it has waited.
func TestWaitersMove(t *testing.T) {
	for name, shrink := range map[string]func(d *desk){
		"groups": func(d *desk) { d.SetGroups(1) },
		"limit":  func(d *desk) { d.SetLimit(1) },
		"pause":  func(d *desk) { d.SetLimit(0); synctest.Wait(); d.SetLimit(1) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := open(t, config{Groups: 4, Limit: 4})
				var all []*answered
				for i := range 40 {
					d.m.hold(fmt.Sprint(i))
					all = append(all, d.start(background, "a", fmt.Sprint(i)))
				}
				time.Sleep(2 * time.Second)
				shrink(d)
				synctest.Wait()
				st, more := d.Stats(), 0
				if name == "groups" {
					more = 3 // group 0 has the whole limit; what executes elsewhere is on top
				}
				if st.Executing != 4+more || st.Waiting != 36-more || st.Groups[0].Waiting != 36-more {
					t.Errorf("executing %d, waiting %d, of these in group 0 %d", st.Executing, st.Waiting, st.Groups[0].Waiting)
				}
				release := func() {
					for i := range 40 {
						d.m.mu.Lock()
						if ch := d.m.block[fmt.Sprint(i)]; ch != nil {
							close(ch)
							delete(d.m.block, fmt.Sprint(i))
						}
						d.m.mu.Unlock()
					}
				}
				time.Sleep(999 * time.Millisecond)
				synctest.Wait()
				for i, a := range all {
					if a.done.Load() {
						t.Fatalf("call %d: error %v", i, a.err)
					}
				}
				if name == "groups" {
					time.Sleep(time.Millisecond) // 3 s since they came
					synctest.Wait()
					refused := 0
					for _, a := range all {
						if a.done.Load() {
							a.failed(None, firq.ErrTimeout)
							refused++
						}
					}
					if refused != 33 {
						t.Errorf("%d refused, want 33", refused)
					}
				}
				release()
				synctest.Wait()
				for i, a := range all {
					if a.err == nil {
						a.is(Executed, fmt.Sprintf("a/%d#1", i))
					} else if name != "groups" {
						t.Errorf("call %d: %v", i, a.err)
					}
				}
			})
		})
	}
}

// Behaviour 4: growing moves keys to the new groups only, shrinking only those of the
// groups that go, and no more than they must.
func TestKeysMoved(t *testing.T) {
	const keys = 100_000
	for _, n := range []int{2, 16, 64} {
		moved, counts := 0, make([]int, n)
		for i := range keys {
			h := mix(uint64(i) * 0x9e3779b97f4a7c15)
			before, after := heaviest(h, n, nil), heaviest(h, n+1, nil)
			counts[before]++
			if before != after {
				moved++
				if after != n {
					t.Fatalf("a key moves from %d to %d of %d", before, after, n+1)
				}
			}
		}
		if ideal := float64(keys) / float64(n+1); float64(moved) > 1.1*ideal {
			t.Errorf("%d groups: %d keys moved, ideal %.0f", n, moved, ideal)
		}
		for g, c := range counts {
			if mean := float64(keys) / float64(n); float64(c) > 1.1*mean || float64(c) < 0.9*mean {
				t.Errorf("group %d of %d has %d keys, mean %.0f", g, n, c, mean)
			}
		}
	}
}

// The cache has nothing to do with groups.
func TestGroupsDoNotChangeTheCache(t *testing.T) {
	d := open(t, config{Groups: 16, Limit: 16, TTL: time.Hour})
	for i := range 1000 {
		d.ask(background, "a", fmt.Sprint(i))
	}
	d.SetGroups(3)
	for i := range 1000 {
		d.ask(background, "a", fmt.Sprint(i)).is(Hit, fmt.Sprintf("a/%d#1", i))
	}
}

func TestSetQuantum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, config{Limit: 1, FIFO: true, Gate: gate.Config[string]{MaxQueueAge: -1}})
		d.SetGroups(2)
		d.SetLimit(1)
		d.SetQuantum("b", 3)
		release := d.m.hold("busy")
		d.start(background, "x", "busy")
		for i := range 40 {
			d.start(background, "a", fmt.Sprint("a", i))
			d.start(background, "b", fmt.Sprint("b", i))
		}
		release()
		synctest.Wait()
		n := map[string]int{}
		for _, c := range d.m.calls[1:41] {
			n[c.Tenant]++
		}
		if n["b"] < 28 || n["b"] > 32 {
			t.Errorf("%v, want about 10 and 30", n)
		}
		d.SetQuantum("b", 0)
	})
}

// The adaptive limit is that of all groups together, and is moved end to end.
func TestAdaptive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := openWith(t, newMaker(), config{
			Groups: 2, Limit: 2, NoCoalesce: true,
			Adaptive: &gate.AdaptiveConfig{Min: 2, Max: 32, Window: 10 * time.Millisecond, MinSamples: 4},
		}, sleeper)
		if st := d.Stats(); st.Limit != 2 {
			t.Errorf("limit %d, want Min", st.Limit)
		}
		ends := time.Now().Add(300 * time.Millisecond)
		for g := range 40 {
			go func() {
				for i := 0; time.Now().Before(ends); i++ {
					d.ask(background, "a", fmt.Sprint(g, " ", i))
				}
			}()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		st := d.Stats()
		if st.Limit < 16 || st.Groups[0].Limit+st.Groups[1].Limit != st.Limit {
			t.Errorf("limit %d, groups %v", st.Limit, d.limits())
		}
		d.SetLimit(5)
		if st := d.Stats(); st.Limit != 5 {
			t.Errorf("limit %d", st.Limit)
		}
	})
}
