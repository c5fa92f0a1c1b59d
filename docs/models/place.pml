/*
A tenant's places, and what is refused for want of one.

Stands for   enter, takeCredit, publish (lockfree/enqueue.go); admitBatch,
             publishBatch (lockfree/batch.go); take, piggybacks, put, publishVoid,
             publishAll (lockfree/reserve.go); enterDirect (lockfree/direct.go) and
             batchDirect, with PAST; tenant.full (lockfree/full.go); takeAll, unload,
             endDrain, owe, freed, empty, push, leaveBehind, catchUp, settle, flush
             (lockfree/drain.go); Fill (lockfree/shard.go), endVisit (lockfree/serve.go),
             servedOne (lockfree/fastpath.go); Inbox.Put, PutVoid, Publish, Run, Next, Skip,
             Holes, Taker.Free, Pass (lockfree/internal/inbox); Queue.Lend, Lent,
             Spill (drr).
Left out     How credits are kept: a counter (credit.pml). Announcing: who delivers
             looks by itself (announce.pml); of the activation ring, only what
             came alone is there, one task at most. The state, the dead and the
             polled bit, the growing of an inbox. A batch ends with the tasks of its
             first tickets.
Property     Room in the word, places that it is behind by, tasks and calls in between
             add up to MaxPerTenant (I2), and tasks never exceed it. A word is behind
             only while there are tasks (I17). Nobody is refused unless there was
             an instant during the call at which tasks took all places, or all
             credits: not calls that are themselves refused. No ticket is drawn for
             a slot whose task is neither delivered nor copied. When nothing is owed,
             the slots in use are those of the tickets that are out, and those that are
             lent, whose tickets come right before. At rest no slot waits for its
             task, and no task is lost, or there twice. A task comes behind those
             that were published before its ticket was drawn, and those before it in
             its batch (ORDER).
Bounds       One tenant with 1 to 3 places, inbox of 1 to 3 slots, 1 to 3 credits,
             3 producers of one task each, or the first one of a batch of two
             (BATCH), two deliveries, or four; other tenants that hold a credit at the
             start, and later again (OTHERS). A task that comes in turn is lent, or need
             not be (MIXED): it is not plain, or is published between two looks; and
             Fill copies what is lent, or does not.

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
RUN   pastbatch   -DPAST -DBATCH -DCREDITS=2
RUN   lent        -DMIXED -DSLOTS -DBATCH -DPLACES=3 -DCREDITS=2 -DDELIVERIES=4
RUN   lent1       -DMIXED -DSLOTS -DINBOX=1 -DCREDITS=2 -DOTHERS
RUN   lentothers  -DMIXED -DBATCH -DPLACES=3 -DCREDITS=2 -DOTHERS
RUN   order       -DORDER -DMIXED -DBATCH -DPLACES=3 -DCREDITS=3
RUN   orderpast   -DORDER -DMIXED -DBATCH -DPLACES=3 -DCREDITS=3 -DINBOX=3 -DPAST
FAULT NO_HOLES          full does not look for holes
FAULT NO_DIRECT         -DHOLE: full does not ask for direct
FAULT NO_COUNT          -DHOLE: direct says whether, but not how often
FAULT BATCH_LATE        -DBATCH -DCREDITS=2 -DOTHERS: a batch publishes its void slots before it gives back their places
FAULT BATCH_FORGETS     -DBATCH: a batch does not publish the slots that it has no credits for
FAULT NO_FLUSH          slots are not given back at the end of a hold
FAULT NO_RECHECK        -DPLACES=1 -DOTHERS: full does not compare the word again
FAULT VOID_FIRST        -DPLACES=1 -DOTHERS: publishVoid publishes before it gives the place back
FAULT VOID_KEEPS        publishVoid keeps the place
FAULT NOT_CAS           take is a Load and a Store
FAULT PAST_NO_TICKET    -DPAST -DPLACES=1 -DOTHERS: a task past the inbox takes its place without a ticket
FAULT PAST_TWICE        -DPAST -DCREDITS=2: what was missing is said again
FAULT PAST_IDLE         -DPAST -DCREDITS=2: the word of a tenant without tasks is behind
FAULT PAST_LENT         -DPAST -DCREDITS=2: a task goes past the inbox while slots are lent
FAULT CREDIT_FIRST      -DPLACES=1 -DCREDITS=2: the credit is taken before the place
FAULT LENT_FREED        -DBATCH -DPLACES=3 -DCREDITS=2: a drain gives back what it lends
FAULT READ_LATE         -DBATCH -DPLACES=3 -DCREDITS=3: a lent slot is given back before its task is read
FAULT SPILL_TWICE       -DBATCH -DPLACES=3 -DCREDITS=2: to copy what is lent gives it back, and so does what comes next
FAULT EMPTY_KEEPS       -DBATCH -DPLACES=3 -DCREDITS=2: empty does not give back what it has copied
FAULT PUSH_KEEPS        -DBATCH -DPLACES=3 -DCREDITS=3: nor does the push of a task past the inbox
FAULT LEND_BEHIND       -DBATCH -DPLACES=3 -DCREDITS=2: what comes in turn is lent though something was taken behind the hole
FAULT VOID_NO_SPILL     -DBATCH -DPLACES=3 -DCREDITS=2: a void slot is passed while the ones before it are lent
FAULT HOLE_NO_SPILL     -DORDER -DBATCH -DPLACES=3 -DCREDITS=3 -DINBOX=3: so is a hole
FAULT LENT_FIRST        -DORDER -DBATCH -DCREDITS=2: what is lent is delivered before what was copied
FAULT NO_LOOK_BACK      -DORDER -DBATCH -DCREDITS=2: what is taken behind a hole may be behind the task before it in its batch

HOLE starts with an inbox of two slots whose first ticket is drawn, by a call that
has its credit and will write its task. NO_COUNT is how it was: full reads the word
while a call that is refused later holds the last place and the last slot; that call
gives the place back and publishes its slot void; put drains the inbox, which is as
full as before for the sake of the first slot, sets direct and takes the place
without a ticket, so that the word is what it was. Now the first slot is written;
full finds no hole, and believes the word.

NO_LOOK_BACK: a drain looks at the first slot of a batch that is being published, and
finds a hole; now the batch publishes two, and the drain takes the second one. It has to
look back from there, for as long as the slot before is published by now.

PUSH_KEEPS: after enterDirect has passed its ticket by, other tasks come into slots, and
are announced; it takes them in, which lends their slots; its own task, which goes behind
them, makes drr copy them, and nobody gives the slots back before the next owe.
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
#ifdef BATCH
#define TASKS (me == 0 -> 2 : 1)
#else
#define TASKS 1
#endif

#define EMPTY 0
#define VOID  255

byte room = PLACES, tail, used; /* tenant.word */
byte mark[INBOX];             /* tenant.inbox */
byte what[INBOX];             /* the task in the slot, as long as it has to stay there */
byte head, freed, ahead;      /* tenant.taker; ahead: so many were taken behind the hole at head */
byte brought;                 /* the task that came alone, in the activation ring */
byte owed, owedroom;          /* shard.owed: slots and places that came free */
byte direct;
bool behind;                  /* tenant.behind: the word says that the last ticket's slot is used */
byte lag;                     /* tenant.at: and not that so many places have come free */
bool lease;
byte credit = CREDITS;
byte queued;                  /* in drr, in its own slots */
byte lent, front;             /* behind those, in lent slots, and the ticket of the first one */
byte placed, credited;        /* ghost: tasks that hold a place, a credit */
byte between;                 /* ghost: places that calls hold */
bool told[PRODUCERS];         /* ghost: since the call began, there was an instant with all taken */

