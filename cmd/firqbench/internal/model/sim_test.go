package model

import (
	"errors"
	"math"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
)

// flat is a machine on which nothing costs anything but transfers.
func flat(transfer float64) Machine {
	return Machine{Transfer: transfer, Overlap: 10, Patient: 1e6, Recent: 1000, Touch: 250}
}

func near(got, want, part float64) bool { return math.Abs(got-want) <= part*want }

// loop has a goroutine per processor work, and then write one of the lines; it returns how
// often they did per ns.
func loop(t *testing.T, processors int, lines int, work, transfer float64) float64 {
	t.Helper()
	const rounds = 2000
	s := newSim(flat(transfer), processors)
	shared := make([]line, lines)
	done := 0
	var again step
	again = func(g *goroutine) step {
		g.on.now += work
		return func(g *goroutine) step {
			s.write(g.on, &shared[g.on.id%lines])
			done++
			return again
		}
	}
	for range processors {
		s.start(again)
	}
	if err := s.run(t.Context(), func() bool { return done == rounds*processors }); err != nil {
		t.Fatal(err)
	}
	end := 0.0
	for _, p := range s.processors {
		end = max(end, p.now)
	}
	return float64(done) / end
}

// Lines of their own: twice the processors do twice as much. One line for all: what is done
// is what can be moved. Between them the line is at most as busy as can be.
func TestLines(t *testing.T) {
	for _, n := range []int{1, 2, 8, 64} {
		if got, want := loop(t, n, n, 100, 50), float64(n)/100; !near(got, want, 0.01) {
			t.Errorf("%d processors, a line for each: %v per ns, want %v", n, got, want)
		}
	}
	for _, n := range []int{8, 64} {
		if got, want := loop(t, n, 1, 100, 50), 1.0/50; !near(got, want, 0.01) {
			t.Errorf("%d processors, one line: %v per ns, want %v", n, got, want)
		}
	}
	if got, want := loop(t, 2, 1, 100, 50), 2.0/150; !near(got, want, 0.01) {
		t.Errorf("2 processors, one line: %v per ns, want %v", got, want)
	}
}

// What others have read has to come again before it is written, and is read for nothing
// until then.
func TestRead(t *testing.T) {
	s := newSim(flat(10), 71)
	a, b, c := s.processors[0], s.processors[70], s.processors[2]
	a.now, b.now, c.now = 0, 0, 0
	var l line
	for i, do := range []struct {
		p     *processor
		write bool
		took  float64
	}{
		{a, true, 0}, {a, true, 0}, {a, false, 0}, // nobody else has it
		{b, false, 10}, {b, false, 0}, {a, false, 0}, // a copy for each
		{a, true, 20}, {a, true, 0}, {b, false, 20}, // which are taken back, after b was served; b waits for that
		{c, true, 40}, {a, false, 30}, // after b, and c
	} {
		before := do.p.now
		if do.write {
			s.write(do.p, &l)
		} else {
			s.read(do.p, &l)
		}
		if got := do.p.now - before; got != do.took {
			t.Errorf("step %d: took %v ns, want %v", i, got, do.took)
		}
	}
}

// Amdahl: with a part of the work under one lock, throughput goes against that of this part.
func TestAmdahl(t *testing.T) {
	const perTask, inside = 1000, 0.25
	a := Anatomy{Name: "lock", PutOut: 0.5 - inside/2, PutIn: inside / 2, TakeIn: inside / 2, TakeOut: 0.5 - inside/2, Spinning: true}
	for _, n := range []int{1, 2, 32} {
		want := min(float64(n)/perTask, 1/(inside*perTask)) * 1e9
		l := Load{Processors: n, Producers: n, Consumers: n, Tenants: 64, Window: 4096}
		got, err := newDriver(flat(0), a, perTask, l).throughput(t.Context(), 4000, 12_000)
		// With two processors and more, the goroutine that lets go of the lock may find the other at it.
		if part := 0.02 + 0.13*float64(min(n-1, 1)); err != nil || got > want*1.02 || !near(got, want, part) {
			t.Errorf("%d processors: %.0f tasks/s, %v; want %.0f", n, got, err, want)
		}
	}
	moved := a
	moved.QueueLines, moved.TenantLines = 3, 0
	l := Load{Processors: 32, Producers: 32, Consumers: 32, Tenants: 64, Window: 4096}
	got, err := newDriver(flat(100), moved, perTask, l).throughput(t.Context(), 4000, 12_000)
	// Per call the lines of the queue come, and that of the lock, which a waiter has taken.
	if want := 1e9 / (inside*perTask + 2*(3+2)*100); err != nil || !near(got, want, 0.15) {
		t.Errorf("with lines that move: %.0f tasks/s, %v; want about %.0f", got, err, want)
	}
}

