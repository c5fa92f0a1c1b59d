package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// hang is how long a call from a handler waits. It is what a cycle costs a system that does not see it.
const hang = 50 * time.Millisecond

// cycle lets A call B, B call C and C call A, and measures how long it takes until the caller of A knows. The
// message says how far the chain has come, so that a call that comes back late does not start another one.
func cycle(s peers.System, z Size) (Metrics, error) {
	names := []string{"cycle-a", "cycle-b", "cycle-c"}
	refs := make([]peers.Ref, len(names))
	for i, name := range names {
		var err error
		next := &refs[(i+1)%len(refs)]
		refs[i], err = s.Kind(func(c peers.Ctx, m *peers.Msg) {
			if m.N == int64(len(names)) {
				c.Reply(&peers.Msg{})
				return
			}
			res, err := c.Call(*next, &peers.Msg{N: m.N + 1}, hang)
			if err == nil {
				err = res.Err
			}
			c.Reply(&peers.Msg{Err: err})
		}).Spawn(name, len(names))
		if err != nil {
			return nil, err
		}
	}
	var times []time.Duration
	named := 0
	for end := time.Now().Add(z.Duration / 5); len(times) < 3 || time.Now().Before(end); {
		began := time.Now()
		res, err := refs[0].CallQueued(&peers.Msg{})
		times = append(times, time.Since(began))
		switch {
		case err != nil:
			return nil, err
		case res.Err == nil:
			return nil, errors.New("a cycle of calls went well")
		case !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(res.Err.Error(), name) }):
			named++
		case !errors.Is(res.Err, peers.ErrTimeout):
			return nil, fmt.Errorf("neither a timeout nor the names of the cycle: %w", res.Err)
		}
	}
	slices.Sort(times)
	return Metrics{"answer": us(percentile(times, 0.5)), "named": float64(named) / float64(len(times))}, nil
}
