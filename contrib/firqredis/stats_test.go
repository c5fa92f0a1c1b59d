package firqredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Eight goroutines do everything at random: no call fails otherwise than it may, the books are right at any time,
// and at rest nothing but settings is left.
func TestBooks(t *testing.T) {
	for name, c := range map[string]Config[string]{
		"plain":   {},
		"limits":  {MaxQueued: 60, MaxQueuedPerTenant: 20, MaxInFlight: 8, MaxInFlightPerTenant: 2},
		"several": {Partitions: 3, MaxInFlight: 20, PriorityAging: time.Millisecond, DeadLetters: Retention{PerTenant: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *server) {
				c := c
				c.Lease, c.TenantIdle, c.Backoff = 15*time.Millisecond, 50*time.Millisecond, Backoff{First: time.Millisecond, Max: 5 * time.Millisecond}
				q := open(t, s, c)
				ok(t, q.SetTenant(bounded(t), "kept", TenantSettings{Weight: 2}))
				var wg sync.WaitGroup
				for w := range 8 {
					wg.Go(func() { anything(t, q, rand.New(rand.NewPCG(14, uint64(w))), s.much(120)) })
				}
				wg.Wait()
				if t.Failed() {
					return
				}
				rest(t, q)
			})
		})
	}
}

// may checks that an error is one of those that are to be expected.
func may(t *testing.T, err error, these ...error) {
	t.Helper()
	if err == nil {
		return
	}
	all := []error{err}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		all = j.Unwrap()
	}
next:
	for _, err := range all {
		for _, e := range these {
			if errors.Is(err, e) {
				continue next
			}
		}
		t.Errorf("error %v", err)
	}
}

func anything(t *testing.T, q *Queue[string], r *rand.Rand, steps int) {
	ctx := bounded(t)
	var mine []*Item[string]
	var ids []string
	any := func() string { return ids[r.IntN(len(ids))] }
	for range steps {
		switch r.IntN(12) {
		case 0, 1, 2:
			ts := make([]job, 1+r.IntN(4))
			for k := range ts {
				x := job{Tenant: fmt.Sprint(r.IntN(5)), Priority: firq.Priority(r.IntN(7)), Cost: r.Int64N(5), MaxAttempts: r.IntN(4)}
				switch r.IntN(6) {
				case 0:
					x.Delay = time.Duration(r.IntN(10)) * time.Millisecond
				case 1:
					x.Deadline = time.Now().Add(time.Duration(r.IntN(5)) * time.Millisecond)
				case 2:
					x.UniqueKey, x.UniqueFor = fmt.Sprint(r.IntN(4)), time.Duration(r.IntN(2))*10*time.Millisecond
				case 3:
					x.ID = x.Tenant + fmt.Sprint("-", r.IntN(9))
				}
				ts[k] = x
			}
			rs, err := q.EnqueueBatch(ctx, ts)
			may(t, err, ErrDuplicate, ErrFull, ErrTenantFull)
			for _, x := range rs {
				ids = append(ids, x.ID)
			}
		case 3, 4, 5:
			wait, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(10))*time.Millisecond)
			var its []*Item[string]
			var err error
			if r.IntN(4) == 0 {
				its, err = q.From([]string{"1"}, []string{"[23]", "?"}).DequeueBatch(wait, 1+r.IntN(3))
			} else {
				its, err = q.DequeueBatch(wait, 1+r.IntN(4))
			}
			cancel()
			may(t, err, context.DeadlineExceeded)
			mine = append(mine, its...)
		case 10:
			if len(ids) > 0 {
				may(t, q.Cancel(ctx, any()), ErrNotFound)
			}
		case 11:
			switch r.IntN(8) {
			case 0:
				may(t, q.Pause(ctx, fmt.Sprint(r.IntN(5))))
			case 1:
				may(t, q.Resume(ctx, fmt.Sprint(r.IntN(5))))
			case 2:
				may(t, q.SetTenant(ctx, fmt.Sprint(r.IntN(5)), TenantSettings{Weight: r.Float64(), MaxInFlight: r.IntN(4) - 1, MaxQueued: r.IntN(9) - 1}))
			case 3:
				_, err := q.Purge(ctx, Filter{Tenant: fmt.Sprint(r.IntN(5)), Limit: 2})
				may(t, err)
			case 4:
				if len(ids) > 0 {
					may(t, q.Requeue(ctx, any(), any()), ErrNotFound)
				}
			case 5:
				_, err := q.TopTenants(ctx, 3, By(r.IntN(3)))
				may(t, err)
			case 6:
				books(t, q)
			case 7:
				may(t, q.Pause(ctx, ""))
				may(t, q.Resume(ctx, ""))
			}
		default:
			if len(mine) == 0 {
				continue
			}
			it := mine[0]
			mine = mine[1:]
			switch r.IntN(8) {
			case 0: // forgets it
			case 1:
				may(t, q.Nack(ctx, it, Retry{After: time.Duration(r.IntN(5)-1) * time.Millisecond, Dead: r.IntN(4) == 0}), ErrLeaseLost)
			case 2:
				may(t, q.Release(ctx, it, it), ErrLeaseLost)
			case 3:
				may(t, q.Extend(ctx, time.Duration(r.IntN(20))*time.Millisecond, it), ErrLeaseLost, ErrCancelled)
				mine = append(mine, it)
			default:
				it.Charge(r.Int64N(5) - 2)
				may(t, q.Ack(ctx, it), ErrLeaseLost)
			}
		}
	}
}

