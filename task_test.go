package firq_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func TestTaskValidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		task  firq.Task[int]
		field string // "": valid
	}{
		{"zero value", firq.Task[int]{}, ""},
		{"highest", firq.Task[int]{Cost: math.MaxInt64, Priority: firq.PriorityCritical}, ""},
		{"lowest", firq.Task[int]{Cost: 1, Priority: firq.PriorityVeryLow}, ""},
		{"deadline passed", firq.Task[int]{Deadline: time.Unix(1, 0)}, ""},
		{"cost -1", firq.Task[int]{Cost: -1}, "Cost is -1"},
		{"least cost", firq.Task[int]{Cost: math.MinInt64}, "Cost is -9223372036854775808"},
		{"priority 7", firq.Task[int]{Priority: firq.PriorityCritical + 1}, "Priority is 7, must be 0 (normal) to 6"},
		{"priority 255", firq.Task[int]{Priority: 255}, "Priority is 255"},
	} {
		err := tt.task.Validate()
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.field != "" && (!errors.Is(err, firq.ErrInvalidTask) || errors.Is(err, firq.ErrRejected)):
			t.Errorf("%s: got %v, want ErrInvalidTask and nothing else", tt.name, err)
		case tt.field != "" && !strings.Contains(err.Error(), tt.field):
			t.Errorf("%s: got %q, want it to say %q", tt.name, err, tt.field)
		}
	}
}

func TestTaskValidateAllocatesNothing(t *testing.T) {
	task := firq.Task[int]{Cost: 5, Priority: firq.PriorityHigh}
	if n := testing.AllocsPerRun(100, func() { _ = task.Validate() }); n != 0 {
		t.Errorf("%v allocations for a valid task, want 0", n)
	}
}

func TestPriority(t *testing.T) {
	names := []string{"default", "very-low", "low", "normal", "high", "very-high", "critical", "Priority(7)"}
	for i, want := range names {
		if got := firq.Priority(i).String(); got != want {
			t.Errorf("Priority %d: got %q, want %q", i, got, want)
		}
	}
	if got := firq.Priority(255).String(); got != "Priority(255)" {
		t.Errorf("Priority 255: got %q", got)
	}
	if firq.PriorityVeryLow != 1 || firq.PriorityNormal != 3 || firq.PriorityCritical != 6 {
		t.Error("priorities are not 1 to 6 with 3 in the middle: they are stored in traces")
	}
}

type charge struct {
	token uint64
	delta int64
}

// fakeSettler notes what an Item tells its scheduler.
type fakeSettler struct {
	done    []uint64
	charged []charge
}

func (f *fakeSettler) SettleDone(token uint64) { f.done = append(f.done, token) }

func (f *fakeSettler) SettleCharge(token uint64, delta int64) {
	f.charged = append(f.charged, charge{token, delta})
}

func (f *fakeSettler) want(t *testing.T, done []uint64, charged []charge) {
	t.Helper()
	if !slices.Equal(f.done, done) || !slices.Equal(f.charged, charged) {
		t.Errorf("got done %v charged %v, want %v and %v", f.done, f.charged, done, charged)
	}
}

func TestItemDone(t *testing.T) {
	var f fakeSettler
	var it firq.Item[string, int]
	it.Bind(&f, 42)
	other := it
	it.Done()
	other.Done() // a copy names the same delivery; that it counts once is the settler's part
	f.want(t, []uint64{42, 42}, nil)
}

func TestItemBindAgain(t *testing.T) {
	var first, second fakeSettler
	var it firq.Item[string, int]
	it.Bind(&first, 1)
	it.Bind(&second, 2)
	it.Done()
	it.Charge(3)
	first.want(t, nil, nil)
	second.want(t, []uint64{2}, []charge{{2, 3}})
}

func TestItemCharge(t *testing.T) {
	var f fakeSettler
	it := firq.Item[string, int]{Cost: 10}
	it.Bind(&f, 9)
	for _, delta := range []int64{5, -5, 0, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		it.Charge(delta)
	}
	// 0 changes nothing; the least value has no negative and counts as one more.
	f.want(t, nil, []charge{{9, 5}, {9, -5}, {9, math.MaxInt64}, {9, -math.MaxInt64}, {9, -math.MaxInt64}})
	if it.Cost != 10 {
		t.Errorf("Charge changed the item's Cost to %d", it.Cost)
	}
}

func TestItemUnbound(t *testing.T) {
	it := firq.Item[string, int]{Tenant: "a"}
	it.Done() // must not panic
	it.Charge(1)
	it.Charge(math.MinInt64)
	it.Bind(nil, 7)
	it.Done()
	it.Charge(1)
}
