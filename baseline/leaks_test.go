package baseline_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/schedtest"
)

// No goroutine outlives the tests: a scheduler starts none, and each consumer that slept in
// one was woken, or gave up.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeaks(t *testing.T) { schedtest.RunLeaks(t, baseline.New[string, int]) }
