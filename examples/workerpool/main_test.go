package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPool: the jobs of both tenants are done both ways. The channel makes the quiet tenant
// wait for the noisy backlog, firq does not.
func TestPool(t *testing.T) {
	l := load{workers: 2, noisy: 300, quiet: 5, size: 256}
	channel := throughChannel(l)
	fair, err := throughFirq(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []interface{ Count(string) int }{channel, fair} {
		if table.Count("noisy") != l.noisy || table.Count("quiet") != l.quiet {
			t.Errorf("served %d and %d", table.Count("noisy"), table.Count("quiet"))
		}
	}
	// In jobs, not in time: it depends on the order, and hardly on the machine.
	if n := channel.Ahead("quiet"); n < 100 {
		t.Errorf("through the channel, the quiet tenant waited for %d jobs only", n)
	}
	if n := fair.Ahead("quiet"); n > 30 {
		t.Errorf("through firq, the quiet tenant waited for %d jobs", n)
	}
}

func TestPrints(t *testing.T) {
	var out strings.Builder
	if err := compare(t.Context(), &out, load{workers: 2, noisy: 20, quiet: 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"One channel", "firq", "noisy", "quiet", "waited p50"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}
