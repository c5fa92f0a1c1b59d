package firqredis

import (
	"errors"
	"fmt"
	"testing"

	"github.com/firq-go/firq"
)

// EnqueueBatch over several partitions races with Close: a task of which it says ErrClosed is not on its way, and the others are
// waited for.
func TestEnqueueBatchAndClose(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		c := s.client(t)
		watch := open(t, s, Config[string]{Client: c, Partitions: 3})
		there := func(x job) bool {
			return must(c.HExists(bounded(t), at(watch).prefix[at(watch).Lane(x.Tenant)]+":d", x.ID).Result())
		}
		check := func(ts []job, rs []Result, err error) (queued int) {
			for i, r := range rs {
				switch {
				case r.Err == nil && there(ts[i]):
					queued++
				case !errors.Is(r.Err, firq.ErrClosed) || there(ts[i]) || !errors.Is(err, firq.ErrClosed):
					t.Errorf("%s: %v, of %v; it is there: %t", ts[i].ID, r.Err, err, there(ts[i]))
				}
			}
			return queued
		}
		batch := func(round int) (ts []job) {
			for k := range 9 {
				ts = append(ts, job{ID: fmt.Sprint(round, "-", k), Tenant: fmt.Sprint("t", k)})
			}
			return ts
		}
		for round := range s.much(60) {
			q := open(t, s, Config[string]{Client: c, Name: at(watch).o.Name, Partitions: 3})
			go func() { _ = q.Close() }()
			ts := batch(round)
			rs, err := q.EnqueueBatch(bounded(t), ts)
			check(ts, rs, err)
		}
	})
}
