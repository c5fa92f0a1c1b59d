package lincheck

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
)

// recorder runs a plan and writes down what happens.
//
// Starts and ends are numbers from one atomic counter: a total order that agrees with real
// time. The price is a memory barrier around every call, which may hide what happens without.
type recorder struct {
	*plan
	s       Scheduler
	clock   atomic.Int64
	waiting atomic.Int64 // clients that are in a call that may block, or have ended
	// consumers are the clients in Dequeue or DequeueBatch.
	consumers atomic.Int64
	started   atomic.Int64
	ctx       context.Context // of the calls that may block
	cancel    context.CancelFunc

	mu      sync.Mutex
	history History
}

// record runs the plan on a new scheduler. An error means that something hangs, or
// that the rest does not add up.
func record(p *plan, free Relaxation, build func(Config) (Scheduler, error)) (*History, error) {
	r := &recorder{plan: p}
	cfg := p.config
	cfg.OnDrop = r.dropped
	if p.yielding { // lets other clients run while user code is called
		cfg.QuantumFor = func(string) int64 {
			runtime.Gosched()
			return p.config.Quantum
		}
	}
	s, err := build(cfg)
	if err != nil {
		return nil, err
	}
	r.s = s
	r.history = History{Config: cfg, Tasks: p.tasks, Relaxation: free}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	defer r.cancel()
	held := make([][]Item, len(p.clients))
	done := make(chan int, len(p.clients))
	for id, calls := range p.clients {
		go func() {
			c := client{recorder: r, id: id}
			c.run(calls)
			held[id] = c.held
			done <- id
		}()
	}
	end := client{recorder: r, id: len(p.clients)}
	err = end.endBlocked(done)
	if err != nil {
		return &r.history, err
	}
	for _, items := range held {
		end.held = append(end.held, items...)
	}
	end.rest()
	return &r.history, r.atRest()
}

