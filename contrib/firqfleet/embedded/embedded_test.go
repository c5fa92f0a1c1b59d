package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/contrib/firqfleet/embedded"
	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNew(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	g, err := embedded.New(ctx, 1, firqfleet.Config{Lease: firqfleet.MinLease})
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Acquire(ctx, "a", gate.Request{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * firqfleet.MinLease) // its time passes, and the lease is renewed
	if s := g.Stats(); s.Lost != 0 || s.InUse != 1 {
		t.Errorf("%+v", s)
	}
	p.Release()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	<-g.Done()
}

func TestRefuses(t *testing.T) {
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Client()
	defer func() { _ = c.Close() }()
	if _, err := embedded.New(context.Background(), 1, firqfleet.Config{Client: c}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
	if _, err := embedded.New(context.Background(), 0, firqfleet.Config{}); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Error(err)
	}
}
