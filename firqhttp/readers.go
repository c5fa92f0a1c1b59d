package firqhttp

import (
	"fmt"
	"sync"

	"github.com/firq-go/firq"
)

var (
	errReading       = fmt.Errorf("%w: as many bodies are being read as may be (MaxReading)", firq.ErrGlobalFull)
	errReadingTenant = fmt.Errorf("%w: as many bodies of the tenant are being read as may be (MaxReadingPerTenant)", firq.ErrTenantFull)
)

// readers are the requests whose bodies are being read.
type readers struct {
	most, mostOf int // immutable; below 0: no limit

	mu sync.Mutex // guards what is below
	n  int
	of map[string]int // by tenant; one that has none is not there
}

func (r *readers) init(most, mostOf int) {
	r.most, r.mostOf, r.of = most, mostOf, map[string]int{}
}

// enter counts a request in, or returns the limit that is reached. A tenant at its own limit
// gets that one, whatever the others do.
func (r *readers) enter(tenant string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.of[tenant]
	switch {
	case r.mostOf >= 0 && n >= r.mostOf:
		return errReadingTenant
	case r.most >= 0 && r.n >= r.most:
		return errReading
	}
	r.of[tenant] = n + 1
	r.n++
	return nil
}

// leave counts a request out that was let in.
func (r *readers) leave(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n--
	if r.of[tenant]--; r.of[tenant] == 0 {
		delete(r.of, tenant)
	}
}

func (r *readers) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