#define ALLTAKEN (placed == PLACES || credited == CREDITS)
#define NOTE if :: ALLTAKEN -> for (g : 0 .. PRODUCERS - 1) { told[g] = true } g = 0 :: else fi
#define ACCEPTED(n) placed = placed + n; credited = credited + n; between = between - n; assert(placed <= PLACES); NOTE
#define MIN(a, b) (a < b -> a : b)
#define PUBLISHED(t) (mark[(t) % INBOX] == (t) + 1)
#define TAKEN(t) (mark[(t) % INBOX] == (t) + 2)

/*
With ORDER tasks have numbers. ENTER: the tasks of a call are to come behind all that was
said before, and one behind the other. A task is SAID when it is published, or queued.
*/
#ifdef ORDER
#define IDS (PRODUCERS + 2)
#define ID(i) ((me == 0 -> 1 : me + 2) + i)
byte line[PLACES];            /* the tasks that queued counts, oldest first */
byte before[IDS];             /* ghost: tasks to be delivered before this one, a bit each */
byte said;                    /* ghost: and before one that comes now */
#define ENTER before[ID(0)] = said; if :: TASKS > 1 -> before[ID(1)] = said | 1 << ID(0) :: else fi
#define SAID(x) said = said | 1 << x
#define QUEUE(x) line[queued] = x; queued++
#define UNQUEUE \
	queued--; DELIVERED(line[0]); \
	for (k : 1 .. PLACES - 1) { line[k - 1] = line[k] } \
	line[PLACES - 1] = 0; k = 0
