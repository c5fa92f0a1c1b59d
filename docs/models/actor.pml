/*
Actors: mailbox, turn, slots that are handed over, timeouts that abandon, failure, restart and end.

Stands for   actor: post, wake, release (actor.go, mailbox.go); hand.turn, live, rest (turn.go); pool.push, pop, pass,
             hand.lose (hand.go); takeAway (monitor.go); abandon (timeout.go); fail, doom, step, finish (life.go);
             supervisor.failure, raise (restart.go). What the actor's lock covers is one step, and so is what the pool's does.
Left out     Batches (batch.go: to claim a message is to take it here), priorities, limits, stash, readers, reentrancy,
             calls (who waits for whom is deadlock_test.go's), inline calls, children, backoff; that push and pop are several
             steps, the queue's and those of who sleeps (TestPopLooksAgain), and the queue's shards; one supervisor with one
             strategy; costs.
Property     One handler of an incarnation at a time, none of one that has failed or ended, none after the end. No slot is
             lost or made. When everybody is at rest each accepted message was handled or is a dead letter, once; who was killed,
             or failed too often, has ended; nothing is ready and nothing waits.
Bounds       One or two actors, two senders, one slot or two, one slot handed over, one handler abandoned, failures as the
             run says; a start that fails; a kill at any time.

RUN   plain        -DMESSAGES=3
RUN   two          -DACTORS=2 -DMESSAGES=2
RUN   slots        -DACTORS=2 -DMESSAGES=2 -DSLOTS=2
RUN   handoff      -DACTORS=2 -DMESSAGES=2 -DHANDOFF
RUN   handoff2     -DSLOTS=2 -DHANDOFF -DACTORS=2 -DMESSAGES=2
RUN   kill         -DKILL -DMESSAGES=2
RUN   alone        -DFAILS=1 -DNO_SUPERVISOR
RUN   restart      -DFAILS=2 -DRESTARTS=2
RUN   escalate     -DFAILS=2 -DRESTARTS=1
RUN   startfails   -DFAILS=1 -DRESTARTS=2 -DSTART_FAILS=1
RUN   killrestart  -DFAILS=1 -DRESTARTS=1 -DKILL
RUN   abandon      -DABANDON -DRESTARTS=1
RUN   abandonall   -DABANDON -DHANDOFF -DFAILS=1 -DRESTARTS=2
RUN   abandonkill  -DABANDON -DHANDOFF -DKILL -DRESTARTS=1
FAULT POST_NO_LOOK    -DMESSAGES=3: who sends makes the actor ready though somebody has its turn
FAULT POST_NO_WAKE    -DMESSAGES=2: who sends to an idle actor does not
FAULT RELEASE_EARLY   -DMESSAGES=3: who gives up the turn looks at the mailbox before
FAULT PUSH_NO_SLOT    -DACTORS=2 -DMESSAGES=2: a slot that sleeps is not woken
FAULT POP_NO_LOOK     -DACTORS=2 -DMESSAGES=2 -DHANDOFF: one whose slot was taken after its last handler takes the next actor
FAULT TAKE_SLEEPING   -DACTORS=2 -DMESSAGES=2 -DHANDOFF: the monitor does not look again whether a handler is in progress
FAULT TAKE_TWICE      -DABANDON -DHANDOFF -DRESTARTS=1: who takes a slot does not look whose it is
FAULT ABANDON_LATE    -DABANDON -DRESTARTS=1: a handler that has returned is abandoned all the same
FAULT ABANDON_TURN    -DABANDON -DRESTARTS=1: who abandons leaves the turn with the handler
FAULT FAILED_SERVES   -DFAILS=1 -DRESTARTS=1: messages come before the end of a failed incarnation
FAULT DOWN_SERVES     -DFAILS=1 -DRESTARTS=1: and before the beginning of the next
FAULT UP_NO_WAKE      -DFAILS=1 -DRESTARTS=1: the supervisor wakes nobody
FAULT DOOM_NO_WAKE    -DKILL: nor does a kill
FAULT ENDED_TAKES     -DKILL: an actor that has ended takes messages
*/

#ifndef ACTORS
#define ACTORS 1
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef MESSAGES
#define MESSAGES 1
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef START_FAILS
#define START_FAILS 0
#endif
#define HANDS (SLOTS + 2)
#define NONE 255

mtype = { idle, ready, busy, alive, failed, down, ended, live, stale, gone };

/* An actor; all of it is guarded by its lock. */
mtype turn[ACTORS] = idle;
mtype life[ACTORS] = alive;
byte mail[ACTORS];
bool doomed[ACTORS], goUp[ACTORS], event[ACTORS]; /* event: its supervisor has been told that it is down */

/* The pool. */
bool queued[ACTORS];
byte asleep[SLOTS];            /* how often the slot is in the list of those that sleep */
byte delivered[SLOTS] = NONE;  /* what wakes it */
byte owner[SLOTS] = NONE;      /* a hand */
bool since[SLOTS];             /* a handler is in progress */
bool spare[HANDS] = true;
byte give[HANDS] = NONE;       /* a slot */

