package actor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// grown is an actor of the model's tree: it starts children and ends as its messages say.
type grown struct{ handled int }

var errWhy = errors.New("why")

type sprout struct {
	name string
	kind byte // as of TestLifeAgainstModel
}

func (g *grown) child(c *Ctx, s sprout) (Ref[*grown], error) { return grow(c, s) }
func (g *grown) count(*Ctx, struct{}) (int, error)           { g.handled++; return g.handled, nil }
func (g *grown) crash(*Ctx, struct{}) (int, error)           { panic(errWhy) }
func (g *grown) end(c *Ctx, why error) (int, error)          { c.Stop(why); return 0, nil }

var (
	growChild = NewMethod("Child", (*grown).child)
	growCount = NewMethod("Count", (*grown).count)
	growCrash = NewMethod("Crash", (*grown).crash)
	growEnd   = NewMethod("End", (*grown).end)
)

// grow starts an actor: 'v', which has one state, or 's', which has its own supervisor.
func grow(p Parent, s sprout) (Ref[*grown], error) {
	if s.kind == 'v' {
		return Spawn(p, s.name, Value(&grown{}))
	}
	sup, err := Supervise(p, "sup-"+s.name, Supervision{MaxRestarts: math.MaxInt32, Within: time.Hour})
	if err != nil {
		return Ref[*grown]{}, err
	}
	return Spawn(sup, s.name, func(*Ctx) (*grown, error) { return &grown{}, nil })
}

// node is an actor in the model.
type node struct {
	ref     Ref[*grown]
	kind    byte
	parent  int // -1: the System
	alive   bool
	handled int
	err     error // to be matched
}

// tree is the model: which actors end with which, why, and which start again.
type tree []*node

// ends notes that an actor has ended permanently, and its descendants before it.
func (m tree) ends(i int, why error) {
	m.orphans(i)
	m[i].alive, m[i].err = false, why
}

// orphans notes that an incarnation of i has ended.
func (m tree) orphans(i int) {
	for k, n := range m {
		if n.parent == i && n.alive {
			m.ends(k, ErrStopped)
		}
	}
}

type lifeOp struct {
	kind byte // v, s: a child of that kind; c: count; x: crash; e, E: c.Stop with nil, with an error; S: Stop; K: Kill
	at   int  // the actor that it concerns, modulo their number; -1: the System
}

// step does one thing to the System and to the model.
func (m *tree) step(s *System, op lifeOp, n int) error {
	if op.kind == 'v' || op.kind == 's' {
		what, parent := sprout{fmt.Sprint("actor-", n), op.kind}, -1
		var ref Ref[*grown]
		var err error
		if len(*m) == 0 || op.at < 0 {
			ref, err = grow(s, what)
		} else {
			parent = op.at % len(*m)
			if ref, err = growChild.Call(context.Background(), (*m)[parent].ref, what); !(*m)[parent].alive {
				if !errors.Is(err, ErrStopped) {
					return fmt.Errorf("an actor that has ended spawned a child: %w", err)
				}
				return nil
			}
		}
		*m = append(*m, &node{ref: ref, kind: op.kind, parent: parent, alive: true})
		return err
	}
	if len(*m) == 0 {
		return nil
	}
	i := max(op.at, 0) % len(*m)
	x := (*m)[i]
	var err, want error
	switch op.kind {
	case 'c':
		_, err = growCount.Call(context.Background(), x.ref, struct{}{})
		x.handled++
	case 'x':
		_, err = growCrash.Call(context.Background(), x.ref, struct{}{})
		want = ErrPanicked
		if x.alive && x.kind == 's' {
			m.orphans(i)
			x.handled = 0
		} else if x.alive {
			m.ends(i, ErrPanicked)
			x.alive = true // for what the call says
			defer func() { x.alive = false }()
		}
	case 'e', 'E':
		var why error
		if op.kind == 'E' {
			why = errWhy
		}
		_, err = growEnd.Call(context.Background(), x.ref, why)
		if x.alive {
			m.ends(i, why)
			x.alive = true
			defer func() { x.alive = false }()
		}
	case 'S':
		if err = x.ref.Stop(context.Background()); err != nil {
			return fmt.Errorf("Stop of %s: %w", x.ref.Name(), err)
		}
		if x.alive {
			m.ends(i, nil)
		}
		return nil
	case 'K':
		x.ref.Kill()
		if x.alive {
			m.ends(i, ErrStopped)
		}
		return nil
	}
	if !x.alive {
		want = ErrStopped
	}
	if !errors.Is(err, want) || want == nil && err != nil {
		return fmt.Errorf("%c of %s: %s, want %s", op.kind, x.ref.Name(), fmt.Sprint(err), fmt.Sprint(want))
	}
	return nil
}

// check compares the System at rest with the model.
func (m tree) check(s *System) error {
	alive := 0
	for _, x := range m {
		ended := false
		select {
		case <-x.ref.Done():
			ended = true
		default:
			alive++
		}
		if ended == x.alive {
			return fmt.Errorf("%s has ended: %t", x.ref.Name(), ended)
		}
		if err := x.ref.Err(); !errors.Is(err, x.err) || x.err == nil && err != nil {
			return fmt.Errorf("%s ends with %s, want %s", x.ref.Name(), fmt.Sprint(err), fmt.Sprint(x.err))
		}
		if _, found := Lookup[*grown](s, x.ref.Name()); found != x.alive {
			return fmt.Errorf("%s is found: %t", x.ref.Name(), found)
		}
		if x.alive {
			n, err := growCount.Call(context.Background(), x.ref, struct{}{})
			if x.handled++; n != x.handled || err != nil {
				return fmt.Errorf("%s has handled %d, want %d: %s", x.ref.Name(), n, x.handled, fmt.Sprint(err))
			}
		}
	}
	st := s.Stats()
	if st.Actors != alive || st.Waiting != 0 || st.Accepted != st.Handled+st.DeadLetters+st.Cancelled {
		return fmt.Errorf("%d are alive: %+v", alive, st)
	}
	return nil
}

// Random lives, one step at a time: actors end with the others, for the reason, and start again
// as the model says.
func TestLifeAgainstModel(t *testing.T) {
	ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lifeOp {
		return lifeOp{rapid.SampledFrom([]byte("vvsssccxxeESK")).Draw(t, "kind"), rapid.IntRange(-1, 7).Draw(t, "at")}
	}), 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		var err error
		steps := ops.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			var s *System
			if s, err = New(Config{Slots: 1 + len(steps)%2}); err != nil {
				return
			}
			var m tree
			for n, op := range steps {
				if err = m.step(s, op, n); err != nil {
					break
				}
				synctest.Wait()
				if err = m.check(s); err != nil {
					err = fmt.Errorf("after step %d, %c at %d: %w", n, op.kind, op.at, err)
					break
				}
			}
			_ = s.Close()
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}
