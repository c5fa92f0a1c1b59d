package schedtest

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: a scheduler starts none, and whoever slept in
// one was woken, or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
