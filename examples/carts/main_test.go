package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/examples/internal/nodes"
)

// The test starts its own binary where the program starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == nodes.Flag {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// What was acknowledged is in the carts, once, although processes were killed.
func TestKilled(t *testing.T) {
	s := shop{carts: 8, articles: 50}
	var out strings.Builder
	if err := s.play(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	var acknowledged, found int
	_, last, _ := strings.Cut(out.String(), "\n  ")
	if _, err := fmt.Sscanf(last, "%d articles", &acknowledged); err != nil {
		t.Fatal(err, out.String())
	}
	_, last, _ = strings.Cut(last, "a new one finds ")
	if _, err := fmt.Sscanf(last, "%d articles", &found); err != nil {
		t.Fatal(err, out.String())
	}
	if acknowledged != 400 || found != 400 {
		t.Error(out.String())
	}
}
