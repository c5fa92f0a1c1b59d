/*
A tenant's places, and what is refused for want of one.

Stands for   enter, takeCredit, publish (lockfree/enqueue.go); admitBatch
             (lockfree/batch.go); take, piggybacks, put, giveBack, publishVoid
             (lockfree/ticket.go); enterDirect (lockfree/direct.go), leaveBehind and
             settle (lockfree/drain.go), with PAST; tenant.full (lockfree/full.go);
             Slots.Put, Next, Holes (lockfree/internal/ring); owe, flush, endVisit and
             the giving back in serve (lockfree/shard.go).
Left out     How credits are kept: a counter (credit.pml). Announcing: who delivers
             looks by itself (announce.pml); of the activation ring, only what
             came alone is there, one message at most. The state, the dead bit, the growing
             of an inbox. A batch ends with the tasks of its first message.
Property     Room in the word, places that it is behind by, tasks and calls in between
             add up to MaxPerTenant (I2), and tasks never exceed it. A word is behind
             only while there are tasks (I17). Nobody is refused unless there was
             an instant during the call at which tasks took all places, or all
             credits: not calls that are themselves refused.
Bounds       One tenant with 1 or 2 places, inbox of 2 slots or 1, 1 or 2 credits,
             3 producers of one task each, or the first one of a batch of two
             (BATCH), two deliveries; other tenants that hold a credit at the start,
             and later again (OTHERS).

RUN   credit1
RUN   slots       -DSLOTS
RUN   place1      -DPLACES=1 -DCREDITS=2
RUN   equal       -DCREDITS=2
RUN   inbox1      -DINBOX=1
RUN   others      -DPLACES=1 -DOTHERS
RUN   direct      -DPLACES=1 -DINBOX=1 -DOTHERS
RUN   direct2     -DCREDITS=2 -DINBOX=1 -DOTHERS
RUN   batch       -DBATCH -DCREDITS=1 -DOTHERS
RUN   batch2      -DBATCH -DCREDITS=2 -DOTHERS
RUN   hole        -DHOLE
RUN   past        -DPAST -DCREDITS=2
RUN   past1       -DPAST -DPLACES=1 -DINBOX=1
RUN   pastbox     -DPAST -DCREDITS=2 -DINBOX=1
FAULT NO_HOLES          full does not look for holes
FAULT NO_DIRECT         -DHOLE: full does not ask for direct
FAULT NO_COUNT          -DHOLE: direct says whether, but not how often
FAULT BATCH_LATE        -DBATCH -DCREDITS=2 -DOTHERS: a batch publishes before it gives back the places that it has no credits for
FAULT NO_FLUSH          slots are not given back at the end of a hold
FAULT NO_RECHECK        -DPLACES=1 -DOTHERS: full does not compare the word again
FAULT VOID_FIRST        -DPLACES=1 -DOTHERS: publishVoid publishes before it gives the place back
FAULT VOID_KEEPS        publishVoid keeps the place
FAULT NOT_CAS           take is a Load and a Store
FAULT PAST_NO_TICKET    -DPAST -DPLACES=1 -DOTHERS: a task past the inbox takes its place without a ticket
FAULT PAST_TWICE        -DPAST -DCREDITS=2: what was missing is said again
FAULT PAST_IDLE         -DPAST -DCREDITS=2: the word of a tenant without tasks is behind
FAULT CREDIT_FIRST      -DPLACES=1 -DCREDITS=2: the credit is taken before the place

HOLE starts with an inbox of two slots whose first ticket is drawn, by a call that
has its credit and will write its task. NO_COUNT is how it was: full reads the word
while a call that is refused later holds the last place and the last slot; that call
gives the place back and publishes its slot void; put drains the inbox, which is as
full as before for the sake of the first slot, sets direct and takes the place
without a ticket, so that the word is what it was. Now the first slot is written;
full finds no hole, and believes the word.
*/

#ifdef HOLE
#define CREDITS 2
#define OTHERS
#endif
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