// One processor does one thing at a time, and finds all lines where it left them.
func TestOneProcessor(t *testing.T) {
	for _, a := range anatomies {
		for _, l := range []Load{
			{Tenants: 64, Window: 4096}, {Tenants: 4096, Window: 4096}, {Tenants: 64, Window: 4096, Work: 100},
			{Tenants: 1, Window: 4096}, {Tenants: 64, Window: 60_000, Deep: true}, {Tenants: 64, Window: 4096, Pair: true},
		} {
			l.Processors, l.Producers, l.Consumers = 1, 8, 8
			got, err := newDriver(flat(200), a, 300, l).throughput(t.Context(), 3000, 9000)
			if want := 1e9 / (300 + 2*l.Work); err != nil || !near(got, want, 0.06) { // a window is 512 tasks
				t.Errorf("%s, %+v: %.0f tasks/s, %v; want %.0f", a.Name, l, got, err, want)
			}
		}
	}
}

// Nobody is in a mutex together with somebody else, and everybody gets it.
func TestMutex(t *testing.T) {
	for _, spinning := range []bool{false, true} {
		for _, processors := range []int{1, 2, 5} {
			m := Assumed()
			m.Patient = 5000 // so that it is handed over, too
			s := newSim(m, processors)
			mu := mutex{spinning: spinning}
			inside, total, starved := 0, 0, false
			var counts [8]int
			goroutines := len(counts)
			if spinning {
				goroutines = processors // a waiter keeps the processor
			}
			for i := range goroutines {
				var enter, in, out step
				enter = func(g *goroutine) step { g.on.now += 30; return s.acquire(g, &mu, in) }
				in = func(g *goroutine) step {
					if inside++; inside > 1 || mu.holder != g {
						t.Fatalf("%d are inside", inside)
					}
					g.on.now += 300
					return out
				}
				out = func(g *goroutine) step {
					inside--
					starved = starved || mu.starving
					counts[i]++
					total++
					if total%7 == 0 {
						return s.release(g, &mu, func(g *goroutine) step { return s.yield(g, enter) })
					}
					return s.release(g, &mu, enter)
				}
				s.start(enter)
			}
			if err := s.run(t.Context(), func() bool { return total == 20_000 }); err != nil {
				t.Fatal(err)
			}
			if starved && (spinning || processors == 1) || !starved && !spinning && processors == 2 {
				t.Errorf("spinning %t, %d processors: handed over: %t", spinning, processors, starved)
			}
			for i, n := range counts[:goroutines] {
				if n == 0 {
					t.Errorf("spinning %t, %d processors: goroutine %d was never inside: %v", spinning, processors, i, counts)
				}
			}
		}
	}
}

// Where nobody can go on, that is an error, and so is the end of the context.
func TestStuck(t *testing.T) {
	s := newSim(flat(1), 2)
	s.start(func(g *goroutine) step { return s.park(g, nil) })
	if err := s.run(t.Context(), func() bool { return false }); !errors.Is(err, errStuck) {
		t.Errorf("got %v", err)
	}
}

// Every task is queued once and taken once, and none is anywhere else; and a run is the
// same each time.
func TestConservation(t *testing.T) {
	var all errgroup.Group
	for _, a := range anatomies {
		for _, processors := range []int{1, 2, 8, 33} {
			for _, l := range []Load{
				{Tenants: 64, Window: 4096}, {Tenants: 1, Window: 4096}, {Tenants: 2000, Window: 4096}, {Tenants: 64, Window: 64},
				{Tenants: 64, Window: 8000, Deep: true}, {Tenants: 64, Window: 4096, Shards: 4, Work: 100}, {Tenants: 64, Window: 4096, Pair: true},
			} {
				all.Go(func() error {
					l.Processors, l.Producers, l.Consumers = processors, max(8, processors), max(8, processors)
					conserves(t, a, l)
					return nil
				})
			}
		}
	}
	_ = all.Wait()
}

func conserves(t *testing.T, a Anatomy, l Load) {
	const tasks = 1500
	var rates [2]float64
	for i := range rates {
		d := newDriver(Assumed(), a, 300, l)
		taken := map[int]bool{}
		d.watch = func(task int) {
			if taken[task] || task < 0 || task >= d.next {
				t.Errorf("%s, %+v: task %d is taken twice, or was never queued", a.Name, l, task)
			}
			taken[task] = true
		}
		var err error
		if rates[i], err = d.throughput(t.Context(), tasks/3, tasks); err != nil {
			t.Errorf("%s, %+v: %v", a.Name, l, err)
			return
		}
		queued := 0
		for _, x := range d.tenants {
			queued += x.tasks.len() + x.inbox.len()
			if x.inbox.len() > 0 && (!x.polled || x.tasks.len() == 0) && !slices.Contains(x.shard.announced, x) {
				t.Errorf("%s, %+v: nobody will look into an inbox with %d tasks", a.Name, l, x.inbox.len())
			}
		}
		for _, sh := range d.shards {
			for _, it := range sh.carried {
				if it.task != none {
					queued++
				}
			}
		}
		hands := d.next - len(taken) - queued // that producers are about to queue, or consumers have just got
		if queued != d.queued || hands < 0 || hands > l.Producers+l.Consumers {
			t.Errorf("%s, %+v: of %d tasks %d were taken, %d are queued, %d should be", a.Name, l, d.next, len(taken), queued, d.queued)
		}
	}
	if rates[0] != rates[1] {
		t.Errorf("%s, %+v: %v tasks/s, then %v", a.Name, l, rates[0], rates[1])
	}
}
