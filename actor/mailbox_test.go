package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

func sleep(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

func waitFor(d time.Duration) firq.Backpressure {
	return firq.Backpressure{Policy: firq.Wait, Wait: d}
}

// block keeps an actor in a handler until the result is called.
func block(t testing.TB, r Ref[*box]) (free func()) {
	t.Helper()
	in, gate := make(chan bool), make(chan bool)
	if err := do.Tell(context.Background(), r, func(*box, *Ctx) (any, error) { close(in); <-gate; return nil, nil }); err != nil {
		t.Fatal(err)
	}
	<-in
	return sync.OnceFunc(func() { close(gate) })
}

func note(s string) job {
	return func(b *box, _ *Ctx) (any, error) { b.log = append(b.log, s); return nil, nil }
}

func logOf(t testing.TB, r Ref[*box]) []string {
	t.Helper()
	for r.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	l, err := do.Call(within(t), r, func(b *box, _ *Ctx) (any, error) { return slices.Clone(b.log), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l.([]string)
}

// The limit is strict; the four policies do what they do in package firq.
func TestPolicies(t *testing.T) {
	limit(t, 20e9)
	ctx := context.Background()
	for p, want := range map[firq.Policy]string{firq.Reject: "[1 2]", firq.DropOldest: "[3 4]", firq.DropNewest: "[1 4]"} {
		var dead []string
		s := newSys(t, Config{OnDeadLetter: func(d DeadLetter) { dead = append(dead, d.Name+d.Method+d.Err.Error()) }})
		r := box0(t, s, "a", WithMailbox(Mailbox{2, firq.Backpressure{Policy: p}}))
		free := block(t, r)
		var errs []error
		for i := range 4 {
			errs = append(errs, do.Tell(ctx, r, note(fmt.Sprint(i+1))))
			if r.Len() > 2 {
				t.Fatal(r.Len())
			}
		}
		free()
		if got := fmt.Sprint(logOf(t, r)); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
		if p == firq.Reject {
			if !errors.Is(errs[2], ErrMailboxFull) || !errors.Is(errs[3], firq.ErrRejected) || len(dead) != 0 {
				t.Error(errs, dead)
			}
		} else if len(dead) != 2 || errs[3] != nil {
			t.Error(p, errs, dead)
		}
		books(t, s)
		s.Close()
	}
}

// A call that is evicted gets ErrMailboxFull.
func TestEvictedCall(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	r := box0(t, s, "a", WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.DropOldest}}))
	free := block(t, r)
	f := do.Start(context.Background(), r, get)
	_ = do.Tell(context.Background(), r, note("told"))
	if _, err := f.Wait(within(t)); !errors.Is(err, ErrMailboxFull) {
		t.Fatal(err)
	}
	free()
	if l := logOf(t, r); fmt.Sprint(l) != "[told]" {
		t.Fatal(l)
	}
	books(t, s)
}

// Wait: senders wait for room in order of arrival, until their time is over or their ctx ends.
func TestWaitForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		r := box0(t, s, "a", WithMailbox(Mailbox{1, waitFor(50 * time.Millisecond)}))
		free := block(t, r)
		_ = do.Tell(context.Background(), r, note("0"))
		start := time.Now()
		if err := do.Tell(context.Background(), r, note("x")); !errors.Is(err, ErrMailboxFull) || time.Since(start) != 50*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := do.Call(ctx, r, note("y")); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 60*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		for i := range 3 {
			go func() { _ = do.Tell(context.Background(), r, note(fmt.Sprint(i+1))) }()
			synctest.Wait()
		}
		free()
		synctest.Wait()
		if got := fmt.Sprint(logOf(t, r)); got != "[0 1 2 3]" {
			t.Error(got)
		}
		books(t, s)
		s.Close()
	})
}

// Higher priorities first, FIFO within one; an evicted message has the lowest.
func TestPriorities(t *testing.T) {
	limit(t, 20e9)
	high := NewMethod("High", run, WithPriority(firq.PriorityHigh))
	low := NewMethod("Low", run, WithPriority(firq.PriorityLow))
	s := newSys(t, Config{})
	r := box0(t, s, "a", WithMailbox(Mailbox{5, firq.Backpressure{Policy: firq.DropNewest}}))
	free := block(t, r)
	ctx := context.Background()
	for _, x := range []string{"1", "2"} {
		_ = low.Tell(ctx, r, note("l"+x))
		_ = do.Tell(ctx, r, note("n"+x))
	}
	_ = high.Tell(ctx, r, note("h1"))
	_ = high.Tell(ctx, r, note("h2"))
	if err := low.Tell(ctx, r, note("l3")); err != nil {
		t.Error(err)
	}
	free()
	if got := fmt.Sprint(logOf(t, r)); got != "[h1 h2 n1 n2 l3]" {
		t.Error(got)
	}
	books(t, s)
}

