package firqredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
)

// The tutorial of docs/queue.md: a retry, a dead letter, a schedule, and the end of the process.
func Example_tutorial() {
	ctx := context.Background()
	q, err := embedded.New(ctx, firqredis.Config[Mail]{MaxAttempts: 5})
	if err != nil {
		log.Fatal(err)
	}
	for _, to := range []string{"ann@acme", "nowhere@acme"} {
		if _, err := q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: "acme", ID: "welcome " + to, Payload: Mail{to}}); err != nil {
			log.Fatal(err)
		}
	}

	// Workers. In a program ctx ends with the process: signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM).
	running, stop := context.WithCancel(ctx)
	err = firqredis.Run(running, q, func(_ context.Context, it *firqredis.Item[Mail]) error {
		fmt.Println("attempt", it.Attempt, it.Payload.To)
		switch {
		case it.Payload.To == "nowhere@acme":
			return firqredis.Dead(errors.New("no such address")) // never again
		case it.Attempt == 1:
			return firqredis.RetryAfter(errors.New("greylisted"), 50*time.Millisecond) // a plain error: after the backoff
		}
		stop()
		return nil
	}, firqredis.RunOptions[Mail]{Concurrency: 1, Grace: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}

	// Dead letters: look at them, then try them again or purge them.
	var ids []string
	for d, err := range q.DeadLetters(ctx, firqredis.Filter{Tenant: "acme"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("dead: %s, %s\n", d.ID, d.Reason)
		ids = append(ids, d.ID)
	}
	purged, err := q.Purge(ctx, firqredis.Filter{IDs: ids}) // or q.Requeue(ctx, ids...)
	fmt.Println("purged", purged, err)

	// A schedule. Schedules().Run, in any number of processes, or firqd serve, queues its tasks.
	report := firqredis.Schedule[Mail]{ID: "report", Cron: "0 7 * * 1-5", Task: firqredis.Task[Mail]{Tenant: "acme"}}
	if err := q.Schedules().Put(ctx, report); err != nil {
		log.Fatal(err)
	}
	friday := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	next, err := report.Next(friday, 1)
	fmt.Println("next", next[0].Format(time.RFC1123), err)

	fmt.Println(q.Close())
	// Output:
	// attempt 1 ann@acme
	// attempt 1 nowhere@acme
	// attempt 2 ann@acme
	// dead: welcome nowhere@acme, no such address
	// purged 1 <nil>
	// next Mon, 30 Nov 2026 07:00:00 UTC <nil>
	// <nil>
}
