package jobs

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

const (
	window   = 4096             // messages of a sender that are on their way at most
	burst    = 128              // of them are sent between two looks at how many were handled
	patience = 10 * time.Second // for messages that are on their way when the load ends
)

// counter is written by one actor at a time and read by others.
type counter struct {
	_ [64]byte
	n atomic.Int64
	_ [64]byte
}

// add is cheaper than Add: an actor handles one message at a time.
func (c *counter) add() { c.n.Store(c.n.Load() + 1) }

func sum(cs []counter) (n int64) {
	for i := range cs {
		n += cs[i].n.Load()
	}
	return n
}

// teller lets senders tell actors in turn.
func teller(senders, actors int) func(peers.System, Size) (Metrics, error) {
	return func(s peers.System, z Size) (Metrics, error) {
		handled := make([]counter, actors)
		refs := make([]peers.Ref, actors)
		for i := range refs {
			var err error
			c := &handled[i]
			// Each of the senders can be a burst above its window, and all can have chosen the same actor.
			refs[i], err = s.Kind(func(peers.Ctx, *peers.Msg) { c.add() }).Spawn(fmt.Sprint("tell-", i), senders*(window+burst))
			if err != nil {
				return nil, err
			}
		}
		if _, err := tell(refs, handled, senders, z.Duration/5); err != nil {
			return nil, err
		}
		return tell(refs, handled, senders, z.Duration)
	}
}

// tell measures for a time, and until the last message is handled.
func tell(refs []peers.Ref, handled []counter, senders int, d time.Duration) (Metrics, error) {
	var (
		stop     atomic.Bool
		sent     atomic.Int64
		wg       sync.WaitGroup
		failures = make(chan error, senders)
		zero     = sum(handled)
	)
	before := used()
	for g := range senders {
		wg.Go(func() {
			n, err := send(refs, g, &stop, func(n int64) bool { return n-(sum(handled)-zero)/int64(senders) < window })
			sent.Add(n)
			if err != nil {
				failures <- err
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	if len(failures) > 0 {
		return nil, <-failures
	}
	left := func() int64 { return zero + sent.Load() - sum(handled) }
	if err := await(func() bool { return left() <= 0 }); err != nil {
		return nil, fmt.Errorf("%d of %d messages: %w", left(), sent.Load(), err)
	}
	return used().since(before, float64(sent.Load())), nil
}

// send sends one message again and again, each time to the next actor, while there is room for the n-th.
func send(refs []peers.Ref, first int, stop *atomic.Bool, room func(n int64) bool) (n int64, err error) {
	m := &peers.Msg{}
	for next := first; !stop.Load(); {
		for range burst {
			if err := refs[next%len(refs)].Tell(m); err != nil {
				return n, err
			}
			next++
			n++
		}
		for !room(n) && !stop.Load() {
			runtime.Gosched()
		}
	}
	return n, nil
}

// await waits for what happens soon. It looks often at first, and then leaves the processors to those it waits for.
func await(done func() bool) error {
	end := time.Now().Add(patience)
	for n := 0; !done(); n++ {
		switch {
		case n < 1000:
			runtime.Gosched()
		case time.Now().Before(end):
			time.Sleep(50 * time.Microsecond)
		default:
			return fmt.Errorf("not handled after %v", patience)
		}
	}
	return nil
}
