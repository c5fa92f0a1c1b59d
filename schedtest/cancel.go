package schedtest

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq"
)

// Ticket.Cancel, one call at a time.
var cancelChecks = []check{
	{name: "true once, then false", run: sharded(cancelOnce)},
	{name: "from the front, the middle and the end", run: cancelPlaces},
	{name: "capacity is free when it returns", run: cancelCapacity},
	{name: "capacity behind a live task is free", run: cancelBehind},
	{name: "after the task has ended", run: cancelAfter},
	{name: "a ticket serves again after every end", run: cancelReuse},
	{name: "a ticket in use is ErrInvalidTask", run: cancelInUse},
	{name: "a ticket twice in a batch", run: cancelBatch},
	{name: "an unused ticket", run: cancelUnused},
	{name: "of a blocked tenant's task", run: cancelBlocked},
	{name: "cancelled tasks buy no share", run: cancelShare},
}

func cancelOnce(t *testing.T, newSched maker, shards int) {
	var log dropLog
	s := open(t, newSched, config{Shards: shards, OnDrop: log.onDrop})
	var tk firq.Ticket
	admit(t, s, "a", task{Payload: 1, Ticket: &tk})
	length(t, s, 1)
	log.lines = nil
	mustCancel(t, &tk)
	same(t, "drops when Cancel has returned", log.all(), "a1 cancelled")
	length(t, s, 0)
	if tk.Cancel() {
		t.Fatal("the second Cancel is true")
	}
	idle(t, s)
	if st := s.Stats(); st.Cancelled != 1 || st.Dequeued != 0 {
		t.Errorf("Cancelled %d, Dequeued %d, want 1, 0", st.Cancelled, st.Dequeued)
	}
}

func cancelPlaces(t *testing.T, newSched maker) {
	for _, c := range []struct {
		out  []int
		want string
	}{
		{[]int{0}, "a2 a3 a4 a5"}, {[]int{2}, "a1 a2 a4 a5"}, {[]int{4}, "a1 a2 a3 a4"},
		{[]int{4, 0, 2}, "a2 a4"}, {[]int{1, 2, 3}, "a1 a5"}, {[]int{3, 2, 1, 0, 4}, ""},
	} {
		s := open(t, newSched, config{Shards: 1})
		var tks [5]firq.Ticket
		for i := range tks {
			admit(t, s, "a", task{Payload: i + 1, Ticket: &tks[i]})
		}
		for _, i := range c.out {
			mustCancel(t, &tks[i])
		}
		length(t, s, 5-len(c.out))
		same(t, fmt.Sprint("without ", c.out), drain(t, s), c.want)
	}
}

func cancelCapacity(t *testing.T, newSched maker) {
	for want, cfg := range map[error]config{
		firq.ErrGlobalFull: {MaxGlobal: 1}, firq.ErrTenantFull: {MaxPerTenant: 1},
	} {
		for _, shards := range []int{1, 8} {
			cfg.Shards = shards
			s := open(t, newSched, cfg)
			var tk firq.Ticket
			for i := range 500 {
				admit(t, s, "a", task{Payload: i, Ticket: &tk})
				refuse(t, s, "a", task{}, want)
				mustCancel(t, &tk)
			}
			load(t, s, "a", 1)
		}
	}
}

// cancelBehind: a cancelled task that stands behind a live one frees its place too.
func cancelBehind(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxGlobal: 100})
	load(t, s, "a", 1)
	tks := make([]firq.Ticket, 99)
	for i := range tks {
		admit(t, s, "a", task{Payload: i, Ticket: &tks[i]})
	}
	refuse(t, s, "b", task{}, firq.ErrGlobalFull)
	for i := range tks {
		tks[i].Cancel()
	}
	length(t, s, 1)
	for i := range 99 {
		admit(t, s, fmt.Sprint("b", i), task{})
	}
	refuse(t, s, "b", task{}, firq.ErrGlobalFull)
}

// ends are the ways in which a task with a ticket ends without Cancel.
var ends = map[string]func(*testing.T, sched, *firq.Ticket){
	"delivered": func(t *testing.T, s sched, tk *firq.Ticket) {
		admit(t, s, "a", task{Ticket: tk})
		take(t, s)
	},
	"delivered in a batch": func(t *testing.T, s sched, tk *firq.Ticket) {
		admit(t, s, "a", task{Ticket: tk})
		if n, err := s.DequeueBatch(patient(t), make([]item, 3)); n != 1 || err != nil {
			t.Fatalf("DequeueBatch: %d, %v", n, err)
		}
	},
	"expired": func(t *testing.T, s sched, tk *firq.Ticket) {
		admit(t, s, "a", task{Ticket: tk, Deadline: longPast})
		idle(t, s)
	},
	"evicted": func(t *testing.T, s sched, tk *firq.Ticket) {
		admit(t, s, "a", task{Ticket: tk})
		admit(t, s, "a", task{})
		admit(t, s, "a", task{})
		take(t, s)
		take(t, s)
	},
	"rejected": func(t *testing.T, s sched, tk *firq.Ticket) {
		admit(t, s, "a", task{Priority: firq.PriorityHigh})
		admit(t, s, "a", task{Priority: firq.PriorityHigh})
		refuse(t, s, "a", task{Ticket: tk}, firq.ErrTenantFull)
		take(t, s)
		take(t, s)
	},
	"invalid": func(t *testing.T, s sched, tk *firq.Ticket) {
		refuse(t, s, "a", task{Ticket: tk, Cost: -1}, firq.ErrInvalidTask)
	},
}

