/*
Passing empty turns up to a far round, beside shards that go back or wake up.

Stands for   Rounds.Pass, Settled, Limit, Publish, Served (shardsel/rounds.go), and
             Shard.Back, Join, wokeUp (internal/serve/shard.go), as drr calls them. One
             process is one shard under its lease.
Left out     Rounds modulo 1<<63; deliveries that pass no empty turns, which a hold in
             progress goes on with; holds of several tasks.
Property     Nobody is served after empty turns in a round that is more than the lead
             after the tag of another shard that has work, and has finished going back.
Bounds       Three shards, steps of 1 to 3 rounds, one or two steps of each shard; the
             lead is 1 for everybody.

RUN   two       -DSHARDS=2 -DSTEPS=4
RUN   three     -DSHARDS=3 -DSTEPS=2
FAULT NO_J1     -DSHARDS=2 -DSTEPS=3: nobody is told that somebody is about to jump
FAULT J2_FIRST  -DSHARDS=2 -DSTEPS=3: the limit is looked at before that is told
FAULT J3_FIRST  -DSHARDS=2 -DSTEPS=3: the current round is set when it is over
FAULT NO_K1     -DSHARDS=2 -DSTEPS=3: the earlier tag is published at the end of the hold
FAULT NO_K2     -DSHARDS=2 -DSTEPS=3: who goes back does not wait for who jumps
FAULT K3_FIRST  -DSHARDS=2 -DSTEPS=3: the current round is looked at before the wait
FAULT NO_WAKE   -DSHARDS=2 -DSTEPS=3: an idle shard joins when it begins, and does not look again
*/

#define LEAD 1
#define NONE 99 /* a shard that has no work */

byte tag[SHARDS] = NONE;  /* as published */
byte settled[SHARDS] = NONE; /* ghost: the same, but while a shard goes back or wakes up: nothing yet */
byte current, jumping;

inline limitOf(me) {
	atomic { limit = NONE; s = 0 }
	do
	:: s == SHARDS -> break
	:: s == me -> s++
	:: s < SHARDS && s != me -> atomic { limit = (tag[s] < limit -> tag[s] : limit); s++ }
	od
}

/* K1 to K3; round is where the shard is, most where it may be taken on to. */
inline goBack(me, most) {
	settled[me] = NONE;
#ifdef FAULT_K3_FIRST
	seen = current;
#endif
#ifndef FAULT_NO_K1
	tag[me] = round; /* [K1] */
#endif
#ifndef FAULT_NO_K2
	jumping == 0;    /* [K2] */
#endif
#ifndef FAULT_K3_FIRST
	seen = current;  /* [K3] */
#endif
	if
	:: seen > round -> round = (seen < most -> seen : most)
	:: else
	fi;
	atomic { tag[me] = round; settled[me] = round; seen = 0 }
}

proctype Shard(byte me) {
	byte round, target, limit, s, seen, steps = STEPS;
	bool waits;
	do
	:: steps == 0 -> break
	:: steps > 0 && !waits && tag[me] != NONE -> /* its tenants save up */
		atomic {
			steps--;
			if
			:: target = round + 1
			:: target = round + 3
			fi;
			waits = true; tag[me] = target; settled[me] = target
		}
	:: steps > 0 && waits -> /* somebody asks for a task: pass */
		steps--;
#ifdef FAULT_J2_FIRST
		limitOf(me);
#endif
#ifndef FAULT_NO_J1
		jumping++; /* [J1] */
#endif
#ifndef FAULT_J2_FIRST
		limitOf(me); /* [J2] */
#endif
#ifdef FAULT_J3_FIRST
		jumping--;
#endif
		if
		:: limit == NONE || target <= limit + LEAD ->
			current = (target > current -> target : current);
			seen = 1
		:: else
		fi;
#if !defined(FAULT_NO_J1) && !defined(FAULT_J3_FIRST)
		jumping--; /* [J3] */
#endif
		if
		:: seen == 1 -> /* it serves */
			atomic {
				round = target; waits = false; seen = 0; s = 0;
				do
				:: s == SHARDS -> break
				:: s < SHARDS ->
					assert(s == me || settled[s] == NONE || round <= settled[s] + LEAD);
					s++
				od
			}
			atomic { tag[me] = round; settled[me] = round; target = 0; limit = 0 }
		:: else
		fi
	:: steps > 0 && waits -> /* somebody joins it: Back */
		steps--;
		goBack(me, target);
		atomic { waits = false; target = 0 }
	:: steps > 0 && !waits && tag[me] != NONE -> /* it has no work any more */
		atomic { steps--; tag[me] = NONE; settled[me] = NONE }
	:: steps > 0 && tag[me] == NONE -> /* Join, then it becomes ready: wokeUp */
		atomic { steps--; round = (current > round -> current : round) }
#ifdef FAULT_NO_WAKE
		atomic { tag[me] = round; settled[me] = round }
#else
		goBack(me, NONE)
#endif
	od
}

init {
	atomic {
		byte i;
		do
		:: i == SHARDS -> break
		:: i < SHARDS -> tag[i] = 0; settled[i] = 0; run Shard(i); i++
		od
	}
}
