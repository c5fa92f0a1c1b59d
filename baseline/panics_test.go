package baseline_test

import (
	"testing"

	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/schedtest"
)

func TestPanics(t *testing.T) { schedtest.RunPanics(t, baseline.New[any, int]) }
