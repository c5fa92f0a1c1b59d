package jobs

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/spin"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

const (
	quietActors = 100
	interval    = time.Millisecond       // between two messages for the quiet actors
	floodCost   = 500 * time.Microsecond // processor time of a message of a flooded actor
	backlog     = 64                     // messages that a busy actor has at all times
	blockers    = 100                    // actors whose handlers block
	blockTime   = 20 * time.Millisecond  // of each of their messages
)

// quiet tells 100 actors a message each millisecond, while some others always have work. It is an open loop: each
// message is due at a time that depends on nothing that the system does, and its latency counts from then, whenever
// the sender, which needs a processor as well, gets to sending it.
func quiet(flooded int) func(peers.System, Size) (Metrics, error) {
	return func(s peers.System, z Size) (Metrics, error) {
		stop := new(atomic.Bool)
		defer stop.Store(true)
		hogs, err := startHogs(s, stop, spinning(slices.Repeat([]time.Duration{floodCost}, flooded)))
		if err != nil {
			return nil, err
		}
		times, late, err := openLoop(s, z, stop, func() {})
		if err != nil {
			return nil, err
		}
		if err := hogs.err(); err != nil {
			return nil, err
		}
		slices.Sort(times)
		slices.Sort(late)
		return Metrics{
			"p50": us(percentile(times, 0.5)), "p99": us(percentile(times, 0.99)), "worst": us(percentile(times, 1)),
			"late-p50": us(percentile(late, 0.5)), "late-p99": us(percentile(late, 0.99)),
		}, nil
	}
}

// blocked tells 100 actors a message each millisecond, beside 100 whose handlers block, as a request to a database
// does, and which always have a message. The processors are idle most of the time, so the sender's timer is late by as
// much as a millisecond, with every system: latencies count from when a message was sent. The sender never waits.
func blocked(s peers.System, z Size) (Metrics, error) {
	stop := new(atomic.Bool)
	defer stop.Store(true)
	h, err := startHogs(s, stop, slices.Repeat([]func(){func() { time.Sleep(blockTime) }}, blockers))
	if err != nil {
		return nil, err
	}
	var began time.Time
	var handled int64
	times, late, err := openLoop(s, z, stop, func() { began, handled = time.Now(), sum(h.handled) })
	if err != nil {
		return nil, err
	}
	handled = sum(h.handled) - handled
	took := time.Since(began)
	if err := h.err(); err != nil {
		return nil, err
	}
	for i := range times {
		times[i] -= late[i]
	}
	slices.Sort(times)
	return Metrics{
		"rate": float64(max(handled, 1)) / took.Seconds(),
		"p50":  us(percentile(times, 0.5)), "p99": us(percentile(times, 0.99)),
	}, nil
}

// openLoop sends messages when they are due, and returns how long after that each was handled, all of them, and how
// long after that the sender came to sending it: what is not handled when the last one was sent gets the time that it
// takes when the load is off (stop is set). Those of the first fifth, before it calls begin, are left out.
func openLoop(s peers.System, z Size, stop *atomic.Bool, begin func()) (times, late []time.Duration, err error) {
	skip, n := int(z.Long/5/interval), int((z.Long/5+z.Long)/interval)
	times, late = make([]time.Duration, n), make([]time.Duration, n)
	var left atomic.Int64
	left.Store(int64(n))
	last := make(chan struct{})
	kind := s.Kind(func(_ peers.Ctx, m *peers.Msg) {
		times[m.N] = time.Since(m.Due)
		if left.Add(-1) == 0 {
			close(last)
		}
	})
	refs := make([]peers.Ref, quietActors)
	for i := range refs {
		if refs[i], err = kind.Spawn(fmt.Sprint("quiet-", i), n/quietActors+1); err != nil {
			return nil, nil, err
		}
	}
	began := time.Now()
	for i := range n {
		if i == skip {
			begin()
		}
		due := began.Add(time.Duration(i+1) * interval)
		if d := time.Until(due); d > 0 {
			time.Sleep(d)
		}
		late[i] = time.Since(due)
		if err := refs[i%quietActors].Tell(&peers.Msg{N: int64(i), Due: due}); err != nil {
			return nil, nil, err
		}
	}
	stop.Store(true)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-last:
		return times[skip:], late[skip:], nil
	case <-t.C:
		return nil, nil, fmt.Errorf("%d of %d messages are not handled after %v", left.Load(), n, patience)
	}
}

// hogs are actors that always have work: their messages are sent again by the actor that has handled them.
type hogs struct {
	handled []counter
	failed  atomic.Pointer[error]
}

// fail is apart, so that a handler has no error on the heap where there is none.
func (h *hogs) fail(err error) { h.failed.Store(&err) }

func (h *hogs) err() error {
	if err := h.failed.Load(); err != nil {
		return fmt.Errorf("a busy actor: %w", *err)
	}
	return nil
}

// spinning returns works that take so much processor time.
func spinning(costs []time.Duration) (works []func()) {
	for _, cost := range costs {
		work, l := spin.Of(cost), new(spin.Line)
		works = append(works, func() { work.Do(l) })
	}
	return works
}

// startHogs starts an actor for each work that a message takes. When stop is set their work is over.
func startHogs(s peers.System, stop *atomic.Bool, works []func()) (*hogs, error) {
	h := &hogs{handled: make([]counter, len(works))}
	refs := make([]peers.Ref, len(works))
	for i, work := range works {
		var err error
		self := &refs[i]
		*self, err = s.Kind(func(c peers.Ctx, m *peers.Msg) {
			if stop.Load() {
				return
			}
			work()
			h.handled[i].add()
			if err := c.Tell(*self, m); err != nil && !stop.Load() {
				h.fail(err)
			}
		}).Spawn(fmt.Sprint("busy-", i), backlog)
		if err != nil {
			return nil, err
		}
	}
	for range backlog {
		for _, r := range refs {
			if err := r.Tell(&peers.Msg{}); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

const (
	expensive = time.Millisecond
	cheap     = 50 * time.Microsecond
)

// share compares the processor time of actors with expensive messages with that of actors with cheap ones.
func share(s peers.System, z Size) (Metrics, error) {
	stop := new(atomic.Bool)
	defer stop.Store(true)
	h, err := startHogs(s, stop, spinning(slices.Concat(slices.Repeat([]time.Duration{expensive}, 4), slices.Repeat([]time.Duration{cheap}, 4))))
	if err != nil {
		return nil, err
	}
	time.Sleep(z.Long / 5)
	costly, light := -sum(h.handled[:4]), -sum(h.handled[4:])
	time.Sleep(z.Long)
	costly += sum(h.handled[:4])
	light += sum(h.handled[4:])
	if err := h.err(); err != nil {
		return nil, err
	}
	if costly+light == 0 {
		return nil, fmt.Errorf("nothing was handled in %v", z.Long)
	}
	// Nothing at all for one side is shown as one message.
	return Metrics{"ratio": float64(max(costly, 1)) * float64(expensive) / (float64(max(light, 1)) * float64(cheap))}, nil
}
