package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlay(t *testing.T) {
	var out strings.Builder
	if err := (party{people: 4, lines: 60, nap: 100 * time.Microsecond}).play(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"person-0  has heard 180 of 180", "person-2  has heard 180 of 180", "slow      has heard",
		"* person-0 has left\n", "* person-1 is gone: ", "laughed too much", "lines that were dropped: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "slow      has heard 180") || strings.Contains(out.String(), "dropped: 0") {
		t.Errorf("the slow one has heard all of it:\n%s", out.String())
	}
}

func TestTooFew(t *testing.T) {
	if err := (party{people: 2}).play(t.Context(), new(strings.Builder)); err == nil {
		t.Error("two people are enough")
	}
}
