package jobs

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// pair is two actors and their message.
type pair struct {
	turns  counter
	a, b   peers.Ref
	failed atomic.Pointer[error]
	ended  atomic.Bool
}

// pingpong lets pairs of actors tell each other a message; a message handled counts one.
func pingpong(pairs int) func(peers.System, Size) (Metrics, error) {
	return func(s peers.System, z Size) (Metrics, error) {
		var stop atomic.Bool
		ps := make([]pair, pairs)
		for i := range ps {
			if err := ps[i].start(s, i, &stop); err != nil {
				return nil, err
			}
		}
		total := func() (n int64) {
			for i := range ps {
				n += ps[i].turns.n.Load()
			}
			return n
		}
		time.Sleep(z.Duration / 5)
		before, zero := used(), total()
		time.Sleep(z.Duration)
		after, n := used(), float64(total()-zero)
		stop.Store(true)
		for i := range ps {
			if err := await(ps[i].ended.Load); err != nil {
				return nil, fmt.Errorf("pair %d: %w", i, err)
			}
			if err := ps[i].failed.Load(); err != nil {
				return nil, *err
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("no turn in %v", z.Duration)
		}
		return after.since(before, n), nil
	}
}

func (p *pair) start(s peers.System, i int, stop *atomic.Bool) (err error) {
	to := func(other *peers.Ref) peers.Handler {
		return func(c peers.Ctx, m *peers.Msg) {
			p.turns.add() // the message makes a turn of one happen before the next of the other
			if stop.Load() {
				p.ended.Store(true)
			} else if err := c.Tell(*other, m); err != nil {
				p.fail(err)
			}
		}
	}
	if p.a, err = s.Kind(to(&p.b)).Spawn(fmt.Sprint("ping-", i), 1); err != nil {
		return err
	}
	if p.b, err = s.Kind(to(&p.a)).Spawn(fmt.Sprint("pong-", i), 1); err != nil {
		return err
	}
	return p.a.Tell(&peers.Msg{})
}

// fail is apart, so that a handler has no error on the heap where there is none.
func (p *pair) fail(err error) {
	p.failed.Store(&err)
	p.ended.Store(true)
}
