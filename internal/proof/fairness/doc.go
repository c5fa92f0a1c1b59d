// Package fairness measures how unfair a scheduler was. From a log of service it
// takes, for each pair of tenants that were backlogged all along, the maximum over
// all intervals of
//
//	|S_i/q_i - S_j/q_j|
//
// with S the cost served in the interval and q the quantum, and holds it against
// the bounds that docs/fairness.md states. For tests alone.
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
//
// # Why the bounds hold
//
// Terms, theorems and conditions are in docs/fairness.md.
//
// Within a shard (theorem 1, the argument of Shreedhar and Varghese). A turn of i adds q_i to its
// deficit once, and ends when the deficit is below the cost of the front task; so between turns 0
// <= deficit <= C_i - 1. In k consecutive turns i is served k·q_i plus the deficit before less the
// one after: at most k·q_i + C_i - 1, at least k·q_i - (C_i - 1). Both tenants stay in the list,
// which is a queue, so their turns alternate: if k turns of i overlap the interval, at least k - 1
// whole turns of j lie in it. Subtract. A skip refills every tenant as often as the skipped turns
// would have; a task that comes in mid-turn starts no other turn; tenants that leave or join do not
// change the order of the others.
//
// Between shards (theorem 2). Number the rounds of a shard; every backlogged tenant has one turn in
// each. The tag that a shard publishes is at most the round of its next delivery, and under the
// conditions of docs/fairness.md it only grows. No consumer begins a turn in a round beyond the tag that it has
// read of another ready shard plus its own shard's lead over that shard; an old tag makes the limit
// lower. Let i live on shard A and j on B, and let the turns of i that overlap the interval be in
// rounds a to b: b-a+1 turns.
//
//  1. At the start A's next delivery is in round a at most. So A's tag was never more than a,
//     and no turn of B had begun in a round after a plus B's lead.
//  2. At the end a turn of A has begun in round b. So B's tag was at least b less A's lead, and
//     B's rounds before that are over.
//  3. So j had whole turns in the rounds after a plus B's lead and before b less A's lead:
//     FairnessSlack + 2 fewer than i had. The rest is as above.
//  4. If j joins B in round r, its first turn is in round r+1. That takes one round from 3, if
//     B had not begun round r.
//
// A shard that was idle joins in the furthest round in which any tenant has had a turn, so 1 holds
// for intervals that begin there. If no other shard has work it joins in the next round. Three
// rules keep rounds honest. A tenant that comes to an empty list has its turn in this round, unless
// another tenant has had a turn in it: then a new round begins. A round in which no tenant has had
// a turn does not end. A shard that waits for a far round takes the turns up to the current round
// before a tenant joins (CatchUp).
//
// Rounds are counted modulo 2^63 and compared by their distance (internal/core/drr/round.go).
//
// Debt (theorem 3). A tenant in debt that stayed in the list would get a quantum per round and be
// served nothing until the debt is paid. So rounds that begin while it is away pay its debt off.
// Rounds begin only while tasks are served, so a scheduler that stands still forgives nothing;
// TenantIdle does.
//
// The wait (theorems 3 and 6). A newcomer goes to the tail, with a turn in the next round at the
// latest. On its shard every tenant has one turn before each of its turns. Turns on another shard
// begin at most its lead later, and were at most the other lead + 1 behind when the newcomer came.
// A flow's first task: the same, one level down.
//
// Within a tenant (theorem 4). The lines of a tenant's flows at one priority take turns as tenants
// do on a shard. The round robin begins when a second flow has a task queued, with deficits of 0,
// and ends when none is left at that priority. (If the shard waits for the first flow's front task
// then, that line is in its turn, and can be served less than C + q, the maximum of any turn.)
// Turns pass when the queue asks for the tenant's front task. A line that is empty then leaves, and
// forfeits its deficit.
//
// Flows inside tenants (theorem 5). The proofs of theorems 1 to 3 use three facts about a tenant.
// Its front task costs at most C_i; it pays exactly that cost when the task is served, and its line
// pays the same; and in FIFO order the front task stays in front from when the queue asked for it
// until it is served or leaves by itself.
//
// In flight (theorem 8). A tenant has one quantum for each round: by its turn if it is in the list,
// and for the round as such if it is blocked; on its return it has its next turn in the next round.
// So at any instant of round r it has had all quanta up to round r - 1 or up to r, and over an
// interval two tenants differ by 2 at most. What it was served is what it had, less what it has
// kept, which is between 0 and K. What is lost beyond K is lost by the tenant whose limit binds.
// Theorem 3 has K_j more for each tenant j that is at its limit, as that tenant spends what it was
// given in rounds that have begun. A shard all of whose tenants are blocked joins in the current
// round upon Done, with the quanta of the rounds in between, up to K.
package fairness
