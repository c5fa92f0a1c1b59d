package schedtest_test

import (
	"testing"

	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/schedtest"
)

// A scheduler with the contract of package firq has two tests: what it does, and what it leaves in
// memory. Run them with -race.
func ExampleRun() {
	tests := []func(t *testing.T){
		func(t *testing.T) { schedtest.Run(t, baseline.New[string, int]) },
		func(t *testing.T) { schedtest.RunLeaks(t, baseline.New[string, int]) },
	}
	_ = tests // in a _test.go file: TestScheduler and TestSchedulerLeaks
}
