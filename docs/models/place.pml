/*
A tenant's places, and what is refused for want of one.

Stands for   enter, takeCredit, publish (lockfree/enqueue.go); take, put,
             publishVoid (lockfree/ticket.go); tenant.full (lockfree/full.go);
             Slots.HasRoom, Put, Pop, Free, Holes (lockfree/internal/ring); the
             giving back in serve (lockfree/shard.go).
Left out     How credits are kept: a counter (credit.pml). Announcing: who delivers
             looks by itself (announce.pml). The state, the dead bit.
Property     Room in the word, tasks and calls in between add up to MaxPerTenant
             (I2), and tasks never exceed it. Nobody is refused unless there was
             an instant during the call at which tasks took all places, or all
             credits: not calls that are themselves refused.
Bounds       One tenant with 1 or 2 places, inbox of 2 slots or 1, 1 or 2 credits,
             3 producers of one task each, two deliveries; other
             tenants that hold a credit at the start, and later again (OTHERS).

RUN   credit1
RUN   place1      -DPLACES=1 -DCREDITS=2
RUN   equal       -DCREDITS=2
RUN   inbox1      -DINBOX=1
RUN   others      -DPLACES=1 -DOTHERS
RUN   direct      -DPLACES=1 -DINBOX=1 -DOTHERS
RUN   direct2     -DCREDITS=2 -DINBOX=1 -DOTHERS
FAULT NO_HOLES          full does not look for holes
FAULT NO_DIRECT         -DPLACES=1 -DINBOX=1 -DOTHERS: full does not ask for direct
FAULT NO_COUNT          -DPLACES=1 -DINBOX=1 -DOTHERS: direct says whether, but not how often
FAULT NO_RECHECK        -DPLACES=1 -DOTHERS: full does not compare the word again
FAULT VOID_FIRST        -DPLACES=1 -DOTHERS: publishVoid publishes before it gives the place back
FAULT VOID_KEEPS        publishVoid keeps the place
FAULT NOT_CAS           take is a Load and a Store
FAULT CREDIT_FIRST      -DPLACES=1 -DCREDITS=2: the credit is taken before the place

NO_COUNT is how it was: full reads the word while a call that is refused later
holds the last place; that call gives it back and publishes its slot void; full
finds no hole, and direct not set; put sets direct and takes the place without a
ticket, so that the word is what it was, and full believes it.
*/

#ifndef PLACES
#define PLACES 2
#endif
#ifndef CREDITS
#define CREDITS 1
#endif
#ifndef INBOX
#define INBOX 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 3
#endif
#ifndef DELIVERIES
#define DELIVERIES 2
#endif

byte room = PLACES, tail;     /* tenant.word */
byte freed, head, seq[INBOX]; /* tenant.inbox */
bool taken[INBOX], void_[INBOX];
byte direct;
bool lease;
byte credit = CREDITS;
byte queued;                  /* in drr */
byte placed, credited;        /* ghost: tasks that hold a place, a credit */
byte between;                 /* ghost: calls that hold a place */
bool told[PRODUCERS];         /* ghost: since the call began, there was an instant with all taken */

#define ALLTAKEN (placed == PLACES || credited == CREDITS)
#define NOTE if :: ALLTAKEN -> for (g : 0 .. PRODUCERS - 1) { told[g] = true } g = 0 :: else fi
#define ACCEPTED placed++; credited++; between--; assert(placed <= PLACES); NOTE

inline drain() {
	atomic { upto = tail; at = head };
	do
	:: at == upto -> break
	:: else ->
		atomic {
			k = at % INBOX;
			if
			:: taken[k] && at == head -> taken[k] = false; head++
			:: taken[k] && at != head
			:: !taken[k] && seq[k] == at + 1 ->
				if
				:: void_[k] -> void_[k] = false
				:: else -> queued++
				fi;
				if
				:: at == head -> head++
				:: else -> taken[k] = true
				fi
			:: else
			fi;
			at++; k = 0
		}
	od;
	/* Free */
	at = head;
	do
	:: at == upto -> break
	:: else ->
		atomic {
			if
			:: taken[at % INBOX] -> seq[at % INBOX] = at + 2
			:: else
			fi;
			at++
		}
	od;
	atomic { freed = head; at = 0; upto = 0 }
}

