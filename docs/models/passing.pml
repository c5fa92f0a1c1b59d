/*
Passing empty turns up to a far round, beside shards that go back or wake up; and holds
that go on by an old limit.

Stands for   Rounds.Pass, Arrive, Settled, Limit, Publish, Served (shardsel/rounds.go), and
             Shard.Pass, Back, Join, wokeUp, StepBack, Publish (internal/serve/rounds.go and shard.go), as
             drr and the cores call them. One process is one shard under its lease.
Left out     Rounds modulo 1<<63; several passages in one hold; a hold that passes and
             then goes on.
Property     Nobody is served after empty turns in a round that is more than the lead
             (slack, if that one has just woken up) after the tag of another shard that has
             work, and has finished going back. A shard that has work, does not wait for a
             far round, and is between two holds is at most 2 slack + 1 rounds after another
             one: so nobody is left behind, whoever was alone, and what a hold has gone too
             far is not kept.
Bounds       Two or three shards, empty turns of 1 or 8 rounds, holds of 1 or 7, a few
             steps of each shard; the lead is 1 for everybody, and slack 2.

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
FAULT NO_STEP      -DSHARDS=2 -DSTEPS=4: a hold that went too far stays there
FAULT STEP_TAKES   -DSHARDS=2 -DSTEPS=5: it takes the current round along
FAULT STEP_NO_J    -DSHARDS=2 -DSTEPS=4: nobody is told of a hold that is about to arrive
FAULT STEP_LATE    -DSHARDS=2 -DSTEPS=4: the current round is set when that is over
FAULT STEP_FAR     -DSHARDS=2 -DSTEPS=4: it goes back to the tag of a shard that is just going back
*/

#define LEAD 1
#define SLACK 2
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
	byte round, reached, target, limit, s, seen, steps = STEPS;
	bool waits, far;
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
		atomic {
			if
			:: limit == NONE || round + 6 <= limit + LEAD -> reached = round + 6; far = true
			:: limit == NONE || round <= limit + LEAD -> reached = round
			:: else -> reached = NONE
			fi;
			round = (reached == NONE -> round : reached + 1)
		}
		/* StepBack, and Publish */
		if
		:: reached == NONE || reached <= current -> skip
		:: else ->
#if !defined(FAULT_STEP_NO_J)
			if
			:: far -> jumping++ /* [J1] */
			:: else
			fi;
#endif
			limitOf(me); /* [J2] */
#ifdef FAULT_STEP_LATE
			if
			:: far -> jumping--
			:: else
			fi;
#endif
			if
#ifdef FAULT_STEP_TAKES
			:: far -> served(reached)
#else
			:: far && (limit == NONE || reached <= limit + LEAD) -> served(reached)
#endif
			:: else
			fi;
#if !defined(FAULT_STEP_NO_J) && !defined(FAULT_STEP_LATE)
			if
			:: far -> jumping-- /* [J3] */
			:: else
			fi;
#endif
#ifndef FAULT_NO_STEP
			limit = (limit == NONE -> NONE : limit + LEAD);
#ifndef FAULT_STEP_FAR
			limit = (current > limit -> current : limit);
#endif
			atomic {
				reached = (limit < reached -> limit : reached);
				round = reached + 1
			}
#endif
			served(reached)
		fi;
		atomic { reached = 0; limit = 0; far = false }
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
