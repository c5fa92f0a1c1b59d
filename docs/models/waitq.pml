/*
Producers that wait for capacity: internal/core/waitq/waitq.go.

Stands for   Queue.Enter, Leave, Wait, Released, Pass, wakeList; await in
             internal/core/serve/overflow.go; admit, send, credited in
             lockfree/admit.go and enqueue.go (places and credits only); the
             giving back in serve and unlock (lockfree/serve.go, hold.go).
Left out     Threshold (everybody in that line is woken each time); the retry
             timer; how credits are kept (credit.pml) and places refused: here one is refused if there is none and no call in
             between holds one.
Property     At rest no producer waits for room that is free (I10). Each wake-up
             has a receiver. Everybody whom nothing stands in the way of gets in.
Bounds       3 producers of one task each, 2 tenants with one place each or one
             with two, one or two credits, with a task that holds one at the
             start; one producer whose ctx may be done at any time; one whose
             ticket may be in use by somebody else.

RUN   global
RUN   tenant      -DCREDITS=3 -DPLACES=1 -DONE_TENANT
RUN   causes      -DCREDITS=2 -DPLACES=1
RUN   cancel      -DCREDITS=2 -DPLACES=1 -DCANCEL
RUN   ticket      -DCREDITS=2 -DPLACES=1 -DINUSE
RUN   others      -DPRODUCERS=2 -DCREDITS=2 -DPLACES=1 -DCANCEL -DOTHERS
RUN   both        -DCREDITS=1 -DPLACES=2 -DCANCEL -DINUSE
FAULT NO_RETRY       a producer does not try again before it sleeps (P2)
FAULT LOOK_FIRST     Released is asked before the place is given back (R2 before R1)
FAULT LEAVE_KEEPS    -DCREDITS=2 -DPLACES=1 -DCANCEL: Leave of one that was woken passes nothing on
FAULT CAUSE_KEEPS    -DPRODUCERS=2 -DCREDITS=2 -DPLACES=1 -DCANCEL -DOTHERS: who was woken and waits for another cause passes nothing on
FAULT NO_PASS        -DINUSE: a producer that was woken and fails passes nothing on
FAULT ONE_LINE       -DCREDITS=2 -DPLACES=1: Released wakes one of the scheduler's line, or else one of the tenant's
*/

#ifndef CREDITS
#define CREDITS 1
#endif
#ifndef PLACES
#define PLACES 3
#endif
#ifndef PRODUCERS
#define PRODUCERS 3
#endif

mtype = { global, tenant, none, inUse };

byte credit = CREDITS;
byte room[2] = PLACES;
byte between[2];        /* calls between E1 and E4, for tenant.full */
byte queue[2];
byte waiting;           /* Queue.waiting */
bool mu;
byte seq;               /* Queue.seq */
bool queued[PRODUCERS], wake[PRODUCERS], cancelled[PRODUCERS];
byte order[PRODUCERS];  /* Waiter.seq */
mtype cause[PRODUCERS] = none;
byte left = PRODUCERS + 1; /* ghost: tasks that are still to be delivered */

#ifdef ONE_TENANT
#define TENANT(p) 0
#else
#define TENANT(p) (p / 2) /* 0, 0, 1 */
#endif

inline lock() { atomic { !mu -> mu = true } }

/* wakeList wakes the first of a line. Under mu. */
inline wakeFirst(c, ten) {
	atomic {
		first = 255; i = 0;
		do
		:: i == PRODUCERS -> break
		:: i < PRODUCERS ->
			if
			:: queued[i] && cause[i] == c && (c == global || TENANT(i) == ten) &&
				(first == 255 || order[i] < order[first]) -> first = i
			:: else
			fi;
			i++
		od;
		if
		:: first != 255 ->
			queued[first] = false; waiting--;
			assert(!wake[first]); wake[first] = true
		:: else
		fi;
		first = 0; i = 0
	}
}

inline released(ten) {
	if
	:: waiting == 0
	:: else ->
		lock();
#ifdef FAULT_ONE_LINE
		atomic {
			was = waiting;
			wakeFirst(global, ten);
			if
			:: was == waiting -> wakeFirst(tenant, ten)
			:: else
			fi;
			was = 0
		};
#else
		wakeFirst(global, ten);
		wakeFirst(tenant, ten);
#endif
		mu = false
	fi
}

