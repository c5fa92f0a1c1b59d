package actor

import (
	"context"
	"errors"
	"testing"
	"time"
)

type counter struct{ n int }

func (k *counter) add(_ *Ctx, by int) (int, error) { k.n += by; return k.n, nil }

var add = NewMethod("Add", (*counter).add)

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newSys(t testing.TB, c Config) *System {
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must[S any](t testing.TB, p Parent, name string, start func(*Ctx) (S, error), opts ...Option) Ref[S] {
	t.Helper()
	r, err := Spawn(p, name, start, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCounter(t *testing.T) {
	s := newSys(t, Config{})
	r := must(t, s, "visits", Value(&counter{}))
	for range 1000 {
		if err := add.Tell(context.Background(), r, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := add.Call(within(t), r, 2); n != 1002 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := add.Call(context.Background(), r, 2); n != 1004 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := add.Start(within(t), r, 2).Wait(within(t)); n != 1006 || err != nil {
		t.Fatal(n, err)
	}
	if st := s.Stats(); st.Accepted != 1003 || st.Handled != 1003 || st.Waiting != 0 || st.Actors != 1 {
		t.Fatalf("%+v", st)
	}
	if err := r.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if err := add.Tell(context.Background(), r, 1); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	if err := s.Shutdown(within(t)); err != nil {
		t.Fatal(err)
	}
}
