// Package interleave runs a few goroutines through every interleaving of their
// steps, one goroutine at a time. A step ends at the next mark of package
// failpoint, so it needs the build tag firq_failpoints.
//
// The search is that of CHESS (Musuvathi et al., OSDI 2008): depth first over all
// schedules with at most the given number of preemptions. A preemption is a switch away from a
// goroutine that could have gone on; switches at the end of a goroutine, when it
// falls asleep, or when it waits for a lock, are free. Most concurrency bugs need
// two preemptions or fewer. A goroutine that spins is not run again until another
// one has made a step.
//
// A run is deterministic: testing/synctest tells when every goroutine is at a mark,
// asleep or done, and time stands still.
package interleave
