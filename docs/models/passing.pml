/*
Passing empty turns up to a far round, while shards go back or wake up; and holds that go
on meanwhile.

Stands for   Rounds.Pass, Settled, Limit, Publish, Served (internal/core/shardsel/rounds.go), and Shard.Pass,
             Back, Join, wokeUp, Onward, Publish (internal/core/serve/rounds.go and shard.go), as
             drr and the cores call them. One process is one shard under its lease.
Left out     Rounds modulo 1<<63; several passages in one hold; a hold that passes and
             then goes on.
Property     Nobody is served after empty turns in a round that is more than the lead
             (slack, if that one has just woken up) after the tag of another shard that has
             work, and has finished going back. A shard that has work, does not wait for a
             far round, and is between two holds is at most 2 slack + 1 rounds after another
             one: so nobody is left behind, whoever was alone, and no hold goes too far.
Bounds       Two or three shards, empty turns of 1 or 8 rounds, holds of up to 3 deliveries
             and 6 rounds, a few steps of each shard; the lead is 1 for everybody, and slack 2.

RUN   two          -DSHARDS=2 -DSTEPS=5
RUN   three        -DSHARDS=3 -DSTEPS=2
FAULT NO_J1        -DSHARDS=2 -DSTEPS=4: nobody is told that somebody is about to jump
FAULT J2_FIRST     -DSHARDS=2 -DSTEPS=4: the limit is looked at before that is told
FAULT J3_FIRST     -DSHARDS=2 -DSTEPS=4: the current round is set when it is over
FAULT NO_K1        -DSHARDS=2 -DSTEPS=4: the earlier tag is published at the end of the hold
FAULT NO_K2        -DSHARDS=2 -DSTEPS=4: who goes back does not wait for who jumps
FAULT K3_FIRST     -DSHARDS=2 -DSTEPS=4: the current round is looked at before the wait
FAULT NO_WAKE      -DSHARDS=2 -DSTEPS=4: an idle shard joins when it begins, and does not look again
FAULT ALONE_COUNTS -DSHARDS=2 -DSTEPS=4: a shard that is alone moves on by the empty turns
FAULT ALONE_NO_K   -DSHARDS=2 -DSTEPS=4: a shard that is alone does not go back before it passes them
FAULT ALONE_BEHIND -DSHARDS=2 -DSTEPS=5: a shard that is alone stays where it was
FAULT OLD_LIMIT    -DSHARDS=2 -DSTEPS=4: a hold goes on by the limit that it began with
FAULT NOT_SAID     -DSHARDS=2 -DSTEPS=4: a hold says at its end which rounds it has been in
*/

#define LEAD 1
#define SLACK 2
#define DELIVERIES 3 /* of a hold */
#define APART (2 * SLACK + 1)
#define NONE 99 /* a shard that has no work */

byte tag[SHARDS] = NONE;     /* as published */
byte current, jumping;
byte settled[SHARDS] = NONE; /* ghost: the tag, but while it is going back, or waking up: nothing yet */
byte at[SHARDS] = NONE;      /* ghost: the round of a shard that has work, between two holds; nothing if it waits */

inline limitOf(me) {
	atomic { limit = NONE; s = 0 }
	do
	:: s == SHARDS -> s = 0; break
	:: s == me -> s++
	:: s < SHARDS && s != me -> atomic { limit = (tag[s] < limit -> tag[s] : limit); s++ }
	od
}

inline served(r) { current = (r > current -> r : current) }

/* The hold is over; the second property. */
inline say(me) {
	atomic {
		tag[me] = round; settled[me] = round; at[me] = round; s = 0;
		do
		:: s == SHARDS -> s = 0; break
		:: s < SHARDS ->
			assert(at[s] == NONE || (round <= at[s] + APART && at[s] <= round + APART));
			s++
		od
	}
}

