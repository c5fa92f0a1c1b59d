package schedtest_test

import (
	"testing"

	"github.com/firq-go/firq/schedtest"
)

func TestReference(t *testing.T) { schedtest.Run(t, newReference[string, int]) }

func TestReferencePanics(t *testing.T) { schedtest.RunPanics(t, newReference[any, int]) }

func TestReferencePayload(t *testing.T) {
	schedtest.RunPayload(t, newReference[string, *[1 << 16]byte])
}
