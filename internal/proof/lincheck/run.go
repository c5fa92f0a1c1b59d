package lincheck

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/proof/race"
)

// Run records histories of what build makes, and fails for one that the contract
// does not allow. FIRQ_LINEAR is the number of histories of each case, FIRQ_SEED
// repeats the plans of a run, though not its schedules.
func Run(t *testing.T, free Relaxation, build func(Config) (Scheduler, error)) {
	most := 600
	if race.Enabled {
		most = 100
	}
	n := number(t, "FIRQ_LINEAR", most)
	if testing.Short() {
		n = min(n, most/10)
	}
	seed := number(t, "FIRQ_SEED", int(time.Now().UnixNano()))
	for _, cs := range Cases() {
		t.Run(cs.Name, func(t *testing.T) {
			cs.Run(t, n, seed, free, build)
		})
	}
}

// Run checks n histories of one case.
func (cs Case) Run(t *testing.T, n, seed int, free Relaxation, build func(Config) (Scheduler, error)) {
	var seen [Atomic + 1]int
	start := time.Now()
	for i := range n {
		verdict, h, err := cs.one(rand.New(rand.NewPCG(uint64(seed), uint64(i))), free, build)
		seen[verdict]++
		if err == nil {
			continue
		}
		explained := ""
		if h != nil {
			explained = "\n" + Explain(h)
		}
		t.Fatalf("history %d: %v%s\nagain: FIRQ_SEED=%d FIRQ_LINEAR=%d go test -race -run '^%s$'", i, err, explained, seed, i+1, t.Name())
	}
	t.Logf("%d histories, %.0f per second; %d not in single steps; %d not decided",
		n, float64(n)/time.Since(start).Seconds(), seen[Right], seen[Unknown])
}

// one records and checks one history.
func (cs Case) one(random *rand.Rand, free Relaxation, build func(Config) (Scheduler, error)) (Verdict, *History, error) {
	h, err := record(cs.draw(random), free, build)
	if err != nil {
		return Wrong, h, err
	}
	verdict, err := Check(h)
	return verdict, h, err
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
