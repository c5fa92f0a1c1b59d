package ringlane_test

import (
	"testing"

	"github.com/firq-go/firq/lockfree/ringlane"
	"github.com/firq-go/firq/schedtest"
)

func TestContract(t *testing.T) { schedtest.Run(t, ringlane.New[string, int]) }

func TestPayload(t *testing.T) { schedtest.RunPayload(t, ringlane.New[string, *[1 << 16]byte]) }

func TestPanics(t *testing.T) { schedtest.RunPanics(t, ringlane.New[any, int]) }

func TestLeaks(t *testing.T) { schedtest.RunLeaks(t, ringlane.New[string, int]) }