func (r *recorder) dropped(_ string, id int, why firq.DropReason) {
	if r.yielding {
		runtime.Gosched()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch why {
	case firq.DropClosed:
		r.history.Closed = append(r.history.Closed, id)
	case firq.DropEvicted:
		r.history.Evicted = append(r.history.Evicted, id)
	}
}

// client is one client: a goroutine that makes one call after another.
type client struct {
	*recorder
	id   int
	held []Item // delivered and not yet Done
}

func (c *client) run(calls []planned) {
	defer c.waiting.Add(1)
	c.started.Add(1)
	for c.started.Load() < int64(len(c.clients)) {
		runtime.Gosched()
	}
	for i := range calls {
		for range calls[i].yields {
			runtime.Gosched()
		}
		c.do(calls[i].Call)
	}
}

// do makes the call and writes it down.
func (c *client) do(call Call) Call {
	call.Client = c.id
	var item Item
	switch call.Kind {
	case Done:
		if len(c.held) == 0 {
			return call
		}
		item, c.held = c.held[0], c.held[1:]
		call.Tasks = []int{item.Payload}
	case Cancel:
		if id := call.Tasks[0]; id >= len(c.tickets) || c.tickets[id] == nil {
			return call
		}
	}
	blocks := call.Kind == Dequeue || call.Kind == DequeueBatch || call.Kind == Shutdown
	consumes := call.Kind == Dequeue || call.Kind == DequeueBatch
	if consumes {
		c.consumers.Add(1)
	}
	if blocks {
		c.waiting.Add(1)
	}
	call.Start = c.clock.Add(1)
	c.make(&call, &item)
	call.End = c.clock.Add(1)
	if blocks {
		c.waiting.Add(-1)
	}
	if consumes {
		c.consumers.Add(-1)
	}
	c.mu.Lock()
	c.history.Calls = append(c.history.Calls, call)
	c.mu.Unlock()
	return call
}

func (c *client) make(call *Call, item *Item) {
	s, tenant := c.s, tenantName(call.Tenant)
	switch call.Kind {
	case Enqueue:
		call.Err = s.Enqueue(tenant, c.task(call.Tasks[0]))
	case EnqueueBatch:
		ts := make([]firq.Task[int], len(call.Tasks))
		for i, id := range call.Tasks {
			ts[i] = c.task(id)
		}
		call.N, call.Err = s.EnqueueBatch(tenant, ts)
	case TryDequeue:
		if *item, call.OK = s.TryDequeue(); call.OK {
			c.got(call, *item)
		}
	case Dequeue:
		if *item, call.Err = s.Dequeue(c.ctx); call.Err == nil {
			c.got(call, *item)
		}
	case DequeueBatch:
		dst := make([]Item, call.Most)
		var n int
		n, call.Err = s.DequeueBatch(c.ctx, dst)
		c.got(call, dst[:n]...)
	case Cancel:
		call.OK = c.tickets[call.Tasks[0]].Cancel()
	case Done:
		item.Done()
		item.Done() // which does nothing
	case SetQuantum:
		s.SetQuantum(tenant, int64(call.Most))
	case ResetQuantum:
		s.ResetQuantum(tenant)
	case SetMaxGlobal:
		s.SetMaxGlobal(call.Most)
	case SetLimit:
		s.SetLimit(tenant, call.Most)
	case Len:
		call.N = s.Len()
	case Stats:
		st := s.Stats()
		call.Counters = Counters{
			uint8(st.Enqueued), uint8(st.Dequeued), uint8(st.Cancelled),
			uint8(st.DroppedPolicy), uint8(st.Closed), uint8(st.InFlight),
		}
	case Close:
		call.Err = s.Close()
	case Shutdown:
		call.Err = s.Shutdown(c.ctx)
	}
}

func (c *client) got(call *Call, items ...Item) {
	for _, it := range items {
		call.Got = append(call.Got, it.Payload)
		c.held = append(c.held, it)
	}
}

// hangs is how long calls that have to end may take.
const hangs = 20 * time.Second

// endBlocked waits until each client has ended or is in a call that may block, and then ends
// those calls. It is an error if a consumer sleeps while there is a task that it could take.
func (c *client) endBlocked(done <-chan int) error {
	deadline := time.Now().Add(hangs)
	all := int64(len(c.clients))
	for c.waiting.Load() < all || len(done) < len(c.clients) && c.owed() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<18)
			return fmt.Errorf("a call hangs; all goroutines:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
	if len(done) < len(c.clients) && c.last {
		c.do(Call{Kind: Close})
	}
	c.cancel()
	for range c.clients {
		<-done
	}
	return nil
}

// owed reports whether a blocked consumer should have been woken, as far as Len tells.
func (c *client) owed() bool {
	return c.config.MaxInFlightPerTenant == 0 && c.s.Len() > 0 && c.consumers.Load() > 0
}

// rest takes out what is left, and records Len and Stats at rest.
func (c *client) rest() {
	for c.do(Call{Kind: TryDequeue}).OK || len(c.held) > 0 && c.config.MaxInFlightPerTenant > 0 {
		for len(c.held) > 0 {
			c.do(Call{Kind: Done})
		}
	}
	c.do(Call{Kind: Len})
	c.do(Call{Kind: Stats, Alone: true})
}

// atRest compares the counters of rejections, which the model does not have, with the answers
// of the calls.
func (r *recorder) atRest() error {
	var global, tenant uint64
	for i := range r.history.Calls {
		c := &r.history.Calls[i]
		refused := uint64(1)
		if c.Kind == EnqueueBatch {
			refused = uint64(len(c.Tasks) - c.N)
		}
		switch c.Err {
		case firq.ErrGlobalFull:
			global += refused
		case firq.ErrTenantFull:
			tenant += refused
		}
	}
	st := r.s.Stats()
	if st.RejectedGlobal != global || st.RejectedTenant != tenant {
		return fmt.Errorf("%d and %d rejections were counted, of %d and %d", st.RejectedGlobal, st.RejectedTenant, global, tenant)
	}
	return nil
}
