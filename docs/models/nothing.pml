/*
What TryDequeue says when it finds nothing.

Stands for   See shard.inc; and Scheduler.nothing, anyWork, version, and what take
             does with one shard when nothing says that there is work
             (lockfree/dequeue.go). The look of takeSome before it only adds time.
Left out     See shard.inc; sleeping (parker.pml).
Property     TryDequeue reports false only if there was an instant during the call
             at which no task whose Enqueue had returned was still queued (I6).
Bounds       1 or 2 tenants, inbox of 2 slots, ring of 2 or 1; at the start one
             task in the queue, of an unpolled or a polled tenant (FRESH: none), two
             producers of one task each, another consumer that takes one or two;
             or three producers, and nobody else (THREE).

RUN   fresh       -DFRESH -DTENANTS=2
RUN   unpolled        -DSTEAL=2
RUN   two         -DTENANTS=2
RUN   polled       -DPOLLED
RUN   ring1       -DRING=1 -DSTEAL=2
RUN   put         -DTHREE
FAULT ONE_LOOK           nothing looks once only
FAULT VERSION_LATE       -DSTEAL=2: the version changes after what was taken early is hidden
FAULT NO_VERSION         -DSTEAL=2: nothing does not compare versions
FAULT FREE_FIRST         -DFRESH -DTENANTS=2: the ring is freed at the end of L1
FAULT FREE_BEFORE_READY  -DFRESH -DTENANTS=2: the ring is freed before the shard says ready
FAULT POLLED_FIRST        -DTHREE -DSLOTS: a tenant becomes polled before the shard says ready
*/

#ifndef STEAL
#define STEAL 1
#endif

bool nothing;  /* ghost: there was an instant with nothing since the call began */

#define NONE ((returned & (255 - gone)) == 0)
#define TAKEN nothing = nothing || NONE
#define notify() skip
#include "shard.inc"

proctype Producer(byte u; byte first; byte n) {
	LOCALS;
	byte ticket;
	bool alone;
	do
	:: n == 0 -> break
	:: else ->
		enqueue(u, first);
		atomic { returned = returned | (1 << first); n--; first++ }
	od
}

/* Another consumer, that has the lease already. */
proctype Thief() {
	LOCALS;
	bool got;
	byte n = STEAL;
	do
	:: n > 0 ->  n--; atomic { !lease -> lease = true }; serve()
	:: else -> break
	od
}

proctype Prober() {
	LOCALS;
	bool got, sure, dummy;
	byte before, after;
	nothing = NONE;
	do
	::	sumVersion(before, sure);
		work(); /* the first look */
		if
		:: yes ->
			yes = false;
			atomic { !lease -> lease = true }; serve();
			if
			:: got -> break
			:: else
			fi
		:: !yes && sure ->
#ifndef FAULT_ONE_LOOK
			work(); /* the second */
#endif
			if
			:: yes -> yes = false
			:: else ->
#ifdef FAULT_NO_VERSION
				after = before;
#else
				sumVersion(after, dummy);
#endif
				if
				:: after == before -> assert(nothing); break
				:: else
				fi
			fi
		:: else
		fi;
		atomic { before = 0; after = 0; sure = false; dummy = false }
	od
}

init {
	LOCALS;
	atomic {
		initShard();
#if !defined(FRESH) && !defined(THREE)
		/* Task 3 is queued, what came with it was served. */
		queue[0] = 8; turn[0] = true; returned = 8; ready = true; version = 2;
#ifdef POLLED
		polled[0] = true; ispolled[0] = true;
#endif
#endif
		run Producer(0, 0, 1);
		run Producer(TENANTS - 1, 1, 1);
#ifdef THREE
		run Producer(0, 2, 1);
#else
		run Thief();
#endif
		run Prober()
	}
}
