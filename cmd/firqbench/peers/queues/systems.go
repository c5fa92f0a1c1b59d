package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqredis"
)

// The systems that are measured.
const (
	firqName  = "firqredis"
	asynqName = "asynq"
	// asynqQueues has a queue for each tenant, all of the same weight: what asynq's documentation advises for tenants.
	asynqQueues = "asynq, a queue per tenant"
	// Those that look for tasks more often than once a second.
	asynq10ms = "asynq, TaskCheckInterval 10 ms"
	asynq1ms  = "asynq, TaskCheckInterval 1 ms"
)

// handler gets a task's payload, and a number that grows from delivery to delivery.
type handler func(payload []byte, order uint64)

// session is a client of a system.
type session interface {
	// enqueue queues a task by a separate call.
	enqueue(ctx context.Context, tenant string) error
	// fill queues n tasks of each tenant, as fast as it can, in turn.
	fill(ctx context.Context, tenants []string, n int) error
	// work starts workers; stop waits until what is handled is settled.
	work(ctx context.Context, workers int, h handler) (stop func() error, err error)
	close() error
}

// open returns a session for tenants with the given number of connections at most.
func open(ctx context.Context, s *server, system string, conns int, tenants []string) (session, error) {
	return openQueueOf(ctx, s, system, conns, tenants, "bench")
}

// openQueueOf is open for a queue of another name.
func openQueueOf(ctx context.Context, s *server, system string, conns int, tenants []string, name string) (session, error) {
	switch system {
	case firqName:
		return openFirq(ctx, s, conns, name)
	case asynqQueues:
		return openAsynq(s, conns, tenants, 0), nil
	case asynq10ms:
		return openAsynq(s, conns, []string{name}, 10*time.Millisecond), nil
	case asynq1ms:
		return openAsynq(s, conns, []string{name}, time.Millisecond), nil
	}
	return openAsynq(s, conns, []string{name}, 0), nil
}

// payloadBytes is how long payloads are.
const payloadBytes = 100

// payload returns one that begins with the tenant.
func payload(tenant string) []byte { return fmt.Appendf(nil, "%-*s", payloadBytes, tenant) }

// tenantOf returns the tenant of a payload.
func tenantOf(payload []byte) string { return strings.TrimRight(string(payload), " ") }

type firqSession struct {
	client *redis.Client
	q      *firqredis.Queue[[]byte]
}

func openFirq(ctx context.Context, s *server, conns int, name string) (session, error) {
	client := s.client(conns)
	q, err := firqredis.New(ctx, firqredis.Config[[]byte]{Client: client, Name: name})
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return &firqSession{client, q}, nil
}

func (f *firqSession) enqueue(ctx context.Context, tenant string) error {
	_, err := f.q.Enqueue(ctx, firqredis.Task[[]byte]{Tenant: tenant, Payload: payload(tenant)})
	return err
}

func (f *firqSession) fill(ctx context.Context, tenants []string, n int) error {
	const atOnce = 1000
	var ts []firqredis.Task[[]byte]
	for k := range n {
		for i, tenant := range tenants {
			ts = append(ts, firqredis.Task[[]byte]{Tenant: tenant, Payload: payload(tenant)})
			if len(ts) == atOnce || k == n-1 && i == len(tenants)-1 {
				if _, err := f.q.EnqueueBatch(ctx, ts); err != nil {
					return err
				}
				ts = ts[:0]
			}
		}
	}
	return nil
}

func (f *firqSession) work(ctx context.Context, workers int, h handler) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- firqredis.Run(ctx, f.q, func(_ context.Context, it *firqredis.Item[[]byte]) error {
			h(it.Payload, it.Token)
			return nil
		}, firqredis.RunOptions[[]byte]{Concurrency: workers, Logger: slog.New(slog.DiscardHandler)})
	}()
	return func() error { cancel(); return <-ended }, nil
}

func (f *firqSession) close() error {
	err := f.q.Close()
	if e := f.client.Close(); err == nil {
		err = e
	}
	return err
}

type asynqSession struct {
	opt    asynq.RedisClientOpt
	client *asynq.Client
	queues map[string]int // with their weights
	one    string         // the queue, if there is one
	every  time.Duration  // TaskCheckInterval
	order  atomic.Uint64
}

func openAsynq(s *server, conns int, queues []string, every time.Duration) session {
	opt := asynq.RedisClientOpt{Addr: s.addr, PoolSize: conns}
	a := &asynqSession{opt: opt, client: asynq.NewClient(opt), queues: map[string]int{}, every: every}
	for _, name := range queues {
		a.queues[name] = 1
	}
	if len(queues) == 1 {
		a.one = queues[0]
	}
	return a
}

func (a *asynqSession) enqueue(ctx context.Context, tenant string) error {
	queue := a.one
	if queue == "" {
		queue = tenant
	}
	_, err := a.client.EnqueueContext(ctx, asynq.NewTask("t", payload(tenant)), asynq.Queue(queue))
	return err
}

// fill calls from as many goroutines as make it fastest: there are no batches.
func (a *asynqSession) fill(ctx context.Context, tenants []string, n int) error {
	return calls(ctx, enqueuers, n*len(tenants), func(i int) error { return a.enqueue(ctx, tenants[i%len(tenants)]) })
}

func (a *asynqSession) work(_ context.Context, workers int, h handler) (func() error, error) {
	srv := asynq.NewServer(a.opt, asynq.Config{
		Concurrency: workers, LogLevel: asynq.FatalLevel, ShutdownTimeout: 10 * time.Second, Queues: a.queues, TaskCheckInterval: a.every,
	})
	err := srv.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		h(t.Payload(), a.order.Add(1))
		return nil
	}))
	if err != nil {
		return nil, err
	}
	return func() error { srv.Shutdown(); return nil }, nil
}

func (a *asynqSession) close() error { return a.client.Close() }