byte room = PLACES, tail, used; /* tenant.word */
byte head, seq[INBOX];        /* tenant.inbox */
bool taken[INBOX];
byte many[INBOX];             /* the tasks of the message; void: 0 */
byte brought;                 /* the tasks of a message that came alone, in the activation ring */
byte owed;                    /* slots that were taken and not given back */
byte direct;
bool behind;                  /* tenant.behind: the word says that the last ticket's slot is used */
byte lag;                     /* tenant.at: and not that so many places have come free */
bool lease;
byte credit = CREDITS;
byte queued;                  /* in drr */
byte placed, credited;        /* ghost: tasks that hold a place, a credit */
byte between;                 /* ghost: calls that hold a place */
bool told[PRODUCERS];         /* ghost: since the call began, there was an instant with all taken */

#define ALLTAKEN (placed == PLACES || credited == CREDITS)
#define NOTE if :: ALLTAKEN -> for (g : 0 .. PRODUCERS - 1) { told[g] = true } g = 0 :: else fi
#define ACCEPTED(n) placed = placed + n; credited = credited + n; between = between - n; assert(placed <= PLACES); NOTE

#ifdef SLOTS
#define ALONE false
#else
#define ALONE (used == 0)
#endif

/* settle brings a word that is behind up to date. */
#ifdef FAULT_PAST_TWICE
#define SETTLE used = used - behind; room = room + lag; behind = false
#else
#define SETTLE used = used - behind; room = room + lag; behind = false; lag = 0
#endif

/* publish is E4 for n tasks. */
inline publish(n) {
	if
	:: alone -> atomic { assert(!brought); brought = n; alone = false }
	:: else -> atomic { many[ticket % INBOX] = n; seq[ticket % INBOX] = ticket + 1 }
	fi
}

/* drain is takeIn and then drainAll. */
inline drain() {
	atomic { /* unload */
		if
		:: brought ->
			queued = queued + brought; brought = 0;
			head++; owed++;
			do
			:: taken[head % INBOX] -> taken[head % INBOX] = false; head++; owed++
			:: else -> break
			od
		:: else
		fi
	};
	atomic { upto = tail; at = head };
	do
	:: at == upto -> break
	:: else ->
		atomic {
			k = at % INBOX;
			if
			:: taken[k] && at == head -> taken[k] = false; head++; owed++
			:: taken[k] && at != head
			:: !taken[k] && seq[k] == at + 1 ->
				queued = queued + many[k]; many[k] = 0;
				if
				:: at == head -> head++; owed++
				:: else -> taken[k] = true
				fi
			:: else
			fi;
			at++; k = 0
		}
	od;
	atomic { at = 0; upto = 0 }
	if /* endDrain */
	:: owed -> atomic { SETTLE }
	:: else
	fi
}

/* flush gives back slots, and p places of tasks that were delivered. */
inline flush(p) {
	atomic { used = used - owed; owed = 0; room = room + p; placed = placed - p }
}

/* isFull is tenant.full; it puts its answer into yes. */
inline isFull() {
	do
	::
		d = direct;
		atomic { yes = (room == 0); w = tail; u = used };
		if
		:: !yes -> break
		:: else
		fi;
#ifndef FAULT_NO_HOLES
		at = w - u;
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
		if
		:: !yes && brought -> atomic { !lease -> lease = true }; drain(); flush(0); lease = false
#ifdef PAST
		:: !yes -> atomic { !lease -> lease = true }; atomic { SETTLE }; lease = false
#endif
		:: else
		fi;
#endif
#ifdef FAULT_NO_COUNT
		yes = yes && !direct;
#endif
		if
		:: yes ->
#ifndef FAULT_NO_RECHECK
#if defined(FAULT_NO_DIRECT) || defined(FAULT_NO_COUNT)
			atomic { yes = (room == 0 && tail == w && used == u); if :: yes -> break :: else fi }
#else
			yes = (room == 0 && tail == w && used == u);
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
	atomic { w = 0; d = 0; u = 0 }
}

