package lockfree

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/race"
	"github.com/firq-go/firq/schedtest"
)

// TestContractCrowded is the contract where goroutines always meet: tasks go by rings and lanes, which
// in TestContract few do, as a test that runs beside others seldom has two processors.
func TestContractCrowded(t *testing.T) {
	if race.Enabled {
		t.Skip("TestContract, TestStress and TestOrder have the detector watch")
	}
	schedtest.Run(t, func(cfg config) (*scheduler, error) {
		s, err := New(cfg)
		if err == nil {
			s.crowd()
		}
		return s, err
	})
}