#define DELIVERED(x) \
	assert(!before[x]); said = said & ~(1 << x); \
	for (k : 0 .. IDS - 1) { before[k] = before[k] & ~(1 << x) } \
	k = 0
#else
#define ID(i) 1
#define ENTER skip
#define SAID(x) skip
#define QUEUE(x) queued++
#define UNQUEUE queued--
#define DELIVERED(x) skip
#endif

#if defined(SLOTS)
#define ALONE false
#elif defined(BATCH)
#define ALONE (used == 0 && me > 0)
#else
#define ALONE (used == 0)
#endif

/* settle brings a word that is behind up to date; owe notes that, and the slots that came free. */
#ifdef FAULT_PAST_TWICE
#define CAUGHTUP behind = false
#else
#define CAUGHTUP behind = false; lag = 0
#endif
#ifdef FAULT_LENT_FREED
#define OLDEST head
#else
#define OLDEST (head - lent)
#endif
#define SETTLE used = used - behind; room = room + lag; CAUGHTUP
#define OWE owed = owed + behind + OLDEST - freed; freed = OLDEST; owedroom = owedroom + lag; CAUGHTUP

/* UNLOCK releases the lease, when nothing is owed. */
#define UNLOCK atomic { \
		assert(!owed && used == tail - head + lent + behind && (!lent || front == head - lent)); \
		assert(queued + lent || !behind); \
		lease = false \
	}

/* write is Put and Publish in one step: nobody looks into a slot that is not published. */
#define WRITE(t, x) assert(what[(t) % INBOX] == EMPTY); what[(t) % INBOX] = x; mark[(t) % INBOX] = (t) + 1

/* The oldest lent task is about to leave its slot, and has left it. */
#define LEAVES assert(what[front % INBOX] != EMPTY && what[front % INBOX] != VOID)
#define LEFT what[front % INBOX] = EMPTY; front++; lent--; if :: !lent -> front = 0 :: else fi

/* spill copies what is lent. */
inline spill() {
	do
	:: lent ->
		LEAVES; QUEUE(what[front % INBOX]);
#ifdef FAULT_SPILL_TWICE
		owed++;
#endif
		LEFT
	:: else -> break
	od
}

/* publish is E4 for n tasks. */
inline publish(n) {
	if
	:: alone -> atomic { assert(!brought); brought = ID(0); SAID(ID(0)); alone = false }
	:: else ->
		do
		:: i < n -> atomic { WRITE(ticket + i, ID(i)); SAID(ID(i)); i++ }
		:: else -> i = 0; break
		od
	fi
}

/* giveBack gives back n places of calls that are refused. */
inline giveBack(n) {
	atomic { room = room + n; between = between - (n) }
}

/* publishVoid, when the places were given back: of a call's tickets, those from one on. */
inline voids(from, n) {
	i = from;
	do
	:: i < n -> atomic { WRITE(ticket + i, VOID); i++ }
	:: else -> i = 0; break
	od
}

