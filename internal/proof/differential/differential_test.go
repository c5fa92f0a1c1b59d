package differential

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

type config = firq.Config[tenant, int]

func newBaseline(c config) (firq.Scheduler[tenant, int], error) { return baseline.New(c) }
func newLockfree(c config) (firq.Scheduler[tenant, int], error) { return lockfree.New(c) }

// compare returns a property: both cores answer a drawn script alike.
func compare(t *testing.T) func(*rapid.T) {
	return func(r *rapid.T) {
		c, ops := drawSetup(r), drawOps(r)
		want, got := run(t, newBaseline, c, ops), run(t, newLockfree, c, ops)
		if at := differ(want, got); at >= 0 {
			text := c.String() + "\n"
			for i := 0; i <= at; i++ {
				call := "at the end"
				if i < len(ops) {
					call = ops[i].String()
				}
				text += fmt.Sprintf("%3d %s\n    %s\n", i, call, want[i])
			}
			r.Fatalf("%slockfree, instead of the last line:\n    %s", text, got[at])
		}
	}
}

// differ returns where two runs differ first; -1: nowhere.
func differ(a, b []string) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// TestCores runs FIRQ_DIFFERENTIAL scripts, or some hundred.
func TestCores(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 100
	}
	if text := os.Getenv("FIRQ_DIFFERENTIAL"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("FIRQ_DIFFERENTIAL: %q, must be a number of scripts", text)
		}
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, compare(t))
}

func FuzzCores(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(compare(t))(t, data)
	})
}
