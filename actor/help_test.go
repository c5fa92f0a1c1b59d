package actor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	slog.SetDefault(quietLogger()) // tests make handlers fail, and each failure is logged
	seesLife = noteLife
	goleak.VerifyTestMain(lifeMain{m})
}

// box is an actor whose messages say what to do.
type box struct {
	n   int
	log []string
	end func(*Ctx, error)
}

func (b *box) Stop(c *Ctx, why error) {
	if b.end != nil {
		b.end(c, why)
	}
}

type job = func(b *box, c *Ctx) (any, error)

func run(b *box, c *Ctx, f job) (any, error) { return f(b, c) }

var (
	do         = NewMethod("Do", run)
	look       = NewMethod("Look", run, ReadOnly())
	quick      = NewMethod("Quick", run, Inline())
	downed     = NewAction("Down", func(b *box, _ *Ctx, d Down) error { b.log = append(b.log, d.Name+":"+fmt.Sprint(d.Err)); return nil })
	fresh      = func(*Ctx) (*box, error) { return &box{}, nil }
	boom       = func(*box, *Ctx) (any, error) { panic("boom") }
	inc    job = func(b *box, _ *Ctx) (any, error) { b.n++; return b.n, nil }
	get    job = func(b *box, _ *Ctx) (any, error) { return b.n, nil }
)

// limit ends the program with all stacks if the test hangs.
func limit(t testing.TB, d time.Duration) {
	timer := time.AfterFunc(d, func() {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		fmt.Fprintf(os.Stderr, "%s hangs\n%s\n", t.Name(), buf)
		os.Exit(3)
	})
	t.Cleanup(func() { timer.Stop() })
}

// bubble runs f in a bubble of testing/synctest, with its own clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	limit(t, 20*time.Second)
	synctest.Test(t, f)
}

// modes runs f three times: with calls inline where possible, with calls through the mailbox, and with one slot.
func modes(t *testing.T, f func(t *testing.T, ctx context.Context, c Config)) {
	limit(t, 30*time.Second)
	t.Run("inline", func(t *testing.T) { f(t, context.Background(), Config{}) })
	t.Run("mailbox", func(t *testing.T) { f(t, within(t), Config{}) })
	t.Run("one slot", func(t *testing.T) { f(t, within(t), Config{Slots: 1, Throughput: 1}) })
}

func box0(t testing.TB, p Parent, name string, opts ...Option) Ref[*box] {
	t.Helper()
	return must(t, p, name, fresh, opts...)
}

// books fails if an accepted message is not accounted for.
func books(t testing.TB, s *System) {
	t.Helper()
	st := s.Stats()
	if st.Accepted != st.Handled+st.DeadLetters+st.Cancelled || st.Waiting != 0 {
		t.Errorf("the books do not add up: %+v", st)
	}
}
