package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var everySystem = []string{ours, pool, semaphored, groupCache, loading}

// patience is when a test that waits has failed.
const patience = 20 * time.Second

// Each system answers what the work says, keeps it, and makes it once for calls that come
// together; a key's tenant is part of it.
func TestSystems(t *testing.T) {
	for _, name := range everySystem {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { answersOnce(t, name) })
		})
	}
}

func answersOnce(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var runs atomic.Int64
	release := make(chan struct{})
	s, err := makeSystem(name, setup{slots: 4, size: 1_000, work: func(_ context.Context, k key) (uint64, error) {
		runs.Add(1)
		<-release
		return 1_000*k.Tenant + k.Key, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if v, err := s.do(ctx, key{Tenant: 3, Key: 7}); v != 3_007 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
	synctest.Wait() // all have asked: else some may look in the cache before, and ask after, the first is done
	close(release)
	all.Wait()
	if n := runs.Load(); n != 1 {
		t.Errorf("8 calls of one key took %d executions", n)
	}
	for _, k := range []key{{Tenant: 4, Key: 7}, {Tenant: 3, Key: 8}, {Tenant: 3, Key: 7}} {
		if v, err := s.do(ctx, k); v != 1_000*k.Tenant+k.Key || err != nil {
			t.Errorf("%v: got %d, %v", k, v, err)
		}
	}
	if n := runs.Load(); n != 3 {
		t.Errorf("%d executions of 3 keys", n)
	}
}

// As many executions at the same time as there are slots, where there is a limit; what fails is
// the call's, and is not kept.
func TestSlotsAndErrors(t *testing.T) {
	for _, name := range []string{ours, pool, semaphored} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int64
				no, release := errors.New("no"), make(chan struct{})
				s, err := makeSystem(name, setup{slots: 2, size: 100, work: func(context.Context, key) (uint64, error) {
					runs.Add(1)
					<-release
					return 0, no
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.close()
				var all sync.WaitGroup
				for i := range uint64(50) {
					all.Go(func() {
						for range 2 {
							if _, err := s.do(t.Context(), key{Key: i}); !errors.Is(err, no) {
								t.Error(err)
							}
						}
					})
				}
				synctest.Wait()
				if n := runs.Load(); n != 2 {
					t.Errorf("%d executions at once", n)
				}
				close(release)
				all.Wait()
				if n := runs.Load(); n != 100 {
					t.Errorf("%d executions of 100 calls that failed", n)
				}
			})
		})
	}
}

// Work that begins after its call's deadline is late, and only that.
func TestLate(t *testing.T) {
	o := new(overloaded)
	for i, until := range []time.Time{time.Now().Add(-time.Second), time.Now().Add(time.Hour)} {
		if _, err := o.sleeps(context.WithValue(t.Context(), deadlineKey{}, until), key{}); err != nil {
			t.Error(err)
		}
		if o.late.Load() != 1 || o.executed.Load() != int64(i+1) {
			t.Errorf("%d late of %d", o.late.Load(), o.executed.Load())
		}
	}
}

// A trace whose keys all fit has no misses but the first ones; a scan has no hits.
func TestTraces(t *testing.T) {
	for _, name := range ratioSystems {
		hits, _, err := traces[0].measure(t.Context(), name, 2*universe, 20_000, 1)
		none := trace{name: "scan", keys: traces[1].keys}
		scans, _, err2 := none.measure(t.Context(), name, 1, 20_000, 1)
		if err != nil || err2 != nil || hits < 50 || hits > 99 || scans > 50 {
			t.Errorf("%s: %.1f %% and %.1f %%, %v, %v", name, hits, scans, err, err2)
		}
	}
}

// Every part runs, every goal is in the table, and the file holds what the tables do.
func TestExecute(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "out.json"), filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(log, []byte("at_ms,tenant,cost\n"+strings.Repeat("0,a,7\n1,b,9\n", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	for over := 300 * time.Millisecond; ; over *= 2 { // on a busy machine the router may have no load in so short a time
		out.Reset()
		errOut.Reset()
		code := command.Execute(t.Context(), app, []string{"compute",
			"-rounds", "1", "-seeds", "1", "-time", "5ms", "-over", over.String(), "-calls", "200", "-requests", "3000",
			"-entries", "1000", "-moved", "2000", "-weblog", log, "-o", path,
		}, &out, &errOut)
		if code == 0 {
			break
		}
		if !strings.Contains(errOut.String(), "no load was seen") || over > patience {
			t.Fatalf("exit code %d:\n%s", code, &errOut)
		}
	}
	for _, g := range goals() {
		if !strings.Contains(out.String(), "| "+g.what+": "+g.metric+" at ") {
			t.Errorf("no goal %s, %s", g.what, g.metric)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if f.Schema != schema || f.Interrupted || len(f.Figures) == 0 || f.Modules["github.com/maypok86/otter/v2"] == "" {
		t.Errorf("%.300s", text)
	}
	for _, x := range f.Figures {
		if math.IsNaN(x.Value) || x.Value < 0 {
			t.Errorf("%+v", x)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-parts", "speed,nothing"}, {"-time", "-1s"}, {"more"}, {"-nonsense"}, {"-parts", "ratio", "-weblog", "nowhere.csv"}} {
		var out, errOut strings.Builder
		if code := command.Execute(t.Context(), app, append([]string{"compute"}, args...), &out, &errOut); code != 2 || errOut.Len() == 0 || out.Len() != 0 {
			t.Errorf("%v: exit code %d, %q", args, code, errOut.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	if code := command.Execute(ctx, app, []string{"compute", "-parts", "overload", "-rounds", "1", "-over", "1h"}, &out, &errOut); code != 130 {
		t.Errorf("interrupted: exit code %d: %s", code, &errOut)
	}
}

// A goal that is missed does not count as reached, and a ratio is ours to the other's,
// round by round.
func TestMarkdown(t *testing.T) {
	f := &file{Rounds: 3}
	for round, x := range []float64{10, 20, 30} {
		f.add(loads[0].name, ours, "calls/s", round, 12*x)
		f.add(loads[0].name, pool, "calls/s", round, 10*x)
		f.add(loads[1].name, ours, "calls/s", round, 11*x)
		f.add(loads[1].name, pool, "calls/s", round, 10*x)
		f.add("one hit", ours, "ns", round, 90+x/2) // median 100
		f.add("one hit", ours, "allocations", round, 0.001)
		f.add("one miss", ours, "allocations", round, 1.01)
		f.add(memoryCase, ours, "bytes", round, 60)
		f.add(memoryCase, otterAlone, "bytes", round, 50)
	}
	var out strings.Builder
	markdown(&out, f)
	for _, want := range []string{
		"| hits, one hot key | calls/s | pool+otter+singleflight | 200 | 100 to 300 | 1.20 |",
		"| hits, one hot key: calls/s at least 1.20 x | 240 | 200 (pool+otter+singleflight) | 1.20 x | yes |",
		"| hits, 10,000 zipf keys: calls/s at least 1.20 x | 220 | 200 (pool+otter+singleflight) | 1.10 x | **no** |",
		"| one hit: ns at most 100 | 100 |  |  | yes |",
		"| one hit: allocations at most 0.00 | 0.00 |  |  | yes |",
		"| one miss: allocations at most 1.00 | 1.01 |  |  | **no** |",
		"| memory per entry: bytes at most 1.00 x | 60.0 | 50.0 (otter v2) | 1.20 x | **no** |",
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(out.String(), "overload") || t.Failed() {
		t.Errorf("what was not measured is there, or see above:\n%s", &out)
	}
	if turn(everySystem, 1)[0] != pool || len(turn(everySystem, 7)) != len(everySystem) {
		t.Error("the systems do not take turns")
	}
}
