package firqotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// traces is a tracer whose spans go to memory.
func traces(t testing.TB, sampler sdktrace.Sampler) (*tracetest.InMemoryExporter, *sdktrace.TracerProvider, *firqotel.Tracer) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	return exporter, provider, firqotel.NewTracer(firqotel.TracerOptions{TracerProvider: provider, Destination: "mail"})
}

// named returns the spans of a name.
func named(t *testing.T, exporter *tracetest.InMemoryExporter, name string, want int) tracetest.SpanStubs {
	t.Helper()
	var found tracetest.SpanStubs
	for _, s := range exporter.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != want {
		t.Fatalf("%d spans %q, want %d, among %d", len(found), name, want, len(exporter.GetSpans()))
	}
	return found
}

// has fails unless a span has these attributes, as text, and no other.
func has(t *testing.T, s tracetest.SpanStub, want ...string) {
	t.Helper()
	var got []string
	for _, a := range s.Attributes {
		got = append(got, string(a.Key)+"="+a.Value.String())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("span %q: %q, want %q", s.Name, got, want)
	}
}

func scheduler(t testing.TB) *lockfree.Scheduler[string, firqotel.Traced[string]] {
	t.Helper()
	s, err := lockfree.New(firq.Config[string, firqotel.Traced[string]]{MaxGlobal: 4})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// work runs handlers until the scheduler is empty.
func work(t testing.TB, s *lockfree.Scheduler[string, firqotel.Traced[string]], h worker.Handler[string, firqotel.Traced[string]]) {
	t.Helper()
	done := make(chan error, 1)
	silent := func(worker.Event[string, firqotel.Traced[string]]) {}
	go func() {
		done <- worker.Run(context.Background(), s, h, worker.Options[string, firqotel.Traced[string]]{Concurrency: 1, OnError: silent, OnPanic: silent})
	}()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A task of a scheduler in the process: a span where it is handed in, one for its wait, and one
// around its handler, in the trace of the request.
func TestSpansOfTask(t *testing.T) {
	exporter, provider, tracer := traces(t, sdktrace.AlwaysSample())
	s := scheduler(t)
	ctx, request := provider.Tracer("test").Start(t.Context(), "request")
	if err := firqotel.Enqueue(ctx, tracer, s, "acme", "hello", firq.Task[firqotel.Traced[string]]{}); err != nil {
		t.Fatal(err)
	}
	request.End()
	broken := errors.New("broken")
	work(t, s, firqotel.Handler(tracer, func(ctx context.Context, it *firq.Item[string, firqotel.Traced[string]]) error {
		if it.Payload.Value != "hello" || it.Tenant != "acme" {
			t.Errorf("%+v", it)
		}
		_, inner := provider.Tracer("test").Start(ctx, "inner")
		inner.End()
		return broken
	}))
	enqueue, wait := named(t, exporter, "enqueue mail", 1)[0], named(t, exporter, "wait mail", 1)[0]
	process, inner := named(t, exporter, "process mail", 1)[0], named(t, exporter, "inner", 1)[0]
	for child, parent := range map[*tracetest.SpanStub]trace.SpanContext{
		&enqueue: request.SpanContext(), &wait: enqueue.SpanContext, &process: enqueue.SpanContext, &inner: process.SpanContext,
	} {
		if child.Parent.SpanID() != parent.SpanID() || child.SpanContext.TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%q is a child of %v, want %v", child.Name, child.Parent.SpanID(), parent.SpanID())
		}
	}
	has(t, enqueue, "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=enqueue", "messaging.operation.type=send", "firq.tenant=acme")
	has(t, wait, "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=wait", "firq.tenant=acme")
	has(t, process, "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=process", "firq.tenant=acme",
		"messaging.operation.type=process", "error.type=*errors.errorString")
	if enqueue.SpanKind != trace.SpanKindProducer || process.SpanKind != trace.SpanKindConsumer || wait.SpanKind != trace.SpanKindInternal {
		t.Errorf("kinds %v, %v, %v", enqueue.SpanKind, wait.SpanKind, process.SpanKind)
	}
	if process.Status.Code != codes.Error || process.Status.Description != "broken" || enqueue.Status.Code != codes.Unset {
		t.Errorf("%+v, %+v", process.Status, enqueue.Status)
	}
	if wait.EndTime.Before(wait.StartTime) || wait.EndTime.After(process.StartTime) {
		t.Errorf("it waits from %v to %v, and is processed from %v", wait.StartTime, wait.EndTime, process.StartTime)
	}
}

// A task that is refused, and a handler that panics.
func TestSpansOfFailures(t *testing.T) {
	exporter, _, tracer := traces(t, sdktrace.AlwaysSample())
	s := scheduler(t)
	for range 5 {
		_ = firqotel.Enqueue(t.Context(), tracer, s, "acme", "", firq.Task[firqotel.Traced[string]]{})
	}
	last := named(t, exporter, "enqueue mail", 5)[4]
	if last.Status.Code != codes.Error || last.Status.Description != firq.ErrGlobalFull.Error() {
		t.Errorf("%+v", last.Status)
	}
	work(t, s, firqotel.Handler(tracer, func(context.Context, *firq.Item[string, firqotel.Traced[string]]) error { panic("oops") }))
	for _, span := range named(t, exporter, "process mail", 4) {
		if span.Status.Code != codes.Error || !strings.Contains(span.Status.Description, "panicked") {
			t.Errorf("%+v", span.Status)
		}
	}
}

// Nothing is made of what is not sampled, and it costs no more than to carry that on.
func TestSpansNotSampled(t *testing.T) {
	exporter, _, tracer := traces(t, sdktrace.AlwaysSample())
	s := scheduler(t)
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(t.Context(), sc)
	if err := firqotel.Enqueue(ctx, tracer, s, "acme", "", firq.Task[firqotel.Traced[string]]{}); err != nil {
		t.Fatal(err)
	}
	work(t, s, firqotel.Handler(tracer, func(ctx context.Context, _ *firq.Item[string, firqotel.Traced[string]]) error {
		if got := trace.SpanContextFromContext(ctx); got.TraceID() != sc.TraceID() || got.IsSampled() {
			t.Errorf("%v", got)
		}
		return nil
	}))
	headers, end := tracer.Send(ctx, firqotel.Message{})
	end("7", nil)
	_, end2 := tracer.Process(t.Context(), firqotel.Message{Headers: headers, Attempt: 2, Wait: time.Second})
	end2(nil)
	_, end2 = tracer.ProcessBatch(ctx, []firqotel.Message{{Headers: headers}})
	end2(nil)
	if n := len(exporter.GetSpans()); n != 0 || headers["traceparent"] == "" {
		t.Errorf("%d spans, headers %v", n, headers)
	}
	it := firq.Item[string, firqotel.Traced[string]]{}
	q := drain{}
	task := firq.Task[firqotel.Traced[string]]{}
	if n := testing.AllocsPerRun(100, func() { _ = firqotel.Enqueue[string, string](ctx, tracer, &q, "acme", "", task) }); n > 0 {
		t.Errorf("%v allocations to enqueue", n)
	}
	it.Payload = q.last
	h := firqotel.Handler(tracer, func(context.Context, *firq.Item[string, firqotel.Traced[string]]) error { return nil })
	if n := testing.AllocsPerRun(100, func() { _ = h(context.Background(), &it) }); n > 3 {
		t.Errorf("%v allocations to handle", n)
	}
}

// drain is a producer that keeps the last payload.
type drain struct {
	firq.Producer[string, firqotel.Traced[string]]
	last firqotel.Traced[string]
}

func (d *drain) Enqueue(_ string, t firq.Task[firqotel.Traced[string]]) error {
	d.last = t.Payload
	return nil
}

// A queue with headers: the first attempt is a child of Send; further ones, which may come long
// after, begin traces with a link to it.
func TestSpansOfRetries(t *testing.T) {
	exporter, _, tracer := traces(t, sdktrace.AlwaysSample())
	headers, end := tracer.Send(t.Context(), firqotel.Message{Tenant: "acme", Headers: map[string]string{"colour": "red"}})
	end("id-7", nil)
	sent := named(t, exporter, "enqueue mail", 1)[0]
	has(t, sent, "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=enqueue", "firq.tenant=acme", "messaging.operation.type=send", "messaging.message.id=id-7")
	if headers["colour"] != "red" || !strings.Contains(headers["traceparent"], sent.SpanContext.SpanID().String()) {
		t.Errorf("%v", headers)
	}
	for attempt := 1; attempt <= 3; attempt++ {
		_, end := tracer.Process(t.Context(), firqotel.Message{Tenant: "acme", ID: "id-7", Headers: headers, Wait: time.Second, Attempt: attempt})
		end(nil)
	}
	waits := named(t, exporter, "wait mail", 1)
	if d := waits[0].EndTime.Sub(waits[0].StartTime); d != time.Second || waits[0].Parent.SpanID() != sent.SpanContext.SpanID() {
		t.Errorf("it waits for %v", d)
	}
	spans := named(t, exporter, "process mail", 3)
	if spans[0].Parent.SpanID() != sent.SpanContext.SpanID() || len(spans[0].Links) != 0 {
		t.Errorf("the first: %+v", spans[0])
	}
	has(t, spans[0], "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=process", "firq.tenant=acme", "messaging.operation.type=process", "messaging.message.id=id-7", "firq.attempt=1")
	for i, s := range spans[1:] {
		if s.Parent.IsValid() || s.SpanContext.TraceID() == sent.SpanContext.TraceID() || len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != sent.SpanContext.SpanID() {
			t.Errorf("attempt %d: %+v", i+2, s)
		} else if a := s.Links[0].Attributes; len(a) != 1 || a[0] != attribute.Int("firq.attempt", i+2) {
			t.Errorf("attempt %d: %v", i+2, a)
		}
	}
}

// A batch is one span, with a link to each task's.
func TestSpansOfBatch(t *testing.T) {
	exporter, _, tracer := traces(t, sdktrace.AlwaysSample())
	s := scheduler(t)
	for range 3 {
		if err := firqotel.Enqueue(t.Context(), tracer, s, "acme", "", firq.Task[firqotel.Traced[string]]{}); err != nil {
			t.Fatal(err)
		}
	}
	items := make([]firq.Item[string, firqotel.Traced[string]], 5)
	n, err := s.DequeueBatch(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	_, end := firqotel.HandleBatch(t.Context(), tracer, items[:n])
	end(nil)
	headers, end2 := tracer.Send(t.Context(), firqotel.Message{})
	end2("", nil)
	_, end = tracer.ProcessBatch(t.Context(), []firqotel.Message{{Headers: headers}, {}})
	end(errors.New("broken"))
	spans := named(t, exporter, "process mail", 2)
	has(t, spans[0], "messaging.system=firq", "messaging.destination.name=mail", "messaging.operation.name=process", "messaging.operation.type=process", "messaging.batch.message_count=3")
	sent := named(t, exporter, "enqueue mail", 4)
	for i, link := range spans[0].Links {
		if link.SpanContext.SpanID() != sent[i].SpanContext.SpanID() {
			t.Errorf("link %d: %v", i, link)
		}
	}
	if len(spans[0].Links) != 3 || len(spans[1].Links) != 1 || spans[1].Status.Code != codes.Error {
		t.Errorf("%d and %d links, %+v", len(spans[0].Links), len(spans[1].Links), spans[1].Status)
	}
	_ = s.Close()
}
