package firqotel_test

import (
	"context"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqotel"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/worker"
)

type Mail struct{ To string }

func send(context.Context, Mail) error { return nil }

// Metrics of a scheduler, through an exporter of OpenTelemetry.
func ExampleRegister() {
	var exporter sdk.Exporter // of otlpmetricgrpc, say
	var s firq.Scheduler[string, Mail]

	times := firqotel.NewProducer() // for the histograms
	reader := sdk.NewPeriodicReader(exporter, sdk.WithProducer(times))
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	opts := firqotel.Options[string]{MeterProvider: provider, Producer: times, Scheduler: "api"}
	r, err := firqotel.Register(s, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = r.Unregister() }()
}

// Spans of tasks of a scheduler in this process.
func ExampleHandler() {
	var traces trace.TracerProvider
	ctx, mail := context.Background(), Mail{"ann@example.org"}

	tracer := firqotel.NewTracer(firqotel.TracerOptions{TracerProvider: traces, Destination: "mail"})
	s, err := lockfree.New(firq.Config[string, firqotel.Traced[Mail]]{}) // its tasks carry their trace
	if err != nil {
		log.Fatal(err)
	}

	err = firqotel.Enqueue(ctx, tracer, s, "acme", mail, firq.Task[firqotel.Traced[Mail]]{})
	if err != nil {
		log.Print(err)
	}

	err = worker.Run(ctx, s, firqotel.Handler(tracer, func(ctx context.Context, it *firq.Item[string, firqotel.Traced[Mail]]) error {
		return send(ctx, it.Payload.Value)
	}), worker.Options[string, firqotel.Traced[Mail]]{})
	if err != nil {
		log.Print(err)
	}
}

// Spans of tasks of a queue, on whichever engine.
func ExampleTracer_Process() {
	var tracer *firqotel.Tracer
	var q *queue.Queue[Mail]
	ctx, mail := context.Background(), Mail{"ann@example.org"}

	headers, end := tracer.Send(ctx, firqotel.Message{Tenant: "acme"})
	id, err := q.Enqueue(ctx, queue.Task[Mail]{Tenant: "acme", Payload: mail, Headers: headers})
	end(id, err)

	err = queue.Run(ctx, q, func(ctx context.Context, it *queue.Item[Mail]) error {
		ctx, end := tracer.Process(ctx, firqotel.Message{Tenant: it.Tenant, ID: it.ID, Headers: it.Headers, Wait: it.Wait, Attempt: it.Attempt})
		err := send(ctx, it.Payload)
		end(err)
		return err
	}, queue.RunOptions[Mail]{})
	if err != nil {
		log.Print(err)
	}
}