func cancelAfter(t *testing.T, newSched maker) {
	for what, end := range ends {
		s := open(t, newSched, config{Shards: 1, MaxPerTenant: 2, Backpressure: policy(firq.DropOldest)})
		var tk firq.Ticket
		end(t, s, &tk)
		if tk.Cancel() {
			t.Errorf("%s: Cancel is true", what)
		}
		if n := s.Stats().Cancelled; n != 0 {
			t.Errorf("%s: Cancelled is %d", what, n)
		}
	}
	s := open(t, newSched, config{})
	var tk firq.Ticket
	admit(t, s, "a", task{Ticket: &tk})
	s.Close()
	if tk.Cancel() {
		t.Error("closed: Cancel is true")
	}
	admit(t, open(t, newSched, config{}), "a", task{Ticket: &tk})
	if !tk.Cancel() {
		t.Error("the ticket does not serve in another scheduler")
	}
}

func cancelReuse(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxPerTenant: 2, Backpressure: policy(firq.DropOldest)})
	var tk firq.Ticket
	for range 3 {
		for what, end := range ends {
			end(t, s, &tk)
			admit(t, s, what, task{Ticket: &tk})
			mustCancel(t, &tk)
		}
	}
	idle(t, s)
}

func cancelInUse(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	other := open(t, newSched, config{Shards: 1})
	var tk firq.Ticket
	admit(t, s, "a", task{Payload: 1, Ticket: &tk})
	refuse(t, s, "a", task{Payload: 2, Ticket: &tk}, firq.ErrInvalidTask)
	refuse(t, s, "b", task{Payload: 3, Ticket: &tk}, firq.ErrInvalidTask)
	refuse(t, other, "a", task{Payload: 4, Ticket: &tk}, firq.ErrInvalidTask)
	length(t, s, 1)
	length(t, other, 0)
	for range 100 { // it must not cost capacity
		refuse(t, s, "b", task{Ticket: &tk}, firq.ErrInvalidTask)
	}
	if st := s.Stats(); st.Enqueued != 1 || st.Dropped != 0 || st.QueueLen != 1 {
		t.Errorf("Enqueued %d, Dropped %d, QueueLen %d, want 1, 0, 1", st.Enqueued, st.Dropped, st.QueueLen)
	}
	if !tk.Cancel() {
		t.Error("the first task can no longer be cancelled")
	}
	idle(t, s)
	idle(t, other)
}

func cancelBatch(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	var a, b firq.Ticket
	n, err := s.EnqueueBatch("a", []task{{Payload: 1, Ticket: &a}, {Payload: 2, Ticket: &b}, {Payload: 3, Ticket: &a}})
	if n != 2 || err == nil {
		t.Fatalf("EnqueueBatch: %d, %v, want 2 and ErrInvalidTask", n, err)
	}
	if !a.Cancel() {
		t.Error("Cancel is false")
	}
	same(t, "the rest", drain(t, s), "a2")
	if b.Cancel() {
		t.Error("Cancel is true after delivery")
	}
}

func cancelUnused(t *testing.T, _ maker) {
	var tk firq.Ticket
	if tk.Cancel() {
		t.Error("Cancel of a ticket that was never handed in is true")
	}
}

func cancelBlocked(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, MaxInFlightPerTenant: 1})
	var tk firq.Ticket
	load(t, s, "a", 1)
	admit(t, s, "a", task{Payload: 2, Ticket: &tk})
	admit(t, s, "a", task{Payload: 3})
	it := take(t, s)
	mustCancel(t, &tk)
	length(t, s, 1)
	idle(t, s)
	it.Done()
	same(t, "after Done", drain(t, s), "a3")
}

// cancelShare: a tenant that fills up and cancels everything over and over must not enter
// the round robin more than once, or it would get several turns a round.
func cancelShare(t *testing.T, newSched maker) {
	for _, dequeues := range []int{0, 1, 3} {
		s := open(t, newSched, config{Shards: 1})
		load(t, s, "b", 30)
		load(t, s, "c", 30)
		tks := make([]firq.Ticket, 32)
		for range 100 {
			for i := range tks {
				admit(t, s, "a", task{Ticket: &tks[i]})
			}
			for i := range tks {
				mustCancel(t, &tks[i])
			}
			serve(t, s, dequeues)
		}
		load(t, s, "a", 30)
		work := serve(t, s, 3000)
		within(t, work["a"], work["b"], 1, 0.03)
		within(t, work["a"], work["c"], 1, 0.03)
	}
}
