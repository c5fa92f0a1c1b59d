package actor

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// blocked waits until a goroutine waits for a lock in the function.
func blocked(t *testing.T, function string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "[sync.Mutex.Lock") && strings.Contains(g, function+"(") {
				return
			}
		}
	}
	t.Fatalf("no goroutine waits for a lock in %s", function)
}

// A worker that goes to sleep looks at the queue once more, because a goroutine that puts an entry in
// between the two finds no sleeper.
func TestPopLooksAgain(t *testing.T) {
	for _, slots := range []int{1, 8} {
		limit(t, 20e9)
		s := newSys(t, Config{Slots: slots, Handoff: -1})
		p := &s.pool
		resting(t, p)
		in, gate := make(chan bool, slots), make(chan bool)
		stay := NewAction("Stay", func(int, *Ctx, int) error { in <- true; <-gate; return nil })
		for range slots {
			_ = stay.Tell(bg, must(t, s, "", Value(0)), 0)
		}
		for range slots {
			<-in
		}
		r := must(t, s, "", Value(&counter{}))
		p.mu.Lock()
		close(gate)
		blocked(t, "(*pool).pop")
		if p.asleep.Load() != 0 {
			t.Fatal("a slot sleeps")
		}
		err := add.Tell(bg, r, 1)
		p.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Stop(within(t)); err != nil {
			t.Error(err)
		}
		s.Close()
		books(t, s)
	}
}
