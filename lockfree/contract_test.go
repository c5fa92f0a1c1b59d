package lockfree_test

import (
	"testing"

	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/schedtest"
)

func TestContract(t *testing.T) { schedtest.Run(t, lockfree.New[string, int]) }

func TestPayload(t *testing.T) { schedtest.RunPayload(t, lockfree.New[string, *[1 << 16]byte]) }
