package lockfree_test

import (
	"testing"

	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/schedtest"
)

func TestPanics(t *testing.T) { schedtest.RunPanics(t, lockfree.New[any, int]) }
