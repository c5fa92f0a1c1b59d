package firqotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// Traced is a payload that carries its trace through a scheduler in the process: of type
// firq.Scheduler[K, firqotel.Traced[T]]. Enqueue makes them.
type Traced[T any] struct {
	Value   T
	created trace.SpanContext // of the span of Enqueue
}

// Enqueue enqueues value, with the rest of task as it is, and the span of ctx as the parent of the
// task's spans.
//
//	err := firqotel.Enqueue(ctx, tracer, s, "acme", mail, firq.Task[firqotel.Traced[Mail]]{Cost: 3})
func Enqueue[K comparable, T any](ctx context.Context, t *Tracer, s firq.Producer[K, Traced[T]], tenant K, value T, task firq.Task[Traced[T]]) error {
	task.Payload.Value = value
	if sc := trace.SpanContextFromContext(ctx); never(sc) {
		task.Payload.created = sc
		return s.Enqueue(tenant, task)
	}
	ctx, span := t.send(ctx, "")
	if span.IsRecording() {
		span.SetAttributes(tenantKey.String(fmt.Sprint(tenant)))
	}
	task.Payload.created = trace.SpanContextFromContext(ctx)
	err := errUnfinished
	defer func() { finish(span, err) }() // also if a function of Config panics
	err = s.Enqueue(tenant, task)
	return err
}

// Handler returns h with spans around it, for worker.New or worker.Run. If h panics, its span
// ends with an error, and the panic goes on.
func Handler[K comparable, T any](t *Tracer, h worker.Handler[K, Traced[T]]) worker.Handler[K, Traced[T]] {
	return func(ctx context.Context, it *firq.Item[K, Traced[T]]) error {
		created := it.Payload.created
		m := Message{Wait: it.Wait}
		if !never(created) {
			m.Tenant = fmt.Sprint(it.Tenant)
		}
		ctx, span := t.process(ctx, created, m)
		err := errUnfinished
		defer func() { finish(span, err) }()
		err = h(ctx, it)
		return err
	}
}

// HandleBatch begins the span of items that are handled together (firq.Consumer.DequeueBatch), with
// a link to the span of Enqueue of each: see [Tracer.ProcessBatch].
func HandleBatch[K comparable, T any](ctx context.Context, t *Tracer, items []firq.Item[K, Traced[T]]) (_ context.Context, end func(error)) {
	created := make([]trace.SpanContext, len(items))
	for i := range items {
		created[i] = items[i].Payload.created
	}
	ctx, span := t.processBatch(ctx, created)
	return ctx, func(err error) { finish(span, err) }
}
