package actor

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// A first start that fails is its caller's error. There is no child that has failed: the siblings stay, and
// the supervisor does not come nearer to giving up.
func TestFirstStartFailsAlone(t *testing.T) {
	ways := map[string]func(*Ctx) (*box, error){
		"error":  func(*Ctx) (*box, error) { return nil, errStart },
		"panic":  func(*Ctx) (*box, error) { panic(errStart) },
		"goexit": func(*Ctx) (*box, error) { runtime.Goexit(); return nil, nil },
	}
	for how, start := range ways {
		for _, st := range []Strategy{OneForOne, OneForAll, RestForOne} {
			bubble(t, func(t *testing.T) {
				s := newSys(t, Config{})
				sup, err := Supervise(s, "sup", Supervision{Strategy: st, MaxRestarts: -1})
				if err != nil {
					t.Fatal(err)
				}
				old := box0(t, sup, "old")
				k, err := NewKind(sup, "k", func(c *Ctx, _ string) (*box, error) { return start(c) })
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := Spawn(sup, "new", start); how == "error" && !errors.Is(err, errStart) || err == nil {
						t.Error(err)
					}
				})
				wg.Go(func() {
					if _, err := do.Call(bg, k.Ref("x"), inc); !errors.Is(err, ErrNotSent) {
						t.Error(err)
					}
				})
				wg.Wait()
				synctest.Wait()              // by Goexit, Spawn has ended before the actor has
				young := box0(t, sup, "new") // the name is free
				synctest.Wait()
				for _, r := range []Ref[*box]{old, young} {
					if n, err := do.Call(bg, r, inc); n != 1 || err != nil {
						t.Errorf("%s, %v: %v, %v", how, st, n, err)
					}
				}
				if n := s.Stats().Restarts; n != 0 || sup.Err() != nil {
					t.Errorf("%s, %v: %d restarts, %v", how, st, n, sup.Err())
				}
			})
		}
	}
}