/* drain is drainAll: it looks at the tail, and then at the ring (takeIn). */
inline drain() {
	upto = tail;
	atomic { /* unload */
		if
		:: brought ->
			spill(); QUEUE(brought); brought = 0; head++;
			do
			:: ahead && TAKEN(head) -> head++; ahead--
			:: else -> break
			od;
			OWE
		:: else
		fi;
		at = head
	};
	do
	:: at >= upto -> break
	:: else ->
		atomic {
			k = at % INBOX;
			if
			:: TAKEN(at) -> at++;
				if
				:: at - 1 == head -> head++; ahead--
				:: else
				fi
			/* Run and Lend */
#ifdef FAULT_LEND_BEHIND
			:: PUBLISHED(at) && what[k] != VOID && at == head ->
#else
			:: PUBLISHED(at) && what[k] != VOID && at == head && !ahead ->
#endif
				if
				:: !lent -> front = at
				:: else
				fi;
				lent++; at++; head++
			/* Next; in turn, and behind a hole */
#ifdef MIXED
			:: PUBLISHED(at) && at == head ->
#else
			:: PUBLISHED(at) && at == head && (what[k] == VOID || ahead) ->
#endif
				k = at % INBOX;
				if
				:: what[k] == VOID
#ifndef FAULT_VOID_NO_SPILL
					-> spill()
#endif
				:: else -> spill(); QUEUE(what[k])
				fi;
				what[k] = EMPTY; at++; head++
#ifndef FAULT_NO_LOOK_BACK
			:: PUBLISHED(at) && at != head && PUBLISHED(at - 1) -> at--
			:: PUBLISHED(at) && at != head && !PUBLISHED(at - 1) ->
#else
			:: PUBLISHED(at) && at != head ->
#endif
#ifndef FAULT_HOLE_NO_SPILL
				spill();
#endif
				if
				:: what[k] == VOID
				:: else -> QUEUE(what[k])
				fi;
				what[k] = EMPTY; mark[k] = at + 2; at++; ahead++
			:: !PUBLISHED(at) && !TAKEN(at) -> at++
			fi;
			k = 0
		}
	od;
	atomic { /* endDrain */
		if
		:: upto > head || head != freed -> OWE
		:: else
		fi;
		at = 0; upto = 0
	}
}

/* flush adds what is owed, and the places of p tasks that were delivered. */
inline flush(p) {
	atomic { used = used - owed; room = room + owedroom + p; placed = placed - p; owed = 0; owedroom = 0 }
}

/* push queues n tasks that have their credits, of a call with the lease; before that it takes in what was announced. */
inline push(n) {
	drain();
	atomic {
		if
		:: lent ->
			spill()
#ifndef FAULT_PUSH_KEEPS
			; OWE
#endif
		:: else
		fi;
		do
		:: i < n -> QUEUE(ID(i)); SAID(ID(i)); i++
		:: else -> i = 0; break
		od
	};
	flush(0)
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
				:: !PUBLISHED(at) && !TAKEN(at) -> yes = false; break
				:: else -> at++
				fi
			}
		od;
		at = 0;
		if
		:: !yes && brought -> atomic { !lease -> lease = true }; drain(); flush(0); UNLOCK
#ifdef PAST
		:: !yes -> atomic { !lease -> lease = true }; atomic { SETTLE }; UNLOCK
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
	atomic { !lease -> lease = true; yes = !behind; ENTER };
	drain();
	atomic {
		if
		:: yes -> /* empty */
			spill();
#ifndef FAULT_EMPTY_KEEPS
			OWE;
#endif
			yes = false
		:: else
		fi
	};
	flush(0);
	atomic { SETTLE };
	direct++;
	if
	:: atomic { room == 0 -> done = false }
	:: atomic { room > 0 -> room--; between++ };
		done = true;
		if
		:: atomic { credit > 0 -> credit--; ACCEPTED(1) }; push(1)
		:: atomic { credit == 0 -> assert(told[me]) }; giveBack(1)
		fi
	fi;
#ifdef FAULT_NO_COUNT
	direct--;
#else
	direct++;
#endif
	UNLOCK
}