/* isFull is tenant.full; it puts its answer into yes. */
inline isFull() {
	do
	::
		d = direct;
		atomic { yes = (room == 0); w = tail };
		if
		:: !yes -> break
		:: else
		fi;
#ifndef FAULT_NO_HOLES
		at = freed;
		do
		:: at >= w -> break
		:: else ->
			atomic {
				if
				:: seq[at % INBOX] != at + 1 && seq[at % INBOX] != at + 2 -> yes = false; break
				:: else -> at++
				fi
			}
		od;
		at = 0;
#endif
#ifdef FAULT_NO_COUNT
		yes = yes && !direct;
#endif
		if
		:: yes ->
#ifndef FAULT_NO_RECHECK
#if defined(FAULT_NO_DIRECT) || defined(FAULT_NO_COUNT)
			atomic { yes = (room == 0 && tail == w); if :: yes -> break :: else fi }
#else
			yes = (room == 0 && tail == w);
			if
			:: yes && !(d & 1) && direct == d -> break
			:: else
			fi
#endif
#else
			break
#endif
		:: else
		fi
	od;
	atomic { w = 0; d = 0 }
}

/* put, with the lease; done says whether that was it. */
inline put() {
	atomic { !lease -> lease = true };
	drain();
	direct++;
	if
	:: atomic { room == 0 -> done = false }
	:: atomic { room > 0 -> room--; between++ };
		done = true;
		if
		:: atomic { credit > 0 -> credit--; queued++; ACCEPTED }
		:: atomic { credit == 0 -> assert(told[me]) };
			atomic { room++; between-- }
		fi
	fi;
#ifdef FAULT_NO_COUNT
	direct--;
#else
	direct++;
#endif
	lease = false
}

proctype Producer(byte me) {
	byte at, upto, k, w, d, ticket, g;
	bool yes, done;
	atomic { told[me] = ALLTAKEN };
#ifdef FAULT_CREDIT_FIRST
	if
	:: atomic { credit > 0 -> credit-- }
	:: atomic { credit == 0 -> assert(told[me]) }; goto out
	fi;
#endif
	do
	::
#ifdef FAULT_NOT_CAS
		atomic { ticket = tail; w = room };
		if
		:: w > 0 && ticket - freed < INBOX -> atomic { room = w - 1; tail = ticket + 1; between++; w = 0 };
#else
		if /* E1 */
		:: atomic { room > 0 && tail - freed < INBOX -> ticket = tail; tail++; room--; between++ };
#endif
			if /* E2 */
#ifdef FAULT_CREDIT_FIRST
			:: atomic { ACCEPTED };
#else
			:: atomic { credit > 0 -> credit--; ACCEPTED };
#endif
				seq[ticket % INBOX] = ticket + 1 /* E4 */
#ifndef FAULT_CREDIT_FIRST
			:: atomic { credit == 0 -> assert(told[me]) };
				/* publishVoid */
#ifdef FAULT_VOID_FIRST
				atomic { void_[ticket % INBOX] = true; seq[ticket % INBOX] = ticket + 1 };
				atomic { room++; between-- }
#else
#ifndef FAULT_VOID_KEEPS
				atomic { room++; between-- };
#endif
				atomic { void_[ticket % INBOX] = true; seq[ticket % INBOX] = ticket + 1 }
#endif
#endif
			fi;
			break
		:: atomic { room > 0 && tail - freed >= INBOX -> skip };
			put();
			if
			:: done -> break
			:: else
			fi
		:: room == 0 ->
			isFull();
			if
			:: yes ->
#ifdef FAULT_CREDIT_FIRST
				credit++;
#endif
				assert(told[me]); /* refused */
				break
			:: else
			fi
		fi
	od;
out:
	skip
}

proctype Server() {
	byte at, upto, k, n = DELIVERIES, g;
end_serving:
	do
	:: n > 0 && (head != tail || queued > 0) ->
		atomic { !lease -> lease = true };
		drain();
		if
		:: queued > 0 ->
			n--; queued--;
			atomic { room++; placed-- };
			atomic { credit++; credited-- }
		:: else
		fi;
		lease = false
	:: n == 0 -> break
	od
}

#ifdef OTHERS
proctype Others() {
	byte g;
	atomic { credit++; credited-- };
end_none:
	atomic { credit > 0 -> credit--; credited++; NOTE };
	atomic { credit++; credited-- }
}
#endif

proctype Rest() {
	timeout -> assert(room + placed == PLACES && between == 0 && credit + credited == CREDITS)
}

init {
	byte k;
	atomic {
		for (k : 0 .. INBOX - 1) { seq[k] = k }
		for (k : 0 .. PRODUCERS - 1) { run Producer(k) }
		run Server();
#ifdef OTHERS
		credit--; credited++;
		run Others();
#endif
		run Rest()
	}
}
