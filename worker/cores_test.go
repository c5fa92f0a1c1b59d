package worker_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// No goroutine outlives the tests: not the workers, not their timers.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cores returns the constructors of both cores.
func cores[K comparable, T any]() map[string]func(testing.TB, firq.Config[K, T]) firq.Scheduler[K, T] {
	return map[string]func(testing.TB, firq.Config[K, T]) firq.Scheduler[K, T]{
		"lockfree": func(t testing.TB, cfg firq.Config[K, T]) firq.Scheduler[K, T] {
			s, err := lockfree.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		"baseline": func(t testing.TB, cfg firq.Config[K, T]) firq.Scheduler[K, T] {
			s, err := baseline.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
	}
}