proctype Producer(byte me) {
	byte at, upto, k, w, d, u, n, got, ticket, g, i;
	bool yes, done, alone;
#ifdef PAST
	bool tried;
#endif
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
		if
		:: atomic { room > 0 && used < INBOX -> /* E1 */
				alone = ALONE; ticket = tail;
				n = MIN(TASKS, room); n = MIN(n, INBOX - used);
				tail = tail + n; used = used + n; room = room - n; between = between + n;
				ENTER;
				do
				:: i < n -> assert(what[(ticket + i) % INBOX] == EMPTY); i++
				:: else -> i = 0; break
				od
			};
#endif
			if /* E2 */
#ifdef FAULT_CREDIT_FIRST
			:: atomic { got = 1; ACCEPTED(1) };
#else
			:: atomic { credit > 0 -> got = MIN(credit, n); credit = credit - got; ACCEPTED(got) };
#endif
#ifndef FAULT_BATCH_LATE
				if
				:: got < n -> giveBack(n - got)
				:: else
				fi;
#endif
				publish(got);
				if
				:: got < n ->
#if defined(FAULT_BATCH_LATE)
					voids(got, n); giveBack(n - got)
#elif defined(FAULT_BATCH_FORGETS)
					skip
#else
					voids(got, n)
#endif
				:: else
				fi
#ifndef FAULT_CREDIT_FIRST
			:: atomic { credit == 0 -> assert(told[me]) };
#if defined(FAULT_VOID_FIRST)
				voids(0, n); giveBack(n)
#elif defined(FAULT_VOID_KEEPS)
				voids(0, n)
#else
				giveBack(n); voids(0, n)
#endif
#endif
			fi;
			break
#ifdef PAST
		:: atomic { !tried && !lease && room > 0 && used <= 1 -> lease = true; tried = true };
			got = 0;
			if
#ifdef FAULT_PAST_LENT
			:: atomic { room > 0 && used == behind + lent ->
#else
			:: atomic { room > 0 && used == behind ->
#endif
					n = MIN(TASKS, room);
					SETTLE;
#ifndef FAULT_PAST_NO_TICKET
					tail++; used++;
#endif
					room = room - n; between = between + n;
					ENTER
				};
				if
				:: atomic { credit > 0 -> got = MIN(credit, n); credit = credit - got; ACCEPTED(got) }
				:: credit == 0
				fi;
#ifdef FAULT_PAST_NO_TICKET
				giveBack(n - got);
#else
				atomic { /* Pass */
					head++; freed = head;
					if
					:: got == n -> behind = true
					:: else -> used--; giveBack(n - got)
					fi
				};
#endif
				if
				:: got -> push(got)
				:: else
				fi
			:: else
			fi;
			UNLOCK;
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
	:: n > 0 && (head != tail || queued || lent) ->
		atomic { !lease -> lease = true };
		drain();
#ifdef MIXED
		if /* Fill, where it finds the inbox crowded */
		:: atomic { lent -> spill(); OWE }; flush(0)
		:: true
		fi;
#endif
		if
		:: queued || lent ->
			n--;
#if defined(FAULT_READ_LATE)
			if
			:: lent && !queued ->
				atomic { lent--; OWE; lent++; flush(1) };
				atomic { LEAVES; DELIVERED(what[front % INBOX]); LEFT };
				goto delivered
			:: else
			fi;
#elif defined(FAULT_LENT_FIRST)
			if
			:: lent && queued ->
				atomic { LEAVES; DELIVERED(what[front % INBOX]); LEFT; OWE; flush(1) };
				goto delivered
			:: else
			fi;
#endif
			atomic {
				if
				:: queued -> UNQUEUE
				:: else -> LEAVES; DELIVERED(what[front % INBOX]); LEFT
				fi
			};
			if
#ifdef FAULT_PAST_IDLE
			:: behind -> atomic { lag++; placed-- }; flush(0)
#else
			:: behind && (queued || lent) -> atomic { lag++; placed-- }; flush(0)
#endif
			:: else -> atomic { OWE; flush(1) }
			fi;
delivered:
			atomic { credit++; credited-- }
		:: else
#ifndef FAULT_NO_FLUSH
			-> flush(0)
#endif
		fi;
		UNLOCK
	:: n == 0 -> break
	od
}

#ifdef HOLE
proctype Writer() { atomic { WRITE(0, 1) } }
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
	byte t, tasks;
	atomic {
		timeout ->
		assert(room + lag + placed == PLACES && between == 0 && credit + credited == CREDITS);
		assert(!owed && used == tail - head + lent + behind);
		tasks = queued + lent + (brought > 0);
		for (t : head + (brought > 0) .. tail - 1) {
			assert(PUBLISHED(t) || TAKEN(t));
			tasks = tasks + (PUBLISHED(t) && what[t % INBOX] != VOID)
		}
		assert(tasks == placed)
	}
}

init {
	byte k;
	atomic {
		for (k : 0 .. INBOX - 1) { mark[k] = k }
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