// A call whose caller leaves while it waits is never handled, and makes room.
func TestCancelledCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		r := box0(t, s, "a", WithMailbox(Mailbox{Limit: 1}))
		free := block(t, r)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := do.Call(ctx, r, inc); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if r.Len() != 0 {
			t.Error(r.Len())
		}
		free()
		if n, err := do.Call(context.Background(), r, get); n != 0 || err != nil {
			t.Error(n, err)
		}
		if st := s.Stats(); st.Cancelled != 1 {
			t.Errorf("%+v", st)
		}
		books(t, s)
		s.Close()
	})
}

// Readers overlap and writers run alone, each in its place in the order.
func TestReaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		r := box0(t, s, "a")
		var mu sync.Mutex
		var log []string
		step := func(name string) job {
			return func(*box, *Ctx) (any, error) {
				for _, at := range []string{"<", ">"} {
					mu.Lock()
					log = append(log, at+name)
					mu.Unlock()
					sleep(10)
				}
				return nil, nil
			}
		}
		ctx := context.Background()
		free := block(t, r)
		_ = look.Tell(ctx, r, step("r"))
		_ = look.Tell(ctx, r, step("r"))
		_ = do.Tell(ctx, r, step("w"))
		_ = look.Tell(ctx, r, step("q"))
		_ = look.Tell(ctx, r, step("q"))
		free()
		_, _ = do.Call(within(t), r, get)
		if got := fmt.Sprint(log); got != "[<r <r >r >r <w >w <q <q >q >q]" {
			t.Error(got)
		}
		books(t, s)
		s.Close()
	})
}

// Readers overlap whichever way they are called, and may make calls themselves.
func TestReadersMeet(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		r, q := box0(t, s, "a"), box0(t, s, "b")
		var met, all sync.WaitGroup
		met.Add(3)
		for range 3 {
			all.Go(func() {
				_, err := look.Call(ctx, r, func(_ *box, c *Ctx) (any, error) {
					met.Done()
					_ = c.Await(func() error { met.Wait(); return nil })
					return do.Call(c, q, inc)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n, err := do.Call(ctx, q, get); n != 3 || err != nil {
			t.Error(n, err)
		}
		_, err := look.Call(ctx, r, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, q, func(_ *box, c *Ctx) (any, error) { return do.Call(c, r, inc) })
		})
		if !errors.Is(err, ErrDeadlock) { // a writer would wait for the reader
			t.Error(err)
		}
		_, err = look.Call(ctx, r, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, q, func(_ *box, c *Ctx) (any, error) { return look.Call(c, r, get) })
		})
		if !errors.Is(err, ErrDeadlock) { // and so may another reader, behind a writer
			t.Error(err)
		}
		books(t, s)
	})
}

// Stashed messages count in the limit, and go before the waiting ones when they are taken
// back; the caller of a stashed call goes on waiting.
func TestStash(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		r := box0(t, s, "a", WithMailbox(Mailbox{Limit: 2}))
		open := false
		pick := func(name string) job {
			return func(b *box, c *Ctx) (any, error) {
				if !open {
					c.Stash()
					return "ignored", errors.New("ignored")
				}
				b.log = append(b.log, name)
				return name, nil
			}
		}
		got := make(chan any, 2)
		go func() { v, _ := do.Call(ctx, r, pick("1")); got <- v }()
		for r.Len() != 1 {
			time.Sleep(time.Millisecond)
		}
		for s.Stats().Handled != 0 || r.Len() != 1 { // it is put aside
			time.Sleep(time.Millisecond)
		}
		_ = do.Tell(context.Background(), r, pick("2"))
		for i := 0; i < 3; i++ {
			time.Sleep(time.Millisecond)
		}
		if err := do.Tell(context.Background(), r, pick("3")); !errors.Is(err, ErrMailboxFull) {
			t.Fatal(err)
		}
		// only a message beyond the limit comes in now: a Down
		_, err := Spawn(s, "", func(c *Ctx) (*box, error) { return &box{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		r.Kill()
		if v := <-got; v != nil {
			t.Fatal(v)
		}
		<-r.Done()
		books(t, s)
		q := box0(t, s, "b")
		open = false
		go func() { v, _ := do.Call(ctx, q, pick("1")); got <- v }()
		for q.Len() != 1 {
			time.Sleep(time.Millisecond)
		}
		_, _ = do.Call(within(t), q, func(_ *box, c *Ctx) (any, error) {
			open = true
			_ = do.Tell(c, q, pick("2"))
			c.Unstash()
			return nil, nil
		})
		if v := <-got; v != "1" {
			t.Fatal(v)
		}
		if l := fmt.Sprint(logOf(t, q)); l != "[1 2]" {
			t.Fatal(l)
		}
		books(t, s)
	})
}