/* admit puts into answer: none for admitted, or what stands in the way. */
inline admit() {
	answer = none;
	if
	:: credit == 0 -> answer = global
	:: else ->
		if
#ifdef INUSE
		:: me == 0 -> answer = inUse
#endif
		:: true ->
			if
			:: atomic { room[ten] > 0 -> room[ten]--; between[ten]++ }; /* E1 */
				if
				:: atomic { credit > 0 -> credit--; queue[ten]++; between[ten]-- } /* E2, E4 */
				:: atomic { credit == 0 -> answer = global };
					/* publishVoid */
#ifdef FAULT_LOOK_FIRST
					released(ten);
#endif
					room[ten]++;
					between[ten]--;
					released(ten)
				fi
			:: atomic { room[ten] == 0 && between[ten] == 0 ->
				answer = (credit == 0 -> global : tenant) }
			fi
		fi
	fi
}

inline enter(c) {
	lock();
	if
	:: order[me] == 0 -> atomic { seq++; order[me] = seq }
	:: order[me] != 0 && cause[me] != c ->
#ifndef FAULT_CAUSE_KEEPS
		if
		:: cause[me] == global -> wakeFirst(global, ten)
		:: else -> wakeFirst(tenant, ten)
		fi
#endif
	:: else
	fi;
	atomic { cause[me] = c; queued[me] = true; waiting++ };
	mu = false
}

inline pass() {
	if
	:: cause[me] == global -> wakeFirst(global, ten)
	:: else -> wakeFirst(tenant, ten)
	fi
}

inline leave() {
	lock();
	if
	:: queued[me] -> atomic { queued[me] = false; waiting-- }
	:: else ->
		atomic { assert(wake[me]); wake[me] = false };
#ifndef FAULT_LEAVE_KEEPS
		pass()
#endif
	fi;
	mu = false
}

proctype Producer(byte me) {
	byte i, first, ten, was;
	mtype lacks, answer;
	ten = TENANT(me);
	admit();
	lacks = answer;
	do
	:: lacks == none -> break
	:: lacks == inUse ->  left--; break
	:: else ->
		enter(lacks); /* P1 */
#ifndef FAULT_NO_RETRY
		admit();     /* P2 */
#else
		answer = lacks;
#endif
		if
		:: answer != lacks ->
			leave();
			lacks = answer
		:: else ->
			/* P3 */
end_waits:
			if
			:: atomic { wake[me] -> wake[me] = false };
				admit();
				lacks = answer;
				if
				:: lacks == inUse ->
#ifndef FAULT_NO_PASS
					lock(); pass(); mu = false
#endif
				:: else
				fi
			:: cancelled[me] -> leave(); left--; break
			fi
		fi
	od
}

/* serve gives back the place, then the credit, then looks. */
inline give() {
#ifdef FAULT_LOOK_FIRST
	released(ten);
#endif
	room[ten]++;
	credit++;
	left--;
#ifndef FAULT_LOOK_FIRST
	released(ten)
#endif
}

proctype Server() {
	byte i, first, ten, was;
	do
	:: atomic { queue[0] > 0 -> queue[0]--; ten = 0 } give()
	:: atomic { queue[1] > 0 -> queue[1]--; ten = 1 } give()
	:: left == 0 -> break
	od
}

#ifdef OTHERS
/* Tasks of another tenant take all credits, and leave. */
proctype Others() {
	byte i, first, ten = 1, was, n;
	atomic { n = credit; credit = 0 };
	do
	:: n > 0 -> credit++; released(ten); n--
	:: else -> break
	od
}
#endif

#ifdef CANCEL
proctype Canceller() { if :: cancelled[1] = true :: skip fi }
#endif

proctype Rest() {
	byte p;
	timeout ->
	for (p : 0 .. PRODUCERS - 1) {
		assert(!(queued[p] && credit > 0 && room[TENANT(p)] > 0));
		assert(!queued[p] && !wake[p]) /* in the end everything is delivered */
	}
	assert(left == 0 && waiting == 0)
}

init {
	atomic {
		credit--; room[0]--; queue[0]++;
		run Producer(0); run Producer(1);
#if PRODUCERS > 2
		run Producer(2);
#endif
#ifdef OTHERS
		run Others();
#endif
		run Server();
#ifdef CANCEL
		run Canceller();
#endif
		run Rest()
	}
}
