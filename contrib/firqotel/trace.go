package firqotel

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/propagation"
)

// Inject returns headers with the trace context of ctx (W3C: traceparent, and tracestate if there is one), for
// the Headers of a firqredis.Task. headers may be nil, and stays as it is: tasks may share it. Without a span in
// ctx nothing is added. Baggage does not travel.
func Inject(ctx context.Context, headers map[string]string) map[string]string {
	all := maps.Clone(headers)
	if all == nil {
		all = map[string]string{}
	}
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(all))
	return all
}

// Extract returns ctx with the trace context of headers, for the handler of a firqredis.Item: a span that is
// started with it is a child of the one that was in the context of Inject. Without a valid trace context it returns
// ctx.
func Extract(ctx context.Context, headers map[string]string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(headers))
}
