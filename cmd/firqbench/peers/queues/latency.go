package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// lanes is how many queues are measured at the same time, each with its workers, producer and pauses: the machine is idle all the
// same, and there are as many more pauses.
const lanes = 8

// latency is from Enqueue to the handler, with workers that have nothing to do.
type latency struct {
	System  string          `json:"system"`
	Workers int             `json:"workers"`        // of each queue
	Lanes   int             `json:"lanes"`          // queues at the same time
	Times   []time.Duration `json:"times_ns"`       // in order
	Scripts float64         `json:"scripts"`        // calls per task
	Idle    float64         `json:"idle"`           // calls of scripts per second and queue while nothing happens
	IdleCPU float64         `json:"idle_ppm"`       // of a processor that the server uses per queue then, in 1/1,000,000
	Least   time.Duration   `json:"least_pause_ns"` // between two tasks of a queue: evenly from this
	Most    time.Duration   `json:"most_pause_ns"`  // to that
}

// at returns a percentile, from 0 to 1.
func (l *latency) at(p float64) time.Duration {
	if len(l.Times) == 0 {
		return 0
	}
	return l.Times[min(int(p*float64(len(l.Times))), len(l.Times)-1)]
}

// late returns the share of tasks that came later than d.
func (l *latency) late(d time.Duration) float64 {
	n := 0
	for _, t := range l.Times {
		if t > d {
			n++
		}
	}
	return float64(n) / float64(max(len(l.Times), 1))
}

// lane is a queue with its workers.
type lane struct {
	c     session
	began chan time.Time
	stop  func() error
}

func openLane(ctx context.Context, s *server, system string, workers, k int) (*lane, error) {
	c, err := openQueueOf(ctx, s, system, 4, nil, "bench-"+strconv.Itoa(k))
	if err != nil {
		return nil, err
	}
	l := &lane{c: c, began: make(chan time.Time, 1)}
	if l.stop, err = c.work(ctx, workers, func([]byte, uint64) { l.began <- time.Now() }); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return l, nil
}

func (l *lane) close() error { return errors.Join(l.stop(), l.c.close()) }

// one enqueues a task, and returns when its handler began.
func (l *lane) one(ctx context.Context) (time.Duration, error) {
	at := time.Now()
	if err := l.c.enqueue(ctx, "tenant"); err != nil {
		return 0, err
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case b := <-l.began:
		return b.Sub(at), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.C:
		return 0, fmt.Errorf("a task is not handled after %v", patience)
	}
}

// measureLatency measures n tasks of each lane.
func measureLatency(ctx context.Context, s *server, system string, workers, n int, least, most time.Duration) (l latency, err error) {
	l = latency{System: system, Workers: workers, Lanes: lanes, Least: least, Most: most}
	if err := s.empty(ctx); err != nil {
		return l, err
	}
	var all []*lane
	defer func() {
		for _, x := range all {
			err = errors.Join(err, x.close())
		}
	}()
	for k := range lanes {
		x, err := openLane(ctx, s, system, workers, k)
		if err != nil {
			return l, err
		}
		all = append(all, x)
		if _, err := x.one(ctx); err != nil { // scripts and connections
			return l, err
		}
	}
	quiet := min(8*time.Second, time.Duration(n)*most)
	idle, err := s.during(ctx, 1, func() (time.Time, error) { return time.Now(), pauseFor(ctx, quiet) })
	if err != nil {
		return l, err
	}
	l.Idle, l.IdleCPU = idle.Scripts/quiet.Seconds()/lanes, idle.ServerUs/quiet.Seconds()/lanes
	var mu sync.Mutex
	p, err := s.during(ctx, lanes*n, func() (time.Time, error) {
		err := calls(ctx, lanes, lanes, func(k int) error {
			for range n {
				if err := pauseFor(ctx, least+rand.N(most-least+1)); err != nil {
					return err
				}
				d, err := all[k].one(ctx)
				if err != nil {
					return err
				}
				mu.Lock()
				l.Times = append(l.Times, d)
				mu.Unlock()
			}
			return nil
		})
		return time.Now(), err
	})
	l.Scripts = p.Scripts
	slices.Sort(l.Times)
	return l, err
}
