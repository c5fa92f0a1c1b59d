/*
The announcement protocol and the hand-over of the lease.

Stands for   See shard.inc. Dequeue is take with one look, and Parker with one
             sleeper (parker.pml has the whole of it). Item.Done.
Left out     See shard.inc.
Property     No task is forgotten: at rest everything that was accepted has been
             delivered (or cancelled), by one consumer that sleeps when it finds nothing.
             Whenever the lease is free, a polled tenant has a queued task, and the
             shard is ready or the tenant is at its limit (I4); nothing is owed:
             the word says what is known under the lease. No task is delivered or
             queued twice.
Bounds       1 or 2 tenants, inbox and ring of 1 or 2 slots, 4 tasks of 2
             producers (SMALL: 3, TINY: 2), a consumer that sleeps; one that tries
             once (OTHER); one delivery in flight per tenant (INFLIGHT); one that
             cancels the two tasks that a polled tenant starts with (CANCEL).

RUN   one
RUN   slots       -DSLOTS
RUN   ring1       -DRING=1
RUN   inbox1      -DINBOX=1
RUN   two         -DTENANTS=2 -DRING=1
RUN   other       -DTINY -DOTHER
RUN   inflight    -DINFLIGHT -DSMALL
RUN   cancel      -DCANCEL
FAULT L3_NO_LOOK         -DCANCEL: the inbox is not looked at again after the tenant became unpolled
FAULT L3_LOOK_FIRST      -DCANCEL: it is looked at before
FAULT VISIT_NO_LOOK      the same at the end of a visit
FAULT VISIT_LOOK_FIRST   it is looked at before
FAULT UNLOCK_NO_FLUSH    unlock does not add what is owed
FAULT OWE_LOST           -DTENANTS=2 -DRING=1: what one tenant is owed is lost when another one is served
FAULT LOOK_PREFIX        the second look ends at a hole
FAULT NOT_ALONE          a task comes alone though the inbox is not empty
FAULT PIGGYBACK_SILENT   piggyback does not notify
FAULT E5_FIRST           -DSLOTS: the producer looks at polled before it publishes
FAULT ANNOUNCE_SILENT    announce does not notify
FAULT FULL_RING_SKIPS    -DRING=1: a full ring is ignored
FAULT UNLOCK_SILENT      -DRING=1: unlock does not notify
FAULT NO_C2              the consumer sleeps without looking again
*/

#define TAKEN skip
#include "shard.inc"

bool parked, bell;
#ifdef INFLIGHT
bool undone[TENANTS];
#endif
#ifdef CANCEL
#define ALL 7
#elif defined(TINY)
#define ALL 3
#elif defined(SMALL)
#define ALL 7
#else
#define ALL 15
#endif

inline notify() {
	atomic {
		if
		:: parked -> parked = false; bell = true
		:: else
		fi
	}
}

proctype Producer(byte u; byte first; byte n) {
	LOCALS;
	byte ticket;
	bool alone;
	do
	:: n == 0 -> break
	:: else ->
		enqueue(u, first);
		atomic { n--; first++ }
	od
}

proctype Consumer() {
	LOCALS;
	bool got;
	do
	::	work();
		if
		:: yes -> yes = false; atomic { !lease -> lease = true }; serve(); got = false
		:: else ->
			parked = true; /* C1 */
#ifndef FAULT_NO_C2
			work();        /* C2 */
#endif
			if
			:: yes ->
				atomic { yes = false; parked = false; bell = false }
			:: else ->
end_asleep:
				atomic { bell -> bell = false }
			fi
		fi
	od
}

#ifdef OTHER
proctype Other() {
	LOCALS;
	bool got;
	work();
	if
	:: yes -> yes = false; atomic { !lease -> lease = true }; serve()
	:: else
	fi
}
#endif

#ifdef CANCEL
proctype Canceller() {
	LOCALS;
	cancel(0, 0);
	cancel(0, 1)
}
#endif

#ifdef INFLIGHT
proctype Done() {
	LOCALS;
end_none:
	do
	:: undone[0] ->
		lock();
		atomic { undone[0] = false; blocked[0] = false; turn[0] = turn[0] || queue[0] };
		unlock()
	od
}
#endif

proctype Rest() { timeout -> assert(gone == ALL); assert(!lease) }

init {
	LOCALS;
	atomic {
		initShard();
#ifdef CANCEL
		queue[0] = 3; turn[0] = true; ready = true; version = 2;
		polled[0] = true; ispolled[0] = true;
		run Producer(0, 2, 1);
#elif defined(TINY)
		run Producer(0, 0, 1);
		run Producer(0, 1, 1);
#elif defined(SMALL)
		run Producer(0, 0, 2);
		run Producer(0, 2, 1);
#else
#if TENANTS > 1
		run Producer(0, 0, 3);
		run Producer(1, 3, 1);
#else
		run Producer(0, 0, 3);
		run Producer(0, 3, 1);
#endif
#endif
		run Consumer();
#ifdef OTHER
		run Other();
#endif
#ifdef CANCEL
		run Canceller();
#endif
#ifdef INFLIGHT
		run Done();
#endif
		run Rest()
	}
}
