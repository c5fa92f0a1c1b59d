package contest

import (
	"context"

	"github.com/firq-go/firq"
)

// Primer is a contestant with its own way to get to know its tenants before
// a run. The driver then does not send each of them a task and take it out again.
type Primer interface {
	Queue
	// Prime makes the tenants known. It is called once, before the first task.
	Prime(ctx context.Context, tenants []string) error
}

// Handler is a contestant whose tenants can be looked up beforehand. In a scenario with
// Handles producers then enqueue by handle.
type Handler interface {
	Queue
	Tenant(tenant string) firq.Handle[string, uint64]
}

// Runner is a contestant that runs its tasks itself, in its own goroutines, as
// a pool of workers does. The driver calls Prime, then Serve, then sends tasks; it
// never calls the dequeue methods. Shutdown returns once the last task has run.
type Runner interface {
	Primer
	// Serve has each task given to handle from now on, by at most the given number of workers
	// at the same time. It returns immediately.
	Serve(workers int, handle func(*Item))
}
