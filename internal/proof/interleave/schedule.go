//go:build firq_failpoints

package interleave

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// Schedule is one run under one schedule. Its methods are for the function that was
// given to Explore; those of failpoint.Hook are for the marks.
type Schedule struct {
	t       *testing.T
	path    []decision // the schedule, and beyond it the first choices
	depth   int        // decisions so far
	left    int        // preemptions left
	current int        // the thread that made the last step

	mu      sync.Mutex
	threads []*thread
	byID    map[uintptr]*thread // those that have not ended
	steps   []step
	moves   int  // steps that were not vain tries of a stuck thread
	over    bool // marks do nothing any more
}

type step struct {
	thread int
	point  string
}

// The states of a thread. Asleep is not among them: it is a running thread when
// nothing moves any more.
const (
	running = iota
	atMark
	stuck
	done
)

type thread struct {
	name   string
	turn   chan struct{}
	state  int
	point  string
	joined uintptr // by Join: its number, as its end is not seen, and another goroutine may get its g
	ran    int     // steps of all threads when it last had its turn
	since  int     // stuck: the moves at that time
	spins  int     // stuck: steps when it was last stuck before; -1 never
	// stuck: the threads that could have gone on since they were last stuck, and did not; they
	// come first (fair scheduling as in CHESS, PLDI 2008)
	behind []*thread
}

// T is for the program's own checks; they must not end the goroutine.
func (p *Schedule) T() *testing.T { return p.t }

// Errorf fails the schedule.
func (p *Schedule) Errorf(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf(format, args...)
}

// Skip ends the run, which is to be left out. It comes before anything else.
func (p *Schedule) Skip(why string) { p.t.Skip(why) }

// Go starts a goroutine that takes part. It waits for its first turn.
func (p *Schedule) Go(name string, f func()) {
	th := &thread{name: name, turn: make(chan struct{}), spins: -1}
	p.mu.Lock()
	p.threads = append(p.threads, th)
	p.mu.Unlock()
	go func() {
		p.mu.Lock()
		if p.byID == nil {
			p.byID = map[uintptr]*thread{}
		}
		p.byID[goroutine()] = th
		p.mu.Unlock()
		p.pause("start", atMark)
		defer func() {
			p.mu.Lock()
			th.state = done
			delete(p.byID, goroutine()) // another goroutine may get its g
			p.moves++
			p.mu.Unlock()
		}()
		f()
	}()
}

// Join makes the calling goroutine take part from here on: one that the code under test
// has started, in a step of one that does. The goroutine that started it waits for nothing, so there must
// be only one on its way here at a time. It may still be asleep at the end.
func (p *Schedule) Join(name string) {
	p.mu.Lock()
	if !p.over {
		th := &thread{name: name, turn: make(chan struct{}), spins: -1, joined: number()}
		p.threads = append(p.threads, th)
		if p.byID == nil {
			p.byID = map[uintptr]*thread{}
		}
		p.byID[goroutine()] = th
	}
	p.mu.Unlock()
	p.pause("start", atMark)
}

// Run lets the goroutines run until each is done or asleep. It may be called
// again after what it found was changed.
func (p *Schedule) Run() {
	for tries := 0; ; {
		synctest.Wait()
		p.mu.Lock()
		enabled, waiting := p.enabled()
		if len(enabled) == 0 && len(waiting) > 0 {
			enabled = waiting // all are stuck: let them have another try
			tries++
		} else {
			tries = 0
		}
		if len(enabled) == 0 {
			p.mu.Unlock()
			return
		}
		next, err := waiting[tries%len(waiting)], error(nil)
		if tries < 2 { // else each in its turn: one may spin with the lock that the others wait for
			next, err = p.choose(enabled)
		}
		if len(p.steps) == maxSteps || tries > 100 {
			err = fmt.Errorf("livelock: %d steps and no end", len(p.steps))
		}
		if err != nil {
			p.mu.Unlock()
			p.Errorf("%v", err)
			p.release()
			return
		}
		th := p.threads[next]
		p.current = next
		p.steps = append(p.steps, step{next, th.point})
		th.state, th.ran = running, len(p.steps)
		p.mu.Unlock()
		th.turn <- struct{}{}
	}
}

// enabled returns the goroutines that can make a step, and those that wait for a turn at all.
func (p *Schedule) enabled() (enabled, waiting []int) {
	for i, th := range p.threads {
		if th.state != atMark && th.state != stuck {
			continue
		}
		waiting = append(waiting, i)
		first := slices.ContainsFunc(th.behind, func(u *thread) bool { return u.state == atMark && u.ran <= th.spins })
		if th.state == atMark || p.moves > th.since && !first {
			enabled = append(enabled, i)
		}
	}
	return enabled, waiting
}

// Asleep reports, after Run, whether the goroutine is blocked.
func (p *Schedule) Asleep(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, th := range p.threads {
		if th.name == name {
			return th.state == running
		}
	}
	panic("firq: no goroutine " + name)
}

// release lets all goroutines go on without taking turns.
func (p *Schedule) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, th := range p.threads {
		if th.state == atMark || th.state == stuck {
			th.state = running
			close(th.turn)
		}
	}
}

// finish lets all goroutines run to their ends.
func (p *Schedule) finish() {
	p.release()
	synctest.Wait()
	for _, th := range p.threads {
		if p.mu.Lock(); th.state != done && th.joined == 0 {
			p.Errorf("%s never ends", th.name)
		}
		p.mu.Unlock()
	}
}

// trace lists the steps of the schedule, those of one thread in a row on a line.
func (p *Schedule) trace() string {
	var b strings.Builder
	last := -1
	steps := p.steps
	if n := len(steps); n > 300 {
		fmt.Fprintf(&b, "(the last 300 of %d)", n)
		steps = steps[n-300:]
	}
	for _, s := range steps {
		if s.thread != last {
			fmt.Fprintf(&b, "\n%12s:", p.threads[s.thread].name)
			last = s.thread
		}
		fmt.Fprintf(&b, " [%s]", s.point)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// At implements failpoint.Hook.
func (p *Schedule) At(point string) { p.pause(point, atMark) }

// Stuck implements failpoint.Hook.
func (p *Schedule) Stuck(point string) {
	if !p.pause(point, stuck) {
		runtime.Gosched()
	}
}

// Processor implements failpoint.Hook: each goroutine has its own processor.
func (p *Schedule) Processor() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	me := p.me()
	for i, th := range p.threads {
		if th == me {
			return i, true
		}
	}
	return 0, true
}

// pause waits for the caller's next turn; false: it does not take part.
func (p *Schedule) pause(point string, state int) bool {
	p.mu.Lock()
	th := p.me()
	if th == nil || p.over {
		p.mu.Unlock()
		return false
	}
	if state == atMark {
		p.moves++
	}
	th.state, th.point, th.since, th.behind = state, point, p.moves, nil
	if state == stuck {
		for _, u := range p.threads {
			if u != th && u.state == atMark && u.ran <= th.spins {
				th.behind = append(th.behind, u)
			}
		}
		th.spins = len(p.steps)
	}
	p.mu.Unlock()
	<-th.turn
	return true
}

// me returns the caller's thread, nil if it does not take part. Under mu.
func (p *Schedule) me() *thread {
	th := p.byID[goroutine()]
	if th != nil && th.joined != 0 && th.joined != number() {
		return nil
	}
	return th
}

// number returns the number that the runtime has for the calling goroutine.
func number() uintptr {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	n, _ := strconv.ParseUint(string(text[:bytes.IndexByte(text, ' ')]), 10, strconv.IntSize)
	return uintptr(n)
}
