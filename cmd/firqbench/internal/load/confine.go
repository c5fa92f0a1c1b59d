package load

import (
	"runtime"

	"github.com/firq-go/firq/cmd/firqbench/internal/quota"
)

// confine gives the process what the scenario grants it of the machine, before the contestant
// is made, and returns a function that takes that back.
func (r *run) confine() (free func() error, err error) {
	lift, processors := func() error { return nil }, r.s.Processors
	if r.s.Quota > 0 {
		percent := r.s.Quota * runtime.NumCPU()
		if lift, err = quota.Limit(percent, quota.Short); err != nil {
			return nil, err
		}
		processors = quota.Processors(percent, runtime.NumCPU())
	}
	if processors == 0 {
		return lift, nil
	}
	before := runtime.GOMAXPROCS(processors)
	return func() error {
		runtime.GOMAXPROCS(before)
		return lift()
	}, nil
}
