package baseline

import (
	"testing"

	"github.com/firq-go/firq/internal/proof/lincheck"
)

// Every history of concurrent calls is one that the contract allows.
func TestLinearizable(t *testing.T) {
	free := lincheck.Relaxation{}
	lincheck.Run(t, free, func(cfg lincheck.Config) (lincheck.Scheduler, error) {
		return New(cfg)
	})
}
