package firqotel_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/firq-go/firq/contrib/firqotel"
)

// span returns a context with a span in it.
func span(t *testing.T, state string) (context.Context, trace.SpanContext) {
	t.Helper()
	ts, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5}, TraceFlags: trace.FlagsSampled, TraceState: ts,
	})
	return trace.ContextWithSpanContext(t.Context(), sc), sc
}

func TestTraceTravels(t *testing.T) {
	ctx, sc := span(t, "vendor=x")
	shared := map[string]string{"colour": "red"}
	headers := firqotel.Inject(ctx, shared)
	want := map[string]string{
		"colour": "red", "traceparent": "00-01020300000000000000000000000000-0405000000000000-01", "tracestate": "vendor=x",
	}
	if !maps.Equal(headers, want) {
		t.Errorf("%v, want %v", headers, want)
	}
	if len(shared) != 1 {
		t.Errorf("what was handed in has changed: %v", shared)
	}
	got := trace.SpanContextFromContext(firqotel.Extract(t.Context(), headers))
	if !got.Equal(sc.WithRemote(true)) {
		t.Errorf("%v, want %v", got, sc)
	}
	// A span of the handler is a child.
	_, child := sdktrace.NewTracerProvider().Tracer("").Start(firqotel.Extract(t.Context(), headers), "handler")
	defer child.End()
	if child.SpanContext().TraceID() != sc.TraceID() || !child.IsRecording() {
		t.Errorf("another trace: %v", child.SpanContext())
	}
}

func TestTraceWithout(t *testing.T) {
	if h := firqotel.Inject(t.Context(), nil); h == nil || len(h) != 0 {
		t.Errorf("%v of no span", h)
	}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	for _, headers := range []map[string]string{nil, {}, {"traceparent": ""}, {"traceparent": "nonsense"}, {"traceparent": "00-0-0-01"}} {
		got := firqotel.Extract(ctx, headers)
		if trace.SpanContextFromContext(got).IsValid() || got.Value(key{}) != 1 {
			t.Errorf("%v: %v", headers, got)
		}
	}
	// What is in ctx stays if the headers say nothing.
	ctx, sc := span(t, "")
	if got := trace.SpanContextFromContext(firqotel.Extract(ctx, nil)); !got.Equal(sc) {
		t.Errorf("%v, want %v", got, sc)
	}
}

// The context of a request travels with the task that it queues:
//
//	q.Enqueue(ctx, firqredis.Task[Mail]{Payload: m, Headers: firqotel.Inject(ctx, nil)})
//
// and in the handler:
//
//	ctx, span := tracer.Start(firqotel.Extract(ctx, it.Headers), "send mail")
//	defer span.End()
func ExampleInject() {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	request := trace.ContextWithSpanContext(context.Background(), sc)

	headers := firqotel.Inject(request, nil) // Task.Headers
	fmt.Println(headers["traceparent"])

	handler := firqotel.Extract(context.Background(), headers) // Item.Headers
	fmt.Println(trace.SpanContextFromContext(handler).TraceID() == sc.TraceID())
	// Output:
	// 00-01000000000000000000000000000000-0200000000000000-01
	// true
}
