package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// callers call at the same time where the processor time is measured.
const callers = 64

// metrics of a run. Times are in µs.
type metrics struct {
	P50       float64   `json:"p50"` // one caller
	P99       float64   `json:"p99"`
	Rate      float64   `json:"rate"`      // calls/s of 64 callers
	Processor float64   `json:"processor"` // of all processes, per call of these
	Split     []float64 `json:"split"`     // the same: the callers' process, then the others as they were started
}

func (m metrics) String() string {
	return fmt.Sprintf("p50 %.0f µs, %.0f calls/s, %.1f µs of processor time per call", m.P50, m.Rate, m.Processor)
}

// system is a contestant that runs.
type system struct {
	others []*process
	call   func(ctx context.Context, i uint64) error // i counts the calls of a run
	close  []func()
}

// stop ends what start has begun, the last first.
func (s *system) stop() {
	for _, f := range slices.Backward(s.close) {
		f()
	}
	for _, p := range slices.Backward(s.others) {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// run measures a contestant.
func (c *contestant) run(ctx context.Context, z size) (m metrics, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &system{}
	defer s.stop()
	if err := c.start(ctx, s); err != nil {
		return m, err
	}
	if err := s.ready(ctx); err != nil {
		return m, err
	}
	var n atomic.Uint64
	n.Store(warm)
	took := make([]float64, z.Calls)
	for i := range took {
		began := time.Now()
		if err := s.call(ctx, n.Add(1)); err != nil {
			return m, err
		}
		took[i] = float64(time.Since(began)) / 1e3
	}
	slices.Sort(took)
	m.P50, m.P99 = took[len(took)/2], took[len(took)*99/100]
	return m, s.crowd(ctx, time.Duration(z.Seconds*float64(time.Second)), &n, &m)
}

// warm is how many calls are not measured.
const warm = 300

// ready calls until it works, and then some times more.
func (s *system) ready(ctx context.Context) error {
	for i, began := uint64(0), time.Now(); i < warm; {
		if err := s.call(ctx, i); err == nil {
			i++
		} else if i > 0 || time.Since(began) > 30*time.Second || ctx.Err() != nil {
			return err
		} else {
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// crowd lets many call together.
func (s *system) crowd(ctx context.Context, d time.Duration, n *atomic.Uint64, m *metrics) error {
	before, err := s.processor()
	if err != nil {
		return err
	}
	first, began := n.Load(), time.Now()
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for errs[i] == nil && time.Since(began) < d {
				errs[i] = s.call(ctx, n.Add(1))
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	after, err := s.processor()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	calls := float64(n.Load() - first)
	m.Rate = calls / took.Seconds()
	for i := range before {
		us := (after[i] - before[i]) * 1e6 / calls
		m.Split = append(m.Split, us)
		m.Processor += us
	}
	return nil
}

// processor returns the processor time in seconds that this process and the others have used.
func (s *system) processor() (list []float64, err error) {
	pids := []int{os.Getpid()}
	for _, p := range s.others {
		pids = append(pids, p.cmd.Process.Pid)
	}
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil, err
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		sum := 0.0
		for _, f := range fields[11:13] { // user, system
			ticks, err := strconv.ParseFloat(string(f), 64)
			if err != nil {
				return nil, err
			}
			sum += ticks / 100 // USER_HZ
		}
		list = append(list, sum)
	}
	return list, nil
}

// process is a part of a contestant that is not the caller.
type process struct {
	cmd  *exec.Cmd
	said string // its first line
}

// start starts this program again, for a role.
func (s *system) start(ctx context.Context, role string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self, append([]string{serveCommand, role}, args...)...)}
	p.cmd.Stderr = os.Stderr
	if _, err := p.cmd.StdinPipe(); err != nil { // its end is the process's
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.others = append(s.others, p)
	line := bufio.NewReader(out)
	if p.said, err = line.ReadString('\n'); err != nil {
		return nil, fmt.Errorf("%s has not begun: %w", role, err)
	}
	go func() { _, _ = io.Copy(io.Discard, line) }()
	p.said = p.said[:len(p.said)-1]
	return p, nil
}
