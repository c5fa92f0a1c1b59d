package actor

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// run is the soak: goroutines that send, call and kill, and in the end a look at the counters.
func (k *soak) run(d time.Duration) {
	var wg sync.WaitGroup
	k.begun.Store(true)
	over := time.Now().Add(d)
	late := over.Add(10 * time.Second) // on a busy machine not everything has happened when time is over
	for g := range 8 {
		wg.Go(func() {
			from := &soakSender{done: map[*soakPlace]int64{}}
			for now := time.Now(); now.Before(over) || now.Before(late) && !happened(k.s.Stats()); now = time.Now() {
				done := make(chan bool)
				go func() { // a handler may end this goroutine
					defer close(done)
					k.act(from, g)
				}()
				<-done
			}
		})
	}
	unstash := make(chan bool)
	var flush sync.WaitGroup
	flush.Go(func() {
		for {
			select {
			case <-unstash:
				return
			case <-time.After(time.Millisecond):
				_ = k.m.urgent.Tell(bg, k.some(), &soakNote{})
				_ = k.s.Stats()
				_ = k.s.Running()
			}
		}
	})
	wg.Wait()
	close(unstash)
	flush.Wait()
	k.end()
}

// happened reports whether each kind of event has occurred.
func happened(st Stats) bool {
	return st.Restarts > 0 && st.Handled > 0 && st.DeadLetters > 0 && st.Cancelled > 0 && st.Refused > 0
}

// act is one step of a sender.
func (k *soak) act(from *soakSender, g int) {
	ctx, cancel := context.WithTimeout(bg, time.Duration(rand.IntN(3000))*time.Microsecond)
	defer cancel()
	r := k.some()
	switch x := rand.IntN(100); {
	case x < 50:
		for range 1 + rand.IntN(40) {
			from.seq++
			k.tell(ctx, r, &soakNote{seq: from.seq, from: from})
		}
	case x < 60:
		k.ask(bg, rand.IntN(3), false)
	case x < 90:
		k.ask(ctx, rand.IntN(4), true)
	case x < 92:
		r.Kill()
	case x < 94:
		_ = r.Stop(ctx)
	case x < 96:
		go cancel()
		k.ask(ctx, 1, true)
	default:
		k.spawn(k.parents[(g+x)%len(k.parents)])
	}
}

func (k *soak) tell(ctx context.Context, r Ref[*soaked], n *soakNote) {
	if k.m.tell.Tell(ctx, r, n) != nil {
		return
	}
	k.taken.Add(1)
	k.mu.Lock()
	k.notes = append(k.notes, n)
	k.mu.Unlock()
}

// end shuts the System down and checks the counters.
func (k *soak) end() {
	ctx, cancel := context.WithTimeout(bg, 20*time.Second)
	defer cancel()
	if err := k.s.Shutdown(ctx); err != nil {
		k.t.Errorf("Shutdown: %v, %+v, %v", err, k.s.Stats(), k.s.Running())
		return
	}
	books(k.t, k.s)
	st := k.s.Stats()
	if st.Actors != 0 || st.DeadLetters != k.dead.Load() || st.Accepted < k.taken.Load() {
		k.t.Errorf("%d told, %d dead letters: %+v", k.taken.Load(), k.dead.Load(), st)
	}
	if !happened(st) {
		k.t.Errorf("nothing happens here: %+v", st)
	}
	for _, n := range k.notes {
		if runs, put, dead := n.runs.Load(), n.stashed.Load(), n.dead.Load(); runs-put+dead != 1 {
			k.t.Errorf("a message was begun %d times, put aside %d times, and was %d dead letters", runs, put, dead)
			return
		}
	}
	for end := time.Now().Add(5 * time.Second); len(k.s.Running()) > 0; time.Sleep(time.Millisecond) { // abandoned ones
		if time.Now().After(end) {
			k.t.Errorf("still running: %v", k.s.Running())
			return
		}
	}
}
