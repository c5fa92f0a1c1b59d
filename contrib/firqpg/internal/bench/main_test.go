package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/contrib/firqpg/internal/pgserver"
)

// Each part that takes less than seconds prints its row.
func TestBench(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	if _, err := pgserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := command(ctx, strings.Fields("-parts throughput,single,batches,fairness,backlog -systems firqpg -tasks 500 -rounds 1 -noisy 500 -queued 1000"), &out); err != nil {
		t.Fatal(err, out.String())
	}
	if n := strings.Count(out.String(), "| firqpg | 1 | "); n != 9 {
		t.Errorf("%d rows, want 9:\n%s", n, out.String())
	}
	if err := command(ctx, strings.Fields("-parts nothing"), &out); err == nil {
		t.Error("an unknown part is no error")
	}
}
