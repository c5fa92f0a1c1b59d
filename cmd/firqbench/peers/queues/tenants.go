package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is what queued tasks take in the server.
type memory struct {
	System  string  `json:"system"`
	Tenants int     `json:"tenants"`
	Tasks   int     `json:"tasks"`
	Bytes   float64 `json:"bytes"` // per task
}

func measureMemory(ctx context.Context, s *server, system string, tenants, n int) (m memory, err error) {
	each := max(1, n/tenants)
	m = memory{System: system, Tenants: tenants, Tasks: each * tenants}
	fill := func(names []string, each int) error {
		c, err := open(ctx, s, system, enqueuers, names)
		if err != nil {
			return err
		}
		return errors.Join(c.fill(ctx, names, each), c.close()) // connections have buffers
	}
	if err := fill(tenantNames(1), 1); err != nil { // loads the scripts
		return m, err
	}
	if err := s.empty(ctx); err != nil {
		return m, err
	}
	before, err := s.settled(ctx)
	if err != nil {
		return m, err
	}
	if err := fill(tenantNames(tenants), each); err != nil {
		return m, err
	}
	after, err := s.settled(ctx)
	m.Bytes = (after - before) / float64(m.Tasks)
	return m, err
}

// settled returns the memory in use when the connections of others are gone.
func (s *server) settled(ctx context.Context) (float64, error) {
	for until := time.Now().Add(5 * time.Second); ; {
		c, err := s.info(ctx, "clients")
		if err != nil {
			return 0, err
		}
		if c["connected_clients"] == "1" {
			return s.memory(ctx)
		}
		if time.Now().After(until) {
			return 0, fmt.Errorf("%s connections do not end", c["connected_clients"])
		}
		if err := pauseFor(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// crowd is a run with the given number of tenants that have tasks all the time.
type crowd struct {
	Tenants int   `json:"tenants"`
	Round   int   `json:"round"`
	Enqueue phase `json:"enqueue"`
	Process phase `json:"process"`
}

func (c *crowd) serverUs() float64 { return c.Enqueue.ServerUs + c.Process.ServerUs }

// measureCrowd queues 2n tasks, the second half of which is measured, by single calls, and handles n of them.
func measureCrowd(ctx context.Context, s *server, tenants, n int) (r crowd, err error) {
	r.Tenants = tenants
	if err := s.empty(ctx); err != nil {
		return r, err
	}
	names := tenantNames(tenants)
	c, err := open(ctx, s, firqName, enqueuers, names)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.fill(ctx, names, max(1, n/tenants)); err != nil {
		return r, err
	}
	r.Enqueue, err = s.during(ctx, n, func() (time.Time, error) {
		err := calls(ctx, enqueuers, n, func(i int) error { return c.enqueue(ctx, names[i%tenants]) })
		return time.Now(), err
	})
	if err != nil {
		return r, err
	}
	r.Process, err = process(ctx, s, c, 64, n)
	return r, err
}

// fairness is a run of one tenant with many tasks, which come first, and others with one each.
type fairness struct {
	System  string `json:"system"`
	Workers int    `json:"workers"`
	Noisy   int    `json:"noisy_tasks"`
	Quiet   int    `json:"quiet_tenants"`
	First   int    `json:"first"` // after how many deliveries the first and the last of the quiet ones is served
	Last    int    `json:"last"`
}

func measureFairness(ctx context.Context, s *server, system string, workers, noisy, quiet int) (r fairness, err error) {
	r = fairness{System: system, Workers: workers, Noisy: noisy, Quiet: quiet}
	if err := s.empty(ctx); err != nil {
		return r, err
	}
	names := tenantNames(quiet)
	c, err := open(ctx, s, system, enqueuers, append([]string{"noisy"}, names...))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.fill(ctx, []string{"noisy"}, noisy); err != nil {
		return r, err
	}
	for i := range names {
		if err := c.enqueue(ctx, names[i]); err != nil {
			return r, err
		}
	}
	type delivery struct {
		order uint64
		quiet bool
	}
	var mu sync.Mutex
	var all []delivery
	h := expect(quiet)
	stop, err := c.work(ctx, workers, func(payload []byte, order uint64) {
		d := delivery{order, strings.HasPrefix(tenantOf(payload), "tenant-")}
		mu.Lock()
		all = append(all, d)
		mu.Unlock()
		if d.quiet {
			h.one()
		}
	})
	if err != nil {
		return r, err
	}
	_, err = h.wait(ctx)
	if err = errors.Join(err, stop()); err != nil {
		return r, err
	}
	slices.SortFunc(all, func(a, b delivery) int { return cmp.Compare(a.order, b.order) })
	for i, d := range all {
		if d.quiet {
			if r.Last = i + 1; r.First == 0 {
				r.First = i + 1
			}
		}
	}
	return r, nil
}
