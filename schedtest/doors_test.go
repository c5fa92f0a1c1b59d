package schedtest

import (
	"slices"
	"testing"

	"github.com/firq-go/firq"
)

// spy records by which door each call came.
type spy struct {
	sched
	seen *[]string
}

func (s spy) note(door string) { *s.seen = append(*s.seen, door) }

func (s spy) Enqueue(string, task) error { s.note("key"); return nil }

func (s spy) EnqueueBatch(string, []task) (int, error) { s.note("key"); return 0, nil }

func (s spy) Tenant(string) firq.Handle[string, int] { return spyHandle{spy: s} }

type spyHandle struct {
	firq.Handle[string, int]
	spy spy
}

func (h spyHandle) Enqueue(task) error { h.spy.note("handle"); return nil }

func (h spyHandle) EnqueueBatch([]task) (int, error) { h.spy.note("handle"); return 0, nil }

// TestDoors: a check gets schedulers by key, by handle and by both, and the same ones with
// the same seed.
func TestDoors(t *testing.T) {
	walk := func(seed uint64, check string) (seen []string, kinds map[string]int) {
		d, kinds := (&doors{seed: seed}).of(check), map[string]int{}
		open := behind(d, func(config) (sched, error) { return spy{seen: &seen}, nil })
		for range 60 {
			s, err := open(config{})
			if err != nil {
				t.Fatal(err)
			}
			from := len(seen)
			for i := range 20 {
				_ = s.Enqueue("a", task{Payload: i})
				_, _ = s.EnqueueBatch("a", []task{{Payload: i}})
			}
			switch own := slices.Compact(slices.Clone(seen[from:])); len(own) {
			case 1:
				kinds[own[0]]++
			default:
				kinds["both"]++
			}
		}
		return seen, kinds
	}
	seen, kinds := walk(1, "group/check")
	for _, kind := range []string{"key", "handle", "both"} {
		if kinds[kind] < 10 {
			t.Errorf("of 60 schedulers: %v", kinds)
		}
	}
	if again, _ := walk(1, "group/check"); !slices.Equal(again, seen) {
		t.Error("the same seed draws other doors")
	}
	for _, other := range []struct {
		seed  uint64
		check string
	}{{2, "group/check"}, {1, "group/another"}} {
		if got, _ := walk(other.seed, other.check); slices.Equal(got, seen) {
			t.Errorf("%+v draws the same doors", other)
		}
	}
}
