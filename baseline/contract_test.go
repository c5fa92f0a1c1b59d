package baseline_test

import (
	"testing"

	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/schedtest"
)

func TestContract(t *testing.T) { schedtest.Run(t, baseline.New[string, int]) }

func TestPayload(t *testing.T) { schedtest.RunPayload(t, baseline.New[string, *[1 << 16]byte]) }
