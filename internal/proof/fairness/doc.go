// Package fairness measures how unfair a scheduler was. From a log of service it
// takes, for each pair of tenants that were backlogged all along, the maximum over
// all intervals of
//
//	|S_i/q_i - S_j/q_j|
//
// with S the cost served in the interval and q the quantum, and holds it against
// the bounds that docs/fairness.md states and proves. For tests alone.
//
// # How
//
// Let D(t) be the difference of what was served up to t. An interval changes it
// from D(t1) to D(t2), so that the maximum over all intervals is the largest D less
// the smallest: one pass, and one step per turn and other tenant. D times q_i*q_j is a
// whole number; nothing is rounded.
//
// # When a task was served
//
// Under the lease of its shard. A test within a core can see that (Log). From
// outside one knows only that it was during the call that returned it. Then D is
// known to be between two values, Least and its opposite with i and j exchanged,
// and what comes out is the least that the unfairness must have been: never too
// much, and with one consumer exact.
package fairness