// rest drains the queue, and looks at what is left.
func rest(t *testing.T, q *Queue[string]) {
	t.Helper()
	ctx := bounded(t)
	ok(t, q.Resume(ctx, ""))
	for k := range 5 {
		ok(t, q.Resume(ctx, fmt.Sprint(k)))
		ok(t, q.SetTenant(ctx, fmt.Sprint(k), TenantSettings{}))
	}
	for {
		wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		its, err := q.DequeueBatch(wait, 50)
		cancel()
		may(t, q.Ack(ctx, its...), ErrLeaseLost)
		if st := books(t, q); err != nil && st.Queued+st.Delayed+st.InFlight == 0 {
			break
		}
	}
	_, err := q.Purge(ctx, Filter{})
	ok(t, err)
	st := books(t, q)
	if st.Tenants != 0 || st.DeadLetters != 0 || st.Oldest != 0 {
		t.Errorf("at rest: %+v", st)
	}
	var left []string
	until(t, "all but settings is gone", func() bool {
		left = left[:0]
		for _, prefix := range at(q).prefix {
			for _, key := range append(keysOf(t, q, prefix), "") {
				switch key = strings.TrimPrefix(key, prefix); key {
				case "", ":cfg", ":m", ":s", ":w", ":t:kept":
				default:
					left = append(left, key)
				}
			}
		}
		return len(left) == 0
	})
	if t.Failed() {
		t.Logf("left: %q", left)
	}
}

// keysOf returns the keys of a partition.
func keysOf(t *testing.T, q *Queue[string], prefix string) []string {
	c, err := at(q).primary(bounded(t), indexOf(at(q).prefix, prefix))
	ok(t, err)
	keys, err := c.Keys(bounded(t), prefix+"*").Result()
	ok(t, err)
	return keys
}

func indexOf(all []string, s string) int {
	for k := range all {
		if all[k] == s {
			return k
		}
	}
	return -1
}

func TestQueueTimes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		times := func() (in []uint64, n uint64, sum time.Duration) {
			t.Helper()
			buckets, sum, err := q.QueueTimes(ctx)
			ok(t, err)
			for k, b := range buckets {
				if k > 0 && b.UpperBound <= buckets[k-1].UpperBound {
					t.Fatalf("bucket %d is up to %v", k, b.UpperBound)
				}
				in, n = append(in, b.Count), n+b.Count
			}
			return in, n, sum
		}
		_, n, sum := times()
		same(t, "none", n, 0)
		same(t, "no time", sum, 0)
		// It was queued so long ago: buckets are up to 1 ms, 2 ms, 4 ms, ...
		for wait, bucket := range map[time.Duration]int{time.Minute: 16, 3 * time.Hour: 24, 30 * 24 * time.Hour: 31, 10 * 365 * 24 * time.Hour: 31} {
			was, n, sum := times()
			id := put(t, q, job{Tenant: wait.String()})[0]
			key := at(q).prefix[at(q).Lane(wait.String())] + ":d"
			_, rest, _ := strings.Cut(at(q).db.HGet(ctx, key, id).Val(), ":")
			ok(t, at(q).db.HSet(ctx, key, id, fmt.Sprintf("%x:%s", time.Now().Add(-wait).UnixMicro(), rest)).Err())
			it := now(t, q, 1)[0]
			is, m, all := times()
			same(t, "counted", m, n+1)
			if is[bucket] != was[bucket]+1 {
				t.Errorf("%v: in another bucket than %d: %v, then %v", wait, bucket, was, is)
			}
			if d := all - sum - it.Wait; d.Abs() > time.Millisecond {
				t.Errorf("%v: counted as %v", it.Wait, all-sum)
			}
			ok(t, q.Nack(ctx, it, Retry{After: -1}))
			ok(t, q.Ack(ctx, now(t, q, 1)...))
			_, again, _ := times()
			same(t, "without the retry", again, m)
		}
		ok(t, q.Close())
		_, _, err := q.QueueTimes(ctx)
		want(t, err, firq.ErrClosed)
	})
}

// Oldest is how long a task has been due, of whatever priority and however it came.
func TestOldest(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, job{ID: "delayed", Delay: 300 * time.Millisecond}, job{ID: "old"})
		began := time.Now()
		put(t, q, job{ID: "critical", Priority: 6})
		until(t, "the delayed one is due", func() bool {
			_, err := at(q).runWithSettings(ctx, maintainScript, 0, 10)
			st, err2 := q.Stats(ctx)
			return errors.Join(err, err2) == nil && st.Queued == 3
		})
		st := books(t, q)
		if d := time.Since(began); st.Oldest < d/2 || st.Oldest > d+time.Second {
			t.Errorf("Oldest %v, after %v", st.Oldest, d)
		}
		ok(t, q.Cancel(ctx, "old"))
		ok(t, q.Cancel(ctx, "critical"))
		if st := books(t, q); st.Oldest > time.Since(began)-200*time.Millisecond {
			t.Errorf("Oldest %v, but it was delayed", st.Oldest)
		}
	})
}