/* K1 to K3; round is where the shard is, most where it may be taken on to. */
inline goBack(me, most, slack) {
	atomic { settled[me] = NONE; at[me] = NONE }
#ifdef FAULT_K3_FIRST
	seen = current;
#endif
#ifndef FAULT_NO_K1
	tag[me] = round; /* [K1] */
#endif
	if
	:: slack > 0 -> /* wokeUp */
		limitOf(me);
		if
		:: limit == NONE -> served(round)
		:: else
		fi
	:: else
	fi;
#ifndef FAULT_NO_K2
	jumping == 0;    /* [K2] */
#endif
#ifndef FAULT_K3_FIRST
	seen = current;  /* [K3] */
#endif
	if
	:: seen > round + slack -> round = (seen < most -> seen : most)
	:: else
	fi;
	seen = 0
}

proctype Shard(byte me) {
	byte round, reached, target, limit, s, seen, steps = STEPS, left = DELIVERIES;
	bool waits;
	do
	:: steps == 0 -> break
	:: steps > 0 && !waits && tag[me] != NONE -> /* its tenants save up */
		atomic {
			steps--;
			if
			:: target = round + 1
			:: target = round + 8
			fi;
			waits = true; tag[me] = target; settled[me] = target; at[me] = NONE
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
		:: limit != NONE && target <= limit + LEAD -> served(target)
		:: else
		fi;
#if !defined(FAULT_NO_J1) && !defined(FAULT_J3_FIRST)
		jumping--; /* [J3] */
#endif
		if
		:: limit != NONE && target <= limit + LEAD -> /* together: it serves */
			atomic {
				round = target; waits = false; s = 0;
				do
				:: s == SHARDS -> s = 0; break
				:: s < SHARDS ->
					assert(s == me || settled[s] == NONE || round <= settled[s] + SLACK);
					s++
				od;
				target = 0; limit = 0
			}
			say(me)
		:: limit == NONE -> /* alone: it serves, and its round stays */
#if defined(FAULT_ALONE_COUNTS)
			round = target;
#elif defined(FAULT_ALONE_BEHIND)
			skip;
#elif defined(FAULT_ALONE_NO_K)
			if
			:: current > round -> round = (current < target -> current : target)
			:: else
			fi;
#else
			goBack(me, target, 0);
#endif
			atomic { waits = false; target = 0; limit = 0 }
			served(round);
			say(me)
		:: else -> limit = 0
		fi
	:: steps > 0 && waits -> /* somebody joins it: Back */
		steps--;
		goBack(me, target, 0);
		atomic { waits = false; target = 0 }
		say(me)
	:: steps > 0 && !waits && tag[me] != NONE -> /* a hold without empty turns */
		steps--;
		at[me] = NONE;
		limitOf(me);
		do
		:: left == 0 -> break
		:: left > 0 ->
			atomic { /* a delivery takes two rounds at most, and looks at the limit at each turn */
				left--;
				if
				:: limit == NONE || round + 1 <= limit + LEAD -> reached = round + 1
				:: limit != NONE && round + 1 == limit + LEAD + 1 -> reached = round
				:: else -> left = 0; break
				fi;
				round = reached + 1
			}
			/* Onward */
#ifndef FAULT_NOT_SAID
			served(reached);
#endif
#ifndef FAULT_OLD_LIMIT
			limitOf(me)
#endif
		od;
#ifdef FAULT_NOT_SAID
		served(reached);
#endif
		atomic { reached = 0; limit = 0; left = DELIVERIES }
		say(me)
	:: steps > 0 && !waits && tag[me] != NONE -> /* it has no work any more */
		atomic { steps--; tag[me] = NONE; settled[me] = NONE; at[me] = NONE }
	:: steps > 0 && tag[me] == NONE -> /* Join, then it becomes ready: wokeUp */
		steps--;
		seen = current;
		limitOf(me);
		atomic {
			seen = (limit == NONE -> seen + 1 : seen);
			round = (seen > round -> seen : round);
			seen = 0; limit = 0
		}
#ifndef FAULT_NO_WAKE
		goBack(me, NONE, SLACK);
#endif
		limit = 0;
		say(me)
	od
}

init {
	atomic {
		byte i;
		do
		:: i == SHARDS -> break
		:: i < SHARDS -> tag[i] = 0; settled[i] = 0; at[i] = 0; run Shard(i); i++
		od
	}
}
