package firq_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/firq-go/firq"
)

var rejections = map[string]error{
	"ErrGlobalFull":      firq.ErrGlobalFull,
	"ErrTenantFull":      firq.ErrTenantFull,
	"ErrTenantThreshold": firq.ErrTenantThreshold,
	"ErrTooManyTenants":  firq.ErrTooManyTenants,
	"ErrTimeout":         firq.ErrTimeout,
}

// others are the sentinels that do not say "a limit was reached".
var others = map[string]error{
	"ErrClosed":          firq.ErrClosed,
	"ErrInvalidConfig":   firq.ErrInvalidConfig,
	"ErrInvalidTask":     firq.ErrInvalidTask,
	"ErrInvalidArgument": firq.ErrInvalidArgument,
}

func TestErrorsIs(t *testing.T) {
	all := map[string]error{"ErrRejected": firq.ErrRejected}
	for name, err := range rejections {
		all[name] = err
	}
	for name, err := range others {
		all[name] = err
	}
	for name, err := range all {
		for target, is := range all {
			want := name == target || target == "ErrRejected" && rejections[name] != nil
			if got := errors.Is(err, is); got != want {
				t.Errorf("errors.Is(%s, %s) = %t, want %t", name, target, got, want)
			}
		}
	}
}

func TestErrorsText(t *testing.T) {
	seen := map[string]string{}
	for _, group := range []map[string]error{rejections, others, {"ErrRejected": firq.ErrRejected}} {
		for name, err := range group {
			text := err.Error()
			if !strings.HasPrefix(text, "firq: ") || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q, want \"firq: ...\" with no full stop", name, text)
			}
			if before, twice := seen[text]; twice {
				t.Errorf("%s and %s both say %q", name, before, text)
			}
			seen[text] = name
		}
	}
	for name, err := range rejections {
		if !strings.HasPrefix(err.Error(), firq.ErrRejected.Error()+": ") {
			t.Errorf("%s: %q, want it to begin with %q", name, err, firq.ErrRejected)
		}
	}
	for field, err := range map[string]error{
		"MaxGlobal": firq.ErrGlobalFull, "MaxPerTenant": firq.ErrTenantFull,
		"DynamicThreshold": firq.ErrTenantThreshold, "MaxTenants": firq.ErrTooManyTenants,
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%q does not name the limit's field, %s", err, field)
		}
	}
}

//go:noinline
func reject(err *error) error { return *err }

// TestErrorsAllocateNothing: under overload rejecting is the hot path, and so is
// finding out what was answered.
func TestErrorsAllocateNothing(t *testing.T) {
	for name, err := range rejections {
		missed := 0
		allocs := testing.AllocsPerRun(100, func() {
			if got := reject(&err); !errors.Is(got, err) || !errors.Is(got, firq.ErrRejected) || errors.Is(got, firq.ErrClosed) {
				missed++
			}
		})
		if allocs != 0 || missed != 0 {
			t.Errorf("%s: %v allocations per rejection, want 0; %d of 101 not recognised", name, allocs, missed)
		}
	}
}
