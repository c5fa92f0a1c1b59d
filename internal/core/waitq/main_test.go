package waitq

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: whoever slept was woken, or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