/* The handler of a hand, for who abandons it. */
mtype st[HANDS] = stale;
byte whose[HANDS];

byte fails = FAILS, startFails = START_FAILS, restarts;

/* Ghosts. */
byte accepted, handled, dead, running[ACTORS];
bool killed;

#define RESTING(a) (life[a] == failed || doomed[a] || (life[a] == down && goUp[a]))
#define DUE(a) (life[a] != ended && RESTING(a))
#ifdef FAULT_DOWN_SERVES
#define SERVES(a) ((life[a] == alive || life[a] == down) && !doomed[a] && mail[a] > 0)
#else
#define SERVES(a) (life[a] == alive && !doomed[a] && mail[a] > 0)
#endif
#define RUNNABLE(a) (DUE(a) || SERVES(a))

/* wake, under the actor's lock. */
inline wake(a, w) {
	if
	:: turn[a] == idle && RUNNABLE(a) -> turn[a] = ready; w = true
	:: else -> w = false
	fi
}

/* push, and pop's other half; under the pool's lock. */
inline push(a, w) {
	atomic {
		if
		:: w ->
			assert(!queued[a]);
			if
#ifndef FAULT_PUSH_NO_SLOT
			:: asleep[0] > 0 && delivered[0] == NONE -> asleep[0]--; delivered[0] = a
#if SLOTS > 1
			:: asleep[0] == 0 && asleep[1] > 0 && delivered[1] == NONE -> asleep[1]--; delivered[1] = a
#endif
			:: else -> queued[a] = true
#else
			:: queued[a] = true
#endif
			fi;
			w = false
		:: else
		fi
	}
}

/* pass finds a hand for a slot. */
inline pass(s, k) {
	atomic {
		k = 0;
		do
		:: k < HANDS && !spare[k] -> k++
		:: else -> break
		od;
		assert(k < HANDS); /* else the bounds are too small */
		spare[k] = false;
		give[k] = s;
		k = 0
	}
}

/* lose takes slot s from hand h and passes it on. */
inline lose(s, h, k) {
	atomic {
		if
#ifdef FAULT_TAKE_TWICE
		:: true -> owner[s] = NONE; since[s] = false
#else
		:: owner[s] == h -> owner[s] = NONE; since[s] = false
#endif
		:: else -> goto kept
		fi
	};
	pass(s, k);
kept:	skip
}

/* doom, under the actor's lock. */
inline doom(a, w) {
	if
	:: life[a] == ended || doomed[a] -> w = false
	:: else ->
		doomed[a] = true;
		dead = dead + mail[a]; mail[a] = 0;
#ifdef FAULT_DOOM_NO_WAKE
		w = false
#else
		wake(a, w)
#endif
	fi
}

/* fail, under the actor's lock; who calls it has the turn. */
inline fail(a) {
	if
	:: life[a] == ended
	:: else ->
		life[a] = failed;
#ifdef NO_SUPERVISOR
		doomed[a] = true; dead = dead + mail[a]; mail[a] = 0
#endif
	fi
}

inline release(a, w) {
#ifdef FAULT_RELEASE_EARLY
	if
	:: RUNNABLE(a) -> w = true
	:: else -> w = false
	fi;
	atomic { turn[a] = (w -> ready : idle) };
#else
	atomic { turn[a] = idle; wake(a, w) };
#endif
	push(a, w)
}

proctype Sender(byte me) {
	byte n, a;
	bool w;
	for (n : 1 .. MESSAGES) {
		atomic {
			a = (ACTORS > 1 -> (me + n) % ACTORS : 0);
			w = false;
			if
#ifdef FAULT_ENDED_TAKES
			:: false
#else
			:: life[a] == ended || doomed[a] /* refused */
#endif
			:: else ->
				mail[a]++; accepted++;
#if defined(FAULT_POST_NO_WAKE)
				skip
#elif defined(FAULT_POST_NO_LOOK)
				turn[a] = ready; w = true
#else
				wake(a, w)
#endif
			fi
		};
		push(a, w)
	}
}

