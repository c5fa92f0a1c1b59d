package waitq

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: each producer that slept was woken, or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
