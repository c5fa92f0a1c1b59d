package actor

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is an actor whose history is checked: a number that is added to and read, and
// lost when a handler panics.
type register struct{ n int }

func (r *register) add(_ *Ctx, by int) (int, error)   { r.n += by; return r.n, nil }
func (r *register) read(*Ctx, struct{}) (int, error)  { return r.n, nil }
func (r *register) crash(*Ctx, struct{}) (int, error) { panic("crash") }

var (
	regAdd   = NewMethod("Add", (*register).add)
	regRead  = NewMethod("Read", (*register).read, ReadOnly())
	regCrash = NewMethod("Crash", (*register).crash)
)

type regOp struct {
	kind byte // add, told (an add without a reply), read, crash
	by   int
}

// registerModel: a crash makes the number 0; the result of a told add is not known.
var registerModel = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		n := state.(int)
		switch op := input.(regOp); op.kind {
		case 'a':
			return output.(int) == n+op.by, n + op.by
		case 't':
			return true, n + op.by
		case 'r':
			return output.(int) == n, n
		}
		return true, 0
	},
}

// The history of one actor that its callers see is linearizable: calls that run on their
// caller's goroutine, calls through the mailbox, readers, tells, and failures with a
// restart in between.
func TestHistories(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for seed := range uint64(rounds) {
		s := newSys(t, Config{Slots: 1 + int(seed%3)})
		sup, err := Supervise(s, "sup", Supervision{MaxRestarts: math.MaxInt32, Within: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		r := must(t, sup, "register", func(*Ctx) (*register, error) { return new(register), nil })
		var mu sync.Mutex
		var history []porcupine.Operation
		began := time.Now()
		now := func() int64 { return int64(time.Since(began)) }
		var wg sync.WaitGroup
		for client := range 4 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(client)))
				patient, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				for range 12 {
					op := porcupine.Operation{ClientId: client, Input: regOp{}, Output: 0}
					in := regOp{by: 1 + rnd.IntN(9)}
					ctx := patient // through the mailbox
					if rnd.IntN(2) == 0 {
						ctx = context.Background() // on this goroutine, if no other goroutine has the turn
					}
					op.Call = now()
					var err error
					switch k := rnd.IntN(10); {
					case k < 4:
						in.kind = 'a'
						op.Output, err = regAdd.Call(ctx, r, in.by)
					case k < 6:
						in.kind = 't'
						err = regAdd.Tell(ctx, r, in.by)
					case k < 9:
						in.kind = 'r'
						op.Output, err = regRead.Call(ctx, r, struct{}{})
					default:
						in.kind = 'c'
						if _, err = regCrash.Call(ctx, r, struct{}{}); errors.Is(err, ErrPanicked) {
							err = nil
						}
					}
					op.Return = now()
					if in.kind == 't' {
						op.Return = math.MaxInt64 // it takes effect at some time
					}
					op.Input = in
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
					if err != nil {
						t.Errorf("seed %d: %c: %v", seed, in.kind, err)
					}
				}
			})
		}
		wg.Wait()
		switch porcupine.CheckOperationsTimeout(registerModel, history, 20*time.Second) {
		case porcupine.Illegal:
			t.Fatalf("seed %d: not linearizable: %+v", seed, history)
		case porcupine.Unknown:
			t.Logf("seed %d: not decided in time", seed)
		}
		if err := s.Shutdown(within(t)); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Accepted != st.Handled+st.DeadLetters+st.Cancelled || st.Waiting != 0 {
			t.Errorf("seed %d: %+v", seed, st)
		}
	}
}
