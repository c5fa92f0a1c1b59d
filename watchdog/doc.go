// Package watchdog detects work that waits for a CPU or in a queue, and reports it
// before the callers do.
//
// # Usage
//
//	w, err := watchdog.New(watchdog.Options{
//		Queues: []watchdog.Queue{watchdog.QueueOf("jobs", s.Stats)}, // of a firq.Scheduler
//		Logger: slog.Default(),
//	})
//	...
//	go w.Run(ctx) // until ctx is done
//
// Every interval (1 s) the watchdog measures the signals below and compares them with
// two thresholds (100 ms and 1 s). The worst of them is the level.
//
// # Signals
//
//	timer lateness      by how much a timer of the watchdog fired late, the worst of the interval
//	scheduling latency  how long goroutines were ready to run before they ran: runtime/metrics
//	queue wait          how long the tasks that a queue delivered in the interval had waited
//	queue stall         how long a queue with a backlog has delivered nothing
//	probe time          how long a call that the user supplies takes
//	probe error         that call failed
//
// The first two are about processors, the others about queues and their workers. If
// queues are late while the first two are fine, there are too few workers, or the
// workers wait for something. If all are late, there is too little processor time.
// Report.Load, which is in the log too, then tells a loaded program from a loaded machine,
// by how much of its processors the process used in that interval: nearly all is the
// program's own load, less than half is not.
//
// There is no probe that starts a goroutine and measures when it runs, though many
// systems have one. In Go a new goroutine is the next that its processor runs, whatever
// else is ready (runqput in the runtime's proc.go). With 16 goroutines per processor
// that never yield, such a probe waits for a few microseconds while others wait for 100
// ms and more. A timer shows more, but only the wait of one goroutine per tick. The
// runtime's histogram covers goroutines of all kinds, and is the main signal.
//
// # Levels
//
// The level rises immediately, with the first interval that calls for it. It falls after
// Options.Calm consecutive intervals below it, to the worst level among these. So a
// value that jitters around a threshold causes one report, not many. Each change is
// reported once; while the level is not OK, a reminder follows every Options.Remind.
//
// # What it cannot see
//
//   - A wait that has not ended: a goroutine counts in the scheduling latency once it
//     runs, a task in the queue wait once it is delivered. Queue stall detects a queue
//     in which nothing moves. Only a Probe in a tenant's name detects that this tenant
//     starves while others are served.
//   - A rare wait: the runtime records about every eighth wait of a goroutine,
//     and Tail is a quantile. Where millions of short hand-overs hide a few long
//     waits, set Options.Quantile to 1 (the maximum).
//   - The exact value: the runtime's buckets are 25 % wide, those of firq.Stats go 1,
//     2, 5, 10. Both are rounded down, so no alarm is false, but an alarm can be late
//     by as much. For queues, choose thresholds that are 1, 2 or 5 times a power of
//     ten.
//   - The cause. Report.Load says whether the program used its processors, not for
//     what: a garbage collector that needs them and goroutines that never yield look
//     alike, and so do a stopped process, a stopped virtual machine, the limit of a
//     container, and other programs. Stacks help, but show what runs when they are taken,
//     after the interval.
//   - Anything while no goroutine of the process runs. The watchdog reports afterwards.
//
// Where the runtime lacks a metric that this package reads (Go 1.25 has no count of
// runnable goroutines), the others still work, and Sample says which is missing.
//
// # Cost
//
// An interval takes 5 µs and 5.6 kB; with one queue 10 to 37 µs, with one of 10,000 tenants
// 85 to 300 µs, nearly all of it Stats (go test -run xxx -bench . ./watchdog). The timers cost
// an idle process 0.14 % of one processor. A profile of 10,000 goroutines takes 9 to 12 ms.
//
// # Concurrency properties
//
// New and Status may be called from anywhere at any time; Status takes no lock. Run
// uses the caller's goroutine, one that reports, and one per probe in progress, and
// leaves none behind. No lock is held while user code runs.
package watchdog