proctype Hand(byte h) {
	byte s, a, k;
	bool w, panics;
next_slot:
end_spare:
	atomic { give[h] != NONE -> s = give[h]; give[h] = NONE; owner[s] = h };
next_actor:
	atomic {
		if
#ifndef FAULT_POP_NO_LOOK
		:: owner[s] != h -> spare[h] = true; goto next_slot
#endif
		:: else ->
			if
			:: queued[0] -> queued[0] = false; a = 0
#if ACTORS > 1
			:: queued[1] -> queued[1] = false; a = 1
#endif
			:: else -> asleep[s]++; a = NONE
			fi
		fi
	};
	if
	:: a == NONE ->
end_sleep:
		atomic { delivered[s] != NONE -> a = delivered[s]; delivered[s] = NONE }
	:: else
	fi;
	atomic { assert(turn[a] == ready); turn[a] = busy };
next_message:
	atomic {
		assert(turn[a] == busy);
		if
#ifdef FAULT_FAILED_SERVES
		:: mail[a] > 0 && !doomed[a] && life[a] != down && life[a] != ended
#else
		:: !DUE(a) && SERVES(a)
#endif
			->
			mail[a]--; handled++;
			assert(life[a] == alive);
			running[a]++;
			assert(running[a] == 1);
			st[h] = live; whose[h] = a; since[s] = true
#ifdef FAULT_FAILED_SERVES
		:: else -> if :: DUE(a) -> goto go_on :: else -> goto rest fi
#else
		:: DUE(a) -> goto go_on
		:: else -> goto rest
#endif
		fi
	};
	/* The handler. */
	if
	:: panics = false
	:: atomic { fails > 0 -> fails--; panics = true }
	fi;
	atomic {
		if
		:: st[h] == gone -> st[h] = stale; goto end /* it was abandoned: the goroutine ends */
		:: else -> st[h] = stale; running[a]--
		fi
	};
	if
	:: panics -> atomic { fail(a) }
	:: else
	fi;
has:
	if
	:: owner[s] == h -> goto next_message
	:: else ->
		release(a, w);
		atomic { spare[h] = true; goto next_slot }
	fi;
rest:
	atomic { if :: owner[s] == h -> since[s] = false :: else fi };
	release(a, w);
	goto next_actor;
go_on:
	/* step: its last words and the next start are user code, which may lose the slot. */
	if
	:: doomed[a] ->
		atomic {
			life[a] = ended;
			dead = dead + mail[a]; mail[a] = 0
		}
	:: !doomed[a] && life[a] == failed ->
		atomic {
			if
			:: doomed[a] /* meanwhile */
			:: else -> life[a] = down; event[a] = true
			fi
		}
	:: !doomed[a] && life[a] == down ->
		atomic {
			assert(goUp[a]); goUp[a] = false;
			if
			:: life[a] = alive
			:: startFails > 0 -> startFails--; fail(a)
			fi
		}
	fi;
	goto has;
end:	skip
}

#ifdef HANDOFF
/* The monitor takes the slot of a handler that computes for long. */
proctype Monitor() {
	byte h, s, k;
end_monitor:
	atomic {
		if
		:: since[0] -> s = 0
#if SLOTS > 1
		:: since[1] -> s = 1
#endif
		fi;
		h = owner[s]
	};
#ifdef FAULT_TAKE_SLEEPING
	lose(s, h, k)
#else
	/* Under the pool's lock: a handler that returns meanwhile sees in pop that its slot is gone. */
	atomic {
		if
		:: since[s] && owner[s] == h -> owner[s] = NONE; since[s] = false
		:: else -> goto none
		fi
	};
	pass(s, k);
none:	skip
#endif
}
#endif

#ifdef ABANDON
/* A handler's time is over. */
proctype Timer() {
	byte h, a, s, k;
	bool w;
end_timer:
	atomic {
		if
		:: st[0] == live -> h = 0
		:: st[1] == live -> h = 1
		:: st[2] == live -> h = 2
		fi;
		a = whose[h]
	};
#ifndef FAULT_ABANDON_LATE
	atomic {
		if
		:: st[h] == live && whose[h] == a -> st[h] = gone; running[a]--
		:: else -> goto late
		fi
	};
#else
	atomic { st[h] = gone; if :: running[a] > 0 -> running[a]-- :: else fi };
#endif
	atomic { fail(a) };
	lose(0, h, k);
#ifndef FAULT_ABANDON_TURN
	release(a, w);
#endif
late:	skip
}
#endif

#ifndef NO_SUPERVISOR
proctype Supervisor() {
	byte a;
	bool w;
end_supervisor:
	do
	:: atomic {
			event[0] -> a = 0; event[0] = false
		};
		if
		:: restarts < RESTARTS ->
			restarts++;
			atomic {
				goUp[a] = (life[a] == down);
#ifdef FAULT_UP_NO_WAKE
				w = false
#else
				wake(a, w)
#endif
			};
			push(a, w)
		:: else -> /* it gives up, and its children end */
			atomic { doom(a, w) };
			push(a, w)
		fi
	od
}
#endif

#ifdef KILL
proctype Killer() {
	bool w;
	atomic { killed = true; doom(0, w) };
	push(0, w)
}
#endif

/* Runs when nobody else can. */
proctype Rest() {
	byte a, k, sum;
	timeout;
	d_step {
		for (a : 0 .. ACTORS - 1) {
			assert(turn[a] == idle && !queued[a]);
			assert(mail[a] == 0);
			assert(life[a] == alive || life[a] == ended);
			assert(running[a] == 0)
		}
		assert(accepted == handled + dead);
		assert(!killed || life[0] == ended);
		for (k : 0 .. SLOTS - 1) { assert(asleep[k] == 1 && delivered[k] == NONE && owner[k] != NONE) }
	}
}

init {
	byte k;
	atomic {
		for (k : 0 .. SLOTS - 1) { spare[k] = false; give[k] = k }
		for (k : 0 .. HANDS - 1) { run Hand(k) }
		run Sender(0);
		run Sender(1);
#ifndef NO_SUPERVISOR
		run Supervisor();
#endif
#ifdef HANDOFF
		run Monitor();
#endif
#ifdef ABANDON
		run Timer();
#endif
#ifdef KILL
		run Killer();
#endif
		run Rest()
	}
}
