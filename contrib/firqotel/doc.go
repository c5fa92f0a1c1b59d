// Package firqotel exports the numbers of firq as OpenTelemetry metrics: of schedulers, gates,
// HTTP and gRPC middlewares, worker pools, watchdogs, fleets, queues, compute servers, actors and
// nodes. A [Tracer] makes spans of tasks; Inject and Extract carry traces with the tasks of a queue.
//
// # Usage
//
// The histograms need a [Producer], which is given to the reader; all other metrics are
// observable instruments of a meter:
//
//	times := firqotel.NewProducer()
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(times))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	opts := firqotel.Options[string]{MeterProvider: provider, Producer: times, Scheduler: "api"}
//
// Then each source takes one line, which returns a [Registration] to Unregister and an
// error:
//
//	r, err := firqotel.Register(s, opts)         // a firq.Scheduler
//	r, err := firqotel.RegisterGate(g, opts)     // *gate.Gate
//	r, err := firqotel.RegisterHTTP(m, opts)     // *firqhttp.Middleware
//	r, err := firqotel.RegisterGRPC(i, opts)     // *firqgrpc.Interceptor
//	r, err := firqotel.RegisterPool(p, opts)     // *worker.Pool
//	r, err := firqotel.RegisterWatchdog(w, opts) // *watchdog.Watchdog
//	r, err := firqotel.RegisterFleet(f, opts)    // *firqfleet.Gate
//	r, err := firqotel.RegisterCluster(n, opts)  // *firqnats.Node
//	r, err := firqotel.RegisterQueue(q, opts)    // *queue.Queue
//	r, err := firqotel.RegisterCompute(c, opts)  // *compute.Server
//	r, err := firqotel.RegisterActors(sys, recorder, opts) // *actor.System, *actor.Recorder
//
// RegisterGate includes the gate's scheduler; another scheduler needs another name. Any
// type with the right method can be registered: Stats() firq.Stats[K] (see [Source]),
// Traffic() gate.Traffic, and so on. Several of a kind share meter and Producer, each
// with its own Options.Scheduler.
//
// # Spans
//
// [Enqueue] and [Handler] make the spans of the tasks of a scheduler in the process, whose
// payloads are then of type [Traced]; Tracer.Send and Tracer.Process do so for tasks with
// headers. Spans have the names of OpenTelemetry's semantic conventions for messaging:
//
//	span           kind      when                             parent, links
//	enqueue NAME   producer  while the task is handed in      the span of the caller
//	wait NAME      internal  from then until it is dequeued   enqueue
//	process NAME   consumer  while its handler runs           enqueue; of a retry none, and
//	                                                          a link to enqueue; of a batch
//	                                                          the caller's, and links to all
//
// Each has messaging.system (firq), messaging.destination.name, messaging.operation.name and
// firq.tenant; enqueue and process have messaging.operation.type (send, process), and the
// message's ID, the attempt (firq.attempt), the size of the batch and error.type where there
// are such. A task whose caller's span is not sampled has no spans, and costs no allocation
// where it is handed in.
//
// # Metrics of schedulers, and of the queues of gates
//
// Times are in seconds. Every metric has the attribute firq.scheduler, if
// Options.Scheduler is set. The last column is the name of the same number in package
// firqprom, where times are in nanoseconds.
//
//	name                     instrument, unit          firq.Stats         Prometheus
//	firq.enqueued            Counter {task}            Enqueued           firq_enqueued_total
//	firq.dequeued            Counter {task}            Dequeued           firq_dequeued_total
//	firq.expired             Counter {task}            Expired            firq_expired_total
//	firq.cancelled           Counter {task}            Cancelled          firq_cancelled_total
//	firq.closed              Counter {task}            Closed             firq_closed_total
//	firq.overload            Counter {task}            Overload           firq_overload_total
//	firq.dropped             Counter {task}            Dropped            firq_dropped_total (sum over firq.reason)
//	  firq.reason=global                               RejectedGlobal     firq_rejected_global_total
//	  firq.reason=tenant                               RejectedTenant     firq_rejected_tenant_total
//	  firq.reason=timeout                              TimeoutRejected    firq_timeout_rejected_total
//	  firq.reason=policy                               DroppedPolicy      firq_dropped_policy_total
//	firq.queue.length        UpDownCounter {task}      QueueLen           firq_queue_len_estimate
//	firq.queue.limit         UpDownCounter {task}      MaxGlobal          firq_max_global_config
//	firq.queue.saturation    Gauge 1                   QueueSaturation    firq_queue_saturation_ratio
//	firq.in_flight           UpDownCounter {task}      InFlight           firq_in_flight
//	firq.tenants             UpDownCounter {tenant}    Tenants            firq_tenants
//	firq.lag                 Gauge {round}             Lag.Max            firq_lag_rounds
//	firq.queue.time          Histogram s               QueueTime.Buckets  firq_queue_time_ns
//	firq.queue.time_sum      Counter s                 QueueTime.Sum      firq_queue_time_sum_ns
//	firq.queue.time_samples  Counter {task}            QueueTime.Samples  firq_queue_time_samples
//	firq.queue.time_p95      Gauge s                   QueueTime.P95      firq_queue_time_p95_ns
//	firq.queue.time_p99      Gauge s                   QueueTime.P99      firq_queue_time_p99_ns
//	firq.tenant.dequeued     Counter {task}            TopTenants         firq_tenant_dequeued_total
//	firq.tenant.lag          Gauge {round}             TopTenants         firq_tenant_lag_rounds
//
// The two quantiles are exact to 0.1 %, over all tasks since the scheduler was built;
// for the present, use the histogram.
//
// Rejections count tasks: an EnqueueBatch that a limit cuts short counts one for each
// task that it leaves out.
//
// # Metrics of the parts around them
//
// In Prometheus, the names of firqprom have _ for each dot; counters have _total,
// and times _seconds.
//
//	name                               instrument, unit            gate.Stats
//	firq.gate.limit                    UpDownCounter {slot}        Limit
//	firq.gate.in_use                   UpDownCounter {slot}        InUse
//	firq.gate.waiting                  UpDownCounter {call}        Waiting
//	firq.gate.aside                    UpDownCounter {call}        Aside
//	firq.gate.immediate                Counter {permit}            Immediate
//	firq.gate.forgone                  Counter {call}              Forgone
//	firq.gate.timed_out                Counter {call}              TimedOut
//	all of the table above                                         Queue: calls that had to queue
//
//	with firq.protocol, http or grpc                               gate.Traffic
//	firq.requests.in_flight            UpDownCounter {request}     InFlight
//	firq.requests.waiting              UpDownCounter {request}     Waiting
//	firq.requests.reading              UpDownCounter {request}     Reading
//	firq.requests.served               Counter {request}           Served
//	firq.requests.skipped              Counter {request}           Skipped
//	firq.requests.rejected             Counter {request}           Rejected, by firq.reason
//
//	with firq.pool, if Options.Name is set                         worker.Stats
//	firq.pool.started                  Counter {handler}           Started
//	firq.pool.finished                 Counter {handler}           Finished
//	firq.pool.failed                   Counter {handler}           Failed
//	firq.pool.panicked                 Counter {handler}           Panicked
//	firq.pool.slow                     Counter {handler}           Slow
//	firq.pool.timed_out                Counter {handler}           TimedOut
//	firq.pool.stuck                    Counter {handler}           Stuck
//	firq.pool.running                  UpDownCounter {handler}     Running
//	firq.pool.stuck_now                UpDownCounter {handler}     StuckNow
//	firq.pool.workers                  UpDownCounter {worker}      Workers
//	firq.pool.handler_time             Histogram s                 HandlerTime (firq_pool_handler_duration_seconds)
//	firq.pool.handler_time_sum         Counter s                   HandlerTime.Sum
//
//	name                               instrument, unit            watchdog.Status
//	firq.watchdog.running              Gauge 1                     Running: 0 or 1
//	firq.watchdog.level                Gauge 1                     Level: 0 ok, 1 warning, 2 critical
//	firq.watchdog.level_since          Gauge s                     Since, as a Unix time
//	firq.watchdog.findings             UpDownCounter {finding}     Findings: how many, by firq.signal and firq.level
//	firq.watchdog.reports              Counter {report}            Reports
//	firq.watchdog.reports_missed       Counter {report}            Missed
//	firq.watchdog.timer_lateness       Gauge s                     Sample.TimerLateness
//	firq.watchdog.scheduling_latency   Gauge s                     Sample.Scheduling, by firq.at: p50, tail, max
//	firq.watchdog.goroutines           UpDownCounter {goroutine}   Sample.Goroutines
//	firq.watchdog.goroutines_runnable  UpDownCounter {goroutine}   Sample.Runnable
//	firq.watchdog.processors           UpDownCounter {processor}   Sample.Processors
//	firq.watchdog.queue.length         UpDownCounter {task}        QueueSample.Len, by firq.queue
//	firq.watchdog.queue.wait           Gauge s                     QueueSample.Wait, by firq.queue and firq.at
//	firq.watchdog.queue.stalled        Gauge s                     QueueSample.Stalled, by firq.queue
//	firq.watchdog.probe.duration       Gauge s                     ProbeSample.Time, by firq.probe
//	firq.watchdog.probe.failing        Gauge 1                     ProbeSample.Err: 1 if there is one, by firq.probe
//
//	name                               instrument, unit            firqfleet.Stats
//	firq.fleet.limit                   Gauge {slot}                Limit
//	firq.fleet.in_use                  UpDownCounter {slot}        InUse
//	firq.fleet.idle                    UpDownCounter {slot}        Idle
//	firq.fleet.waiting                 UpDownCounter {call}        Waiting
//	firq.fleet.members                 Gauge {process}             Members
//	firq.fleet.immediate               Counter {permit}            Immediate
//	firq.fleet.turns                   Counter {turn}              Turns
//	firq.fleet.reused                  Counter {permit}            Reused
//	firq.fleet.alone                   Counter {permit}            Alone
//	firq.fleet.rejected_global         Counter {call}              RejectedGlobal
//	firq.fleet.rejected_tenant         Counter {call}              RejectedTenant
//	firq.fleet.timed_out               Counter {call}              TimedOut
//	firq.fleet.leases_lost             Counter {lease}             Lost
//	firq.fleet.syncs                   Counter {round_trip}        Syncs
//	firq.fleet.syncs_failed            Counter {round_trip}        Failed
//
//	name                               instrument, unit            firqnats.Stats
//	firq.cluster.activations           UpDownCounter {actor}       Activations
//	firq.cluster.activated             Counter {actor}             Activated
//	firq.cluster.passivated            Counter {actor}             Passivated
//	firq.cluster.fenced                Counter {life}              Fenced
//	firq.cluster.moved                 Counter {message}           Moved
//	firq.cluster.sent                  Counter {message}           Sent
//	firq.cluster.handled               Counter {message}           Handled
//	firq.cluster.lost                  Counter {message}           Lost
//	firq.cluster.retried               Counter {message}           Retried
//	firq.cluster.saves                 Counter {save}              Saves
//	firq.cluster.call                  Histogram s                 of Recorded, by firq.kind and firq.method
//	firq.cluster.activation            Histogram s                 of Recorded, by firq.kind
//
//	with firq.engine, redis or postgres                            queue.Stats
//	firq.queue.up                      Gauge 1                     1 if Stats returned no error, else 0 and nothing else
//	firq.queue.pushed                  Counter {task}              Enqueued
//	firq.queue.requeued                Counter {task}              Requeued
//	firq.queue.acked                   Counter {task}              Acked
//	firq.queue.cancelled               Counter {task}              Cancelled
//	firq.queue.expired                 Counter {task}              Expired
//	firq.queue.dead                    Counter {task}              Dead
//	firq.queue.purged                  Counter {task}              Purged
//	firq.queue.delivered               Counter {delivery}          Delivered
//	firq.queue.retried                 Counter {delivery}          Nacked
//	firq.queue.released                Counter {delivery}          Released
//	firq.queue.reaped                  Counter {delivery}          LeaseExpired
//	firq.queue.lease_lost              Counter {call}              LeaseLost
//	firq.queue.duplicates              Counter {task}              Duplicates
//	firq.queue.rejected                Counter {task}              Rejected
//	firq.queue.queued                  Gauge {task}                Queued
//	firq.queue.delayed                 Gauge {task}                Delayed
//	firq.queue.in_flight               Gauge {task}                InFlight
//	firq.queue.dead_letters            Gauge {task}                DeadLetters
//	firq.queue.tenants                 Gauge {tenant}              Tenants
//	firq.queue.oldest                  Gauge s                     Oldest
//	firq.queue.paused                  Gauge 1                     Paused: 0 or 1
//	firq.queue.held                    Gauge {tenant}              Held
//	firq.queue.queue_time              Histogram s                 of QueueTimes, which is not a field (firq_queue_queue_seconds)
//
// These metrics describe the queue, which many processes share, so each process exports
// the same numbers: take the maximum over processes, not the sum.
//
//	name                               instrument, unit            compute.Stats
//	firq.compute.requests              Counter {call}              by firq.source: Hits (hit), Stale (stale), Coalesced
//	                                                               (coalesced), Executed (executed); none: Refused, GaveUp, Closed
//	firq.compute.refused               Counter {call}              by firq.reason: RefusedGlobal (global), RefusedTenant (tenant),
//	                                                               RefusedTimeout (timeout), RefusedWaiters (waiters)
//	firq.compute.gave_up               Counter {call}              GaveUp
//	firq.compute.closed                Counter {call}              Closed
//	firq.compute.executions            Counter {execution}         Executions
//	firq.compute.succeeded             Counter {execution}         Succeeded
//	firq.compute.failed                Counter {execution}         Failed
//	firq.compute.panicked              Counter {execution}         Panics
//	firq.compute.abandoned             Counter {execution}         Abandoned
//	firq.compute.behind                Counter {execution}         Behind
//	firq.compute.spilled               Counter {execution}         Spilled
//	firq.compute.exec                  Histogram s                 ExecTime (firq_compute_exec_seconds)
//	firq.compute.exec_sum              Counter s                   ExecTime.Sum
//	firq.compute.limit                 UpDownCounter {execution}   Limit
//	firq.compute.executing             UpDownCounter {execution}   Executing
//	firq.compute.waiting               UpDownCounter {call}        Waiting
//	firq.compute.flights               UpDownCounter {key}         Flights
//	firq.compute.entries               UpDownCounter {entry}       Entries
//	firq.compute.weight                UpDownCounter 1             Weight
//
// Metrics of a System of actors; those with a kind need the Recorder:
//
//	name                               instrument, unit            actor.Stats, or actor.Recorded
//	firq.actor.actors                  UpDownCounter {actor}       Actors
//	firq.actor.waiting                 UpDownCounter {message}     Waiting
//	firq.actor.accepted                Counter {message}           Accepted
//	firq.actor.handled                 Counter {message}           Handled
//	firq.actor.dead_letters            Counter {message}           DeadLetters
//	firq.actor.cancelled               Counter {message}           Cancelled
//	firq.actor.rejected                Counter {message}           Refused
//	firq.actor.restarted               Counter {incarnation}       Restarts
//	firq.actor.abandonments            Counter {handler}           Abandoned
//	firq.actor.deadlocks               Counter {call}              Deadlocks
//	firq.actor.handoffs                Counter {slot}              Handoffs
//	firq.actor.turns                   Counter {turn}              Turns; firq.kind, firq.end
//	firq.actor.messages                Counter {message}           Messages; firq.kind
//	firq.actor.processor_time          Counter s                   Used; firq.kind
//	firq.actor.failures                Counter {incarnation}       Failed; firq.kind
//	firq.actor.restarts                Counter {incarnation}       Restarted; firq.kind
//	firq.actor.abandoned               UpDownCounter {handler}     Abandoned; firq.kind
//	firq.actor.refused                 Counter {message}           Refused; firq.kind, firq.reason
//	firq.actor.timeouts                Counter {handler}           Timeouts; firq.kind, firq.method, firq.mode
//	firq.actor.wait                    Histogram s                 Waited, by the Producer
//
// The measurements of a watchdog are those of its last interval, and are missing before
// the first interval has ended.
//
// # The histograms
//
// OpenTelemetry has no observable histogram, and recording each wait in a synchronous
// one would put the SDK into the path of every task. So the Producer hands the SDK
// finished histograms with the bounds of QueueTime.Buckets (1, 2, 5, 10 us and so on up
// to 1 h) and their exact counts. Their maximum is that of all tasks since the
// scheduler, or the pool, was built. They do not go through the SDK's aggregation:
// views do not apply to them, and their temporality is always cumulative, even on a
// reader that asks for delta.
//
// Their start time is when Register was called, as with the SDK's counters. Tasks that
// the scheduler had delivered before then are counted all the same.
//
// # Series of tenants
//
// firq.tenant.dequeued, with the attribute firq.tenant, exists only for the tenants of
// Stats.TopTenants: an approximate ranking, which changes. With cumulative temporality
// the series of a tenant that drops out ends, and goes on from its whole count when the
// tenant comes back. With delta temporality, when a tenant comes in or comes back, the
// SDK reports its whole count, not the difference, so the sum of the deltas is too
// high. Set TopTenants below 0 there, or keep to cumulative temporality.
//
// Behind a middleware, Config.Tenant derives the tenants from requests, and may let
// clients choose them (keys, with firqhttp.PlainAPIKey). Set TopTenants below 0 then,
// or a TenantLabel that maps to names you know.
//
// # Concurrency properties
//
// Everything is safe for concurrent use. A collection takes one snapshot of each source
// for the instruments and, with a Producer, one more for its histogram; the two may
// differ by the tasks delivered in between. The Stats of a scheduler, and of a gate,
// waits for each shard in turn.
package firqotel
