package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// No money is lost or made in either way of transfer, although accounts crash.
func TestMoney(t *testing.T) {
	b := bank{accounts: 4, customers: 6, transfers: 300, crash: 20}
	for _, tellers := range []bool{false, true} {
		r, err := b.play(t.Context(), tellers)
		if err != nil {
			t.Fatal(err)
		}
		if r.sum != 400 {
			t.Errorf("tellers %t: there are %d, want 400", tellers, r.sum)
		}
		if all := r.done + r.funds + r.deadlocks + r.crashed; all != 1800 || r.done == 0 || r.crashed == 0 || r.restarts == 0 {
			t.Errorf("tellers %t: %+v", tellers, r)
		}
		if tellers && r.deadlocks > 0 {
			t.Errorf("%d deadlocks with tellers: %s", r.deadlocks, r.example)
		}
	}
}

func TestCompare(t *testing.T) {
	var out strings.Builder
	if err := (bank{accounts: 3, customers: 2, transfers: 20}).compare(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Accounts call each other: 40 transfers", "A teller calls both", "money before 300, after 300"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}
