package queue

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// Filter chooses dead letters that match all of its fields that are set. The zero Filter matches all dead letters.
type Filter struct {
	Tenant string
	IDs    []string  // nil: any; a list that is empty, but not nil, chooses none
	Reason string    // a part of it
	After  time.Time // died at that time or later
	Before time.Time // died before that
	Limit  int       // that many at most; 0: all
}

// DeadLetter is a task that is not tried again.
type DeadLetter[T any] struct {
	Task[T]         // Payload is zero if the codec cannot read it
	Attempts int    // deliveries that have failed
	Reason   string // of the last one
	DiedAt   time.Time
	Raw      []byte // the payload as stored
}

// DeadLetters iterates over dead letters, the oldest first. It reads them page by page: those that die,
// or are purged, at that time may be seen or not. With IDs it reads only these.
func (q *Queue[T]) DeadLetters(ctx context.Context, f Filter) iter.Seq2[DeadLetter[T], error] {
	return func(yield func(DeadLetter[T], error) bool) {
		if err := q.call(ctx, "DeadLetters"); err != nil {
			yield(DeadLetter[T]{}, err)
			return
		}
		n := 0
		for raw, err := range q.engine.DeadLetters(ctx, f) {
			if err != nil {
				yield(DeadLetter[T]{}, err)
				return
			}
			d := DeadLetter[T]{withPayload(&raw.Task, *new(T)), raw.Attempts, raw.Reason, raw.DiedAt, raw.Raw}
			if v, err := q.decodeApart(d.Raw); err == nil {
				d.Payload = v
			}
			if n++; !yield(d, nil) || n == f.Limit {
				return
			}
		}
	}
}

// Requeue queues dead letters as new tasks: attempts count from 1, and no limit refuses them. Errors are joined
// TaskErrors: ErrNotFound.
func (q *Queue[T]) Requeue(ctx context.Context, ids ...string) error {
	return q.each(ctx, "Requeue", ids, q.engine.Requeue)
}

// each calls an engine for ids, and joins ErrNotFound for those that it did not find.
func (q *Queue[T]) each(ctx context.Context, call string, ids []string, f func(ctx context.Context, ids []string) ([]bool, error)) error {
	if err := q.call(ctx, call); err != nil {
		return err
	}
	found := make(map[string]bool, len(ids))
	for some := range slices.Chunk(ids, MaxBatch) {
		there, err := f(ctx, some)
		if err != nil {
			return err
		}
		for i, id := range some {
			found[id] = found[id] || there[i]
		}
	}
	var errs []error
	for _, id := range ids {
		if !found[id] {
			errs = append(errs, &TaskError{id, ErrNotFound})
		}
	}
	return errors.Join(errs...)
}

// deadPage is how many dead letters are purged at a time.
const deadPage = 200

// Purge removes dead letters permanently, and returns their number. Beware: the zero Filter matches all of them.
func (q *Queue[T]) Purge(ctx context.Context, f Filter) (int, error) {
	if f.Tenant != "" && q.names.bad(f.Tenant) {
		return 0, invalidArgument("Purge: Tenant: %q: %s", f.Tenant, &q.names)
	}
	if err := q.call(ctx, "Purge"); err != nil {
		return 0, err
	}
	n, seen, each := 0, 0, make([][]string, q.traits.Lanes)
	flush := func(lane int) error {
		k, err := q.engine.Purge(ctx, lane, each[lane])
		each[lane] = each[lane][:0]
		n += k
		return err
	}
	for d, err := range q.engine.DeadLetters(ctx, f) {
		if err != nil {
			return n, err
		}
		lane := q.engine.Lane(d.Tenant)
		if each[lane] = append(each[lane], d.ID); len(each[lane]) >= deadPage {
			if err := flush(lane); err != nil {
				return n, err
			}
		}
		if seen++; seen == f.Limit {
			break
		}
	}
	for lane := range each {
		if len(each[lane]) > 0 {
			if err := flush(lane); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// InFlight iterates over the tasks in flight, of one tenant or, with "", of all: the leases that end first come first. It reads them
// page by page: leases that begin, end or are extended at that time may be seen as they were, or not. Wait is until now; Payload is zero if
// the codec cannot read it. The items belong to their workers; if a worker is known to be gone, Release and Nack of its item end the
// lease early.
func (q *Queue[T]) InFlight(ctx context.Context, tenant string) iter.Seq2[*Item[T], error] {
	return func(yield func(*Item[T], error) bool) {
		err := q.call(ctx, "InFlight")
		if tenant != "" {
			err = q.named(ctx, "InFlight", "tenant", tenant)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for d, err := range q.engine.InFlight(ctx, tenant) {
			if err != nil {
				yield(nil, err)
				return
			}
			it, _ := q.item(&d, q.decodeApart) // with an error: without its payload
			if !yield(it, nil) {
				return
			}
		}
	}
}