/* put, with the lease; done says whether that was it. */
inline put() {
	atomic { !lease -> lease = true };
	drain();
	flush(0);
	atomic { SETTLE };
	direct++;
	if
	:: atomic { room == 0 -> done = false }
	:: atomic { room > 0 -> room--; between++ };
		done = true;
		if
		:: atomic { credit > 0 -> credit--; queued++; ACCEPTED(1) }
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
	byte at, upto, k, w, d, u, n, got, ticket, g;
	bool yes, done, alone;
#ifdef PAST
	bool tried;
#endif
#ifdef BATCH
#define TASKS (me == 0 -> 2 : 1)
#else
#define TASKS 1
#endif
#define PLACESFOR (room < TASKS -> room : TASKS)
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
		atomic { ticket = tail; w = room; u = used };
		if
		:: w > 0 && u < INBOX -> atomic { n = 1; alone = false; room = w - 1; tail = ticket + 1; used = u + 1; between++; w = 0; u = 0 };
#else
		if /* E1 */
		:: atomic { room > 0 && used < INBOX -> alone = ALONE; ticket = tail; tail++; used++; n = PLACESFOR; room = room - n; between = between + n };
#endif
			if /* E2 */
#ifdef FAULT_CREDIT_FIRST
			:: atomic { got = 1; ACCEPTED(1) };
#else
			:: atomic { credit > 0 -> got = (credit < n -> credit : n); credit = credit - got; ACCEPTED(got) };
#endif
#ifdef FAULT_BATCH_LATE
				publish(got);
				atomic { room = room + n - got; between = between - (n - got) }
#else
				if
				:: got < n -> atomic { room = room + n - got; between = between - (n - got) } /* giveBack */
				:: else
				fi;
				publish(got) /* E4 */
#endif
#ifndef FAULT_CREDIT_FIRST
			:: atomic { credit == 0 -> assert(told[me]) };
				/* publishVoid */
#ifdef FAULT_VOID_FIRST
				seq[ticket % INBOX] = ticket + 1;
				atomic { room = room + n; between = between - n }
#else
#ifndef FAULT_VOID_KEEPS
				atomic { room = room + n; between = between - n };
#endif
				seq[ticket % INBOX] = ticket + 1
#endif
#endif
			fi;
			break
#ifdef PAST
		:: atomic { !tried && !lease && room > 0 && used <= 1 -> lease = true; tried = true };
			got = 0;
			if
#ifdef FAULT_PAST_NO_TICKET
			:: atomic { room > 0 && used == behind -> SETTLE; room--; between++ };
#else
			:: atomic { room > 0 && used == behind -> SETTLE; tail++; used++; room--; between++ };
#endif
				if
				:: atomic { credit > 0 -> credit--; got = 1; ACCEPTED(1) };
#ifdef FAULT_PAST_NO_TICKET
					queued++
#else
					atomic { head++; queued++; behind = true }
#endif
				:: atomic { credit == 0 };
#ifdef FAULT_PAST_NO_TICKET
					atomic { room++; between-- }
#else
					atomic { head++; used--; room++; between-- }
#endif
				fi
			:: else
			fi;
			lease = false;
			if
			:: got -> break
			:: else
			fi
#endif
		:: atomic { room > 0 && used >= INBOX -> skip };
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
			if
#ifdef FAULT_PAST_IDLE
			:: behind -> atomic { lag++; placed-- }; flush(0)
#else
			:: behind && queued -> atomic { lag++; placed-- }; flush(0)
#endif
			:: else -> atomic { SETTLE; used = used - owed; owed = 0; room++; placed-- }
			fi;
			atomic { credit++; credited-- }
		:: else
#ifndef FAULT_NO_FLUSH
			-> flush(0)
#endif
		fi;
		assert(used == tail - head + behind && (queued || !behind));
		lease = false
	:: n == 0 -> break
	od
}

#ifdef HOLE
proctype Writer() { atomic { many[0] = 1; seq[0] = 1 } }
#endif

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
	timeout -> assert(room + lag + placed == PLACES && between == 0 && credit + credited == CREDITS && used == tail - head + behind)
}

init {
	byte k;
	atomic {
		for (k : 0 .. INBOX - 1) { seq[k] = k }
#ifdef HOLE
		tail = 1; used = 1; room--; placed++; credit--; credited++;
		run Writer();
#endif
		for (k : 0 .. PRODUCERS - 1) { run Producer(k) }
		run Server();
#ifdef OTHERS
		credit--; credited++;
		run Others();
#endif
		run Rest()
	}
}
