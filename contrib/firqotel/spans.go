package firqotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Attributes of spans that the semantic conventions have no name for.
const (
	tenantKey  = attribute.Key("firq.tenant")
	attemptKey = attribute.Key("firq.attempt")
)

// Tracer makes spans of tasks, with the names that OpenTelemetry's semantic conventions for
// messaging have (1.43.0): "enqueue" where a task is handed in, "wait" for its time in the queue,
// and "process" around its handler. [Enqueue] and [Handler] do all that for a scheduler in the
// process; Send and Process do it for queues whose tasks carry headers, such as firqredis.Queue.
//
// Where a task's context holds a span that is not sampled, no span is made, and next to nothing
// is done. Where it holds none, Send may begin a trace, if the sampler of the TracerProvider
// agrees. Safe for concurrent use.
type Tracer struct {
	tracer      trace.Tracer
	destination string
}

// TracerOptions are for NewTracer.
type TracerOptions struct {
	// TracerProvider makes the tracer. nil: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// Destination is the name of the scheduler or queue: the attribute
	// messaging.destination.name, and part of the names of spans. Empty: "firq".
	Destination string
}

// NewTracer returns a Tracer.
func NewTracer(o TracerOptions) *Tracer {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.Destination == "" {
		o.Destination = "firq"
	}
	tracer := o.TracerProvider.Tracer(ScopeName, trace.WithSchemaURL(semconv.SchemaURL))
	return &Tracer{tracer, o.Destination}
}

// Message describes a task to a span.
type Message struct {
	Tenant  string            // attribute firq.tenant; empty: none
	ID      string            // messaging.message.id; empty: none
	Headers map[string]string // trace context, as Send has put it there
	Wait    time.Duration     // in the queue; 0: there is no span for it
	Attempt int               // 1 or 0 for the first
}

// Send begins the span of handing a task in. It returns the headers for the task (see [Inject]),
// and end, which the caller calls with the ID that the task was given, if any, and why it was not
// admitted, if so.
//
//	headers, end := tracer.Send(ctx, firqotel.Message{Tenant: "acme"})
//	id, err := q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: "acme", Payload: m, Headers: headers})
//	end(id, err)
func (t *Tracer) Send(ctx context.Context, m Message) (headers map[string]string, end func(id string, err error)) {
	ctx, span := t.send(ctx, m.Tenant)
	return Inject(ctx, m.Headers), func(id string, err error) {
		if id != "" && span.IsRecording() {
			span.SetAttributes(semconv.MessagingMessageID(id))
		}
		finish(span, err)
	}
}

// Process begins the span of handling a task, after one for its time in the queue. It returns the
// context for the handler, and end, to be called with the handler's error:
//
//	ctx, end := tracer.Process(ctx, firqotel.Message{Tenant: it.Tenant, ID: it.ID, Headers: it.Headers, Wait: it.Wait, Attempt: it.Attempt})
//	defer func() { end(err) }()
//
// The spans of the first attempt are children of the one of Send. Further attempts may come long
// after its trace was over: each begins a trace, with a link to that span.
func (t *Tracer) Process(ctx context.Context, m Message) (_ context.Context, end func(error)) {
	ctx, span := t.process(ctx, trace.SpanContextFromContext(Extract(context.Background(), m.Headers)), m)
	return ctx, func(err error) { finish(span, err) }
}

// ProcessBatch is Process for tasks that one handler handles together: one span, with a link to
// the span of Send of each. Sampling goes by ctx, and links to spans that are not sampled are left
// out.
func (t *Tracer) ProcessBatch(ctx context.Context, batch []Message) (_ context.Context, end func(error)) {
	created := make([]trace.SpanContext, len(batch))
	for i, m := range batch {
		created[i] = trace.SpanContextFromContext(Extract(context.Background(), m.Headers))
	}
	ctx, span := t.processBatch(ctx, created)
	return ctx, func(err error) { finish(span, err) }
}

// never reports whether a span context says that there is to be no span.
func never(sc trace.SpanContext) bool { return sc.IsValid() && !sc.IsSampled() }

// none is a span that does nothing.
var none = trace.SpanFromContext(context.Background())

func (t *Tracer) send(ctx context.Context, tenant string) (context.Context, trace.Span) {
	if never(trace.SpanContextFromContext(ctx)) {
		return ctx, none
	}
	ctx, span := t.tracer.Start(ctx, "enqueue "+t.destination, trace.WithSpanKind(trace.SpanKindProducer))
	t.describe(span, "enqueue", tenant, semconv.MessagingOperationTypeSend)
	return ctx, span
}

func (t *Tracer) process(ctx context.Context, created trace.SpanContext, m Message) (context.Context, trace.Span) {
	if never(created) {
		return trace.ContextWithRemoteSpanContext(ctx, created), none
	}
	kind := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	switch {
	case !created.IsValid():
	case m.Attempt > 1:
		kind = append(kind, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: created, Attributes: []attribute.KeyValue{attemptKey.Int(m.Attempt)}}))
	default:
		ctx = trace.ContextWithRemoteSpanContext(ctx, created)
	}
	if created.IsValid() && m.Attempt <= 1 && m.Wait > 0 {
		now := time.Now()
		_, span := t.tracer.Start(ctx, "wait "+t.destination, trace.WithTimestamp(now.Add(-m.Wait)))
		t.describe(span, "wait", m.Tenant)
		span.End(trace.WithTimestamp(now))
	}
	ctx, span := t.tracer.Start(ctx, "process "+t.destination, kind...)
	if span.IsRecording() {
		t.describe(span, "process", m.Tenant, semconv.MessagingOperationTypeProcess)
		if m.ID != "" {
			span.SetAttributes(semconv.MessagingMessageID(m.ID))
		}
		if m.Attempt > 0 {
			span.SetAttributes(attemptKey.Int(m.Attempt))
		}
	}
	return ctx, span
}

func (t *Tracer) processBatch(ctx context.Context, created []trace.SpanContext) (context.Context, trace.Span) {
	if never(trace.SpanContextFromContext(ctx)) {
		return ctx, none
	}
	var links []trace.Link
	for _, sc := range created {
		if sc.IsSampled() {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	ctx, span := t.tracer.Start(ctx, "process "+t.destination, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...))
	t.describe(span, "process", "", semconv.MessagingOperationTypeProcess, semconv.MessagingBatchMessageCount(len(created)))
	return ctx, span
}

// describe sets the attributes of a span that is recorded.
func (t *Tracer) describe(span trace.Span, operation, tenant string, more ...attribute.KeyValue) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		semconv.MessagingSystemKey.String("firq"),
		semconv.MessagingDestinationName(t.destination),
		semconv.MessagingOperationName(operation),
	)
	if tenant != "" {
		span.SetAttributes(tenantKey.String(tenant))
	}
	span.SetAttributes(more...)
}

var errUnfinished = errors.New("firq: the handler panicked, or ended its goroutine")

// finish ends a span.
func finish(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetAttributes(semconv.ErrorType(err))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
