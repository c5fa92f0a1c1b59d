// Package firqprom exports the numbers of firq to Prometheus: of schedulers, gates, HTTP and
// gRPC middlewares, worker pools, watchdogs, fleets, queues, compute servers, actors and nodes.
//
// # Usage
//
// Each source has a collector, and all take the same options. (A gate's queue has the metrics of a
// scheduler: in one registry the two need different labels.)
//
//	opts := firqprom.Options[string]{Scheduler: "api"}
//	prometheus.MustRegister(
//		firqprom.Must(firqprom.NewGate(g, opts)),     // *gate.Gate
//		firqprom.Must(firqprom.NewHTTP(m, opts)),     // *firqhttp.Middleware
//		firqprom.Must(firqprom.NewGRPC(i, opts)),     // *firqgrpc.Interceptor
//		firqprom.Must(firqprom.NewPool(p, opts)),     // *worker.Pool
//		firqprom.Must(firqprom.NewWatchdog(w, opts)), // *watchdog.Watchdog
//		firqprom.Must(firqprom.NewFleet(f, opts)),    // *firqfleet.Gate
//		firqprom.Must(firqprom.NewCluster(n, opts)),  // *firqnats.Node
//		firqprom.Must(firqprom.NewQueue(q, opts)),    // *queue.Queue
//		firqprom.Must(firqprom.NewCompute(c, opts)),  // *compute.Server
//		firqprom.Must(firqprom.NewActors(sys, recorder, opts)), // *actor.System, *actor.Recorder
//	)
//
// New is for a scheduler without a gate. NewGate includes the gate's scheduler, so the
// two need different names. Must panics where the functions return an error.
//
// Any type with the right method can be collected: Stats() firq.Stats[K] (see
// [Source]), Traffic() gate.Traffic, and so on. Several of a kind go into one registry
// with a different Options.Scheduler each. More labels come from
// prometheus.WrapRegistererWith.
//
// # Metrics of schedulers, and of the queues of gates
//
// Times are in nanoseconds, as the names say. All counters are those of
// [firq.Stats], which says what each of them counts. Rejections count tasks: an
// EnqueueBatch that a limit cuts short counts one for each task that it leaves out.
//
//	name                           type       field of firq.Stats
//	firq_enqueued_total            counter    Enqueued
//	firq_dequeued_total            counter    Dequeued
//	firq_expired_total             counter    Expired
//	firq_cancelled_total           counter    Cancelled
//	firq_closed_total              counter    Closed
//	firq_overload_total            counter    Overload
//	firq_dropped_total             counter    Dropped (the sum of the next four)
//	firq_rejected_global_total     counter    RejectedGlobal
//	firq_rejected_tenant_total     counter    RejectedTenant
//	firq_timeout_rejected_total    counter    TimeoutRejected
//	firq_dropped_policy_total      counter    DroppedPolicy
//	firq_queue_len_estimate        gauge      QueueLen
//	firq_max_global_config         gauge      MaxGlobal
//	firq_queue_saturation_ratio    gauge      QueueSaturation
//	firq_in_flight                 gauge      InFlight
//	firq_tenants                   gauge      Tenants
//	firq_lag_rounds                gauge      Lag.Max
//	firq_queue_time_ns             histogram  QueueTime.Buckets
//	firq_queue_time_sum_ns         counter    QueueTime.Sum
//	firq_queue_time_samples        counter    QueueTime.Samples
//	firq_queue_time_p95_ns         gauge      QueueTime.P95
//	firq_queue_time_p99_ns         gauge      QueueTime.P99
//	firq_tenant_dequeued_total     counter    TopTenants, by label tenant
//	firq_tenant_lag_rounds         gauge      TopTenants, by label tenant; of several tenants the most
//
// The two quantiles are exact to 0.1 %, over all tasks since the scheduler was built,
// so after a day they hardly change. For an alert or a graph use the histogram, over a
// window:
//
//	histogram_quantile(0.99, sum by (le) (rate(firq_queue_time_ns_bucket[5m])))
//
// # Metrics of the parts around them
//
// Times are in seconds. The documentation of gate, worker and watchdog says what the
// fields count.
//
//	name                                   type     field of gate.Stats
//	firq_gate_limit                        gauge    Limit
//	firq_gate_in_use                       gauge    InUse
//	firq_gate_waiting                      gauge    Waiting
//	firq_gate_aside                        gauge    Aside
//	firq_gate_immediate_total              counter  Immediate
//	firq_gate_forgone_total                counter  Forgone
//	firq_gate_timed_out_total              counter  TimedOut
//	all of the table above                          Queue: calls that had to queue
//
//	with the label protocol, http or grpc           field of gate.Traffic
//	firq_requests_in_flight                gauge    InFlight
//	firq_requests_waiting                  gauge    Waiting
//	firq_requests_reading                  gauge    Reading
//	firq_requests_served_total             counter  Served
//	firq_requests_skipped_total            counter  Skipped
//	firq_requests_rejected_total           counter  Rejected, by label reason
//
//	with the label pool, Options.Name               field of worker.Stats
//	firq_pool_started_total                counter  Started
//	firq_pool_finished_total               counter  Finished
//	firq_pool_failed_total                 counter  Failed
//	firq_pool_panicked_total               counter  Panicked
//	firq_pool_slow_total                   counter  Slow
//	firq_pool_timed_out_total              counter  TimedOut
//	firq_pool_stuck_total                  counter  Stuck
//	firq_pool_running                      gauge    Running
//	firq_pool_stuck_now                    gauge    StuckNow
//	firq_pool_workers                      gauge    Workers
//	firq_pool_handler_duration_seconds     histogram  HandlerTime
//
//	name                                   type     field of watchdog.Status
//	firq_watchdog_running                  gauge    Running: 0 or 1
//	firq_watchdog_level                    gauge    Level: 0 ok, 1 warning, 2 critical
//	firq_watchdog_level_since_timestamp_seconds  gauge  Since
//	firq_watchdog_findings                 gauge    Findings: how many, by label signal and level
//	firq_watchdog_reports_total            counter  Reports
//	firq_watchdog_reports_missed_total     counter  Missed
//	firq_watchdog_timer_lateness_seconds   gauge    Sample.TimerLateness
//	firq_watchdog_scheduling_latency_seconds  gauge  Sample.Scheduling, by label at: p50, tail, max
//	firq_watchdog_goroutines               gauge    Sample.Goroutines
//	firq_watchdog_goroutines_runnable      gauge    Sample.Runnable
//	firq_watchdog_processors               gauge    Sample.Processors
//	firq_watchdog_queue_length             gauge    QueueSample.Len, by label queue
//	firq_watchdog_queue_wait_seconds       gauge    QueueSample.Wait, by label queue and at
//	firq_watchdog_queue_stalled_seconds    gauge    QueueSample.Stalled, by label queue
//	firq_watchdog_probe_duration_seconds   gauge    ProbeSample.Time, by label probe
//	firq_watchdog_probe_failing            gauge    ProbeSample.Err: 1 if there is one, by label probe
//
//	name                                   type     field of firqfleet.Stats
//	firq_fleet_limit                       gauge    Limit
//	firq_fleet_in_use                      gauge    InUse
//	firq_fleet_idle                        gauge    Idle
//	firq_fleet_waiting                     gauge    Waiting
//	firq_fleet_members                     gauge    Members
//	firq_fleet_immediate_total             counter  Immediate
//	firq_fleet_turns_total                 counter  Turns
//	firq_fleet_reused_total                counter  Reused
//	firq_fleet_alone_total                 counter  Alone
//	firq_fleet_rejected_global_total       counter  RejectedGlobal
//	firq_fleet_rejected_tenant_total       counter  RejectedTenant
//	firq_fleet_timed_out_total             counter  TimedOut
//	firq_fleet_leases_lost_total           counter  Lost
//	firq_fleet_syncs_total                 counter  Syncs
//	firq_fleet_syncs_failed_total          counter  Failed
//
//	name                                   type     field of firqnats.Stats
//	firq_cluster_activations               gauge    Activations
//	firq_cluster_activated_total           counter  Activated
//	firq_cluster_passivated_total          counter  Passivated
//	firq_cluster_fenced_total              counter  Fenced
//	firq_cluster_moved_total               counter  Moved
//	firq_cluster_sent_total                counter  Sent
//	firq_cluster_handled_total             counter  Handled
//	firq_cluster_lost_total                counter  Lost
//	firq_cluster_retried_total             counter  Retried
//	firq_cluster_saves_total               counter  Saves
//	firq_cluster_call_seconds              histogram of Recorded, by kind and method
//	firq_cluster_activation_seconds        histogram of Recorded, by kind
//
//	with the label engine, redis or postgres         field of queue.Stats
//	firq_queue_up                          gauge    1 if Stats returned no error, else 0 and nothing else
//	firq_queue_pushed_total                counter  Enqueued
//	firq_queue_requeued_total              counter  Requeued
//	firq_queue_acked_total                 counter  Acked
//	firq_queue_cancelled_total             counter  Cancelled
//	firq_queue_expired_total               counter  Expired
//	firq_queue_dead_total                  counter  Dead
//	firq_queue_purged_total                counter  Purged
//	firq_queue_delivered_total             counter  Delivered
//	firq_queue_retried_total               counter  Nacked
//	firq_queue_released_total              counter  Released
//	firq_queue_reaped_total                counter  LeaseExpired
//	firq_queue_lease_lost_total            counter  LeaseLost
//	firq_queue_duplicates_total            counter  Duplicates
//	firq_queue_rejected_total              counter  Rejected
//	firq_queue_queued                      gauge    Queued
//	firq_queue_delayed                     gauge    Delayed
//	firq_queue_in_flight                   gauge    InFlight
//	firq_queue_dead_letters                gauge    DeadLetters
//	firq_queue_tenants                     gauge    Tenants
//	firq_queue_oldest_seconds              gauge    Oldest
//	firq_queue_paused                      gauge    Paused: 0 or 1
//	firq_queue_held                        gauge    Held: tenants
//	firq_queue_queue_seconds               histogram  of QueueTimes, which is not a field
//
// These metrics describe the queue, which many processes share, so each process exports
// the same numbers: take the maximum over instances, not the sum. There are no series
// of tenants; call TopTenants instead.
//
//	name                                   type     field of compute.Stats
//	firq_compute_requests_total            counter  by label source: Hits (hit), Stale (stale), Coalesced
//	                                                (coalesced), Executed (executed); none: Refused, GaveUp and Closed
//	firq_compute_refused_total             counter  by label reason: RefusedGlobal (global), RefusedTenant (tenant),
//	                                                RefusedTimeout (timeout), RefusedWaiters (waiters)
//	firq_compute_gave_up_total             counter  GaveUp
//	firq_compute_closed_total              counter  Closed
//	firq_compute_executions_total          counter  Executions
//	firq_compute_succeeded_total           counter  Succeeded
//	firq_compute_failed_total              counter  Failed
//	firq_compute_panicked_total            counter  Panics
//	firq_compute_abandoned_total           counter  Abandoned
//	firq_compute_behind_total              counter  Behind
//	firq_compute_spilled_total             counter  Spilled
//	firq_compute_exec_seconds              histogram  ExecTime
//	firq_compute_limit                     gauge    Limit
//	firq_compute_executing                 gauge    Executing
//	firq_compute_waiting                   gauge    Waiting
//	firq_compute_flights                   gauge    Flights
//	firq_compute_entries                   gauge    Entries
//	firq_compute_weight                    gauge    Weight
//
// The sum of the requests over source is the number of calls that have returned. There
// are no series of tenants, or of Config.Groups.
//
// Metrics of a System of actors; those with a kind need the Recorder:
//
//	name                                   type       field of actor.Stats, or of actor.Recorded
//	firq_actor_actors                      gauge      Actors
//	firq_actor_waiting                     gauge      Waiting
//	firq_actor_accepted_total              counter    Accepted
//	firq_actor_handled_total               counter    Handled
//	firq_actor_dead_letters_total          counter    DeadLetters
//	firq_actor_cancelled_total             counter    Cancelled
//	firq_actor_rejected_total              counter    Refused
//	firq_actor_restarted_total             counter    Restarts
//	firq_actor_abandoned_total             counter    Abandoned
//	firq_actor_deadlocks_total             counter    Deadlocks
//	firq_actor_handoffs_total              counter    Handoffs
//	firq_actor_turns_total                 counter    Turns, by kind and end
//	firq_actor_messages_total              counter    Messages, by kind
//	firq_actor_processor_seconds_total     counter    Used, by kind
//	firq_actor_failures_total              counter    Failed, by kind
//	firq_actor_restarts_total              counter    Restarted, by kind
//	firq_actor_abandoned                   gauge      Abandoned, by kind
//	firq_actor_refused_total               counter    Refused, by kind and reason
//	firq_actor_timeouts_total              counter    Timeouts, by kind, method and mode
//	firq_actor_wait_seconds                histogram  Waited
//
// The measurements of a watchdog are those of its last interval, and are missing before
// the first interval has ended. A peak that begins and ends between two scrapes shows
// in the level, which falls only after Options.Calm intervals, and in the counter of
// reports, but perhaps not in the times. The findings have a series for every signal
// and level, usually at 0.
//
// A request that a middleware serves is also one permit of its gate, and a request that
// it rejects while it waits is also in the counters of the gate's queue. Compare the
// two, do not add them up.
//
// # Series of tenants
//
// firq_tenant_dequeued_total exists only for the tenants of Stats.TopTenants, at
// most Config.TopTenants of them (16 by default), and fewer with
// Options.TopTenants. That ranking is approximate, and it changes:
//
//   - A tenant that drops out of it loses its series. Prometheus marks the series
//     stale, and rate() over a window that still holds two samples of it goes on
//     until they leave the window.
//   - A tenant that comes in appears with its whole count so far. rate() and increase()
//     need two samples and do not see service before the first of them, so they
//     understate newcomers.
//   - A tenant that comes back while the window still holds its last sample goes on as
//     if it had not been away, service in the meantime included.
//   - A tenant that was idle for Config.TenantIdle is forgotten, and its count can
//     begin at 0 again. rate() takes that for the reset of a counter, which it is.
//   - If TenantLabel gives several tenants one label, their series is the sum of those
//     in the ranking at the moment, and falls when one leaves it. rate() takes the fall
//     for a reset and then overstates, by up to the remaining sum. Use such labels for
//     graphs, not for alerts or bills.
//
// The sum over these series is not the total; that is firq_dequeued_total.
//
// Behind a middleware, Config.Tenant derives the tenants from requests, and may let
// clients choose them: addresses, names from headers and, with firqhttp.PlainAPIKey,
// the keys themselves. Everyone with access to the metrics can read them, and a client
// that invents names makes new series with each scrape. Set Options.TopTenants below 0
// then, or a TenantLabel that maps to names you know.
//
// # Concurrency properties
//
// A [Collector] is immutable. Collect may run in any number of goroutines at a time.
// Each run takes one snapshot, so the numbers of one scrape of a source are as
// consistent as one Stats. The collector of NewQueue asks the server, several times if
// there are many tenants. The Stats of a scheduler, and of a gate, waits for each shard
// in turn.
package firqprom
