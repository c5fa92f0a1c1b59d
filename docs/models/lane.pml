/*
Places, ring and lane of one tenant.

Stands for   enter, send, takeClosed, pushSent (lockfree/enqueue.go); drawTickets, put,
             openIfBusy, closeLane, fetchSome, ranDry (lane.go); takeIn, release (hold.go);
             takePlaces, takeLocked, free, pay (tenant.go); reserve in admit (admit.go);
             draw, publish, next, free (ring.go); discard and published (lockfree.go).
Left out     Credits (credit.pml), sleeping (parker.pml), tasks that are not plain, batches, slots
             that are lent: the holder copies, so slots come free when they are fetched. Tickets
             do not begin again. Whether two goroutines have met is chosen by the search. A lane
             opens with one queued task, not two: the smaller model.
Property     Tasks of one producer are delivered in the order in which they were sent, whichever
             ways they take (I7). A slot is written only while it is its producer's (I14). A closed
             lane is empty and has no ticket out (I13). Who is refused was refused while tasks had all
             places (I3). At rest all places are there (I2), and every accepted task was delivered, or
             dropped by Close (I5). With LOOK: who finds nothing has seen an instant at
             which there was nothing (I6).
Bounds       2 producers of 2 tasks each, or one of 3; a limit of 2 to 4; 2 slots in ring and lane.

RUN   two
RUN   three       -DPRODUCERS=1 -DTASKS=3
RUN   room        -DPRODUCERS=1 -DTASKS=3 -DLIMIT=3
RUN   look        -DLOOK -DPRODUCERS=1
RUN   close       -DCLOSE -DPRODUCERS=1
RUN   closes      -DCLOSE -DTASKS=1
FAULT CLOSE_STORE        closeLane does not see a ticket that is out
FAULT RING_BESIDE        takeClosed gives a place though the lane is open
FAULT TAIL_LATE          -DLIMIT=3: fetch reads the lane's tail after it has taken in the ring
FAULT LANE_FIRST         -DLIMIT=3: fetch takes in the ring after the lane
FAULT NOT_DRY            nobody looks at the lane of a tenant that ran dry
FAULT PUT_FIRST          -DLIMIT=3: a task that is put under the lock does not come after those in the lane
FAULT FREED_EARLY        -DPRODUCERS=1 -DTASKS=4 -DLIMIT=4: slots are given back that the holder has not taken
FAULT NO_MARK            the holder does not wait for a mark
FAULT IN_PROGRESS        refused on account of a call in progress
FAULT OWED_TWICE         what is owed stays owed when the word says it
FAULT FULL_STAYS         the word stays full though there is room
FAULT FREED_FIRST        -DLOOK -DPRODUCERS=1: the ring is freed before the shard is ready
FAULT NO_PUBLISHED       -DCLOSE -DPRODUCERS=1: who has sent by the ring does not look whether the scheduler was closed

With CLOSE, who has written into a lane does not look whether the scheduler was closed (there is no
published): an open lane's tenant has a queued task, so Close comes by.
*/

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#define SLOTS 2

bool lock;
/* the word: room, tail, open, full */
short room = LIMIT;
byte tail;
bool open, allTaken;
/* the holder's */
byte owed, settle = 1, head, rhead;
chan engine = [8] of { byte };
byte freed;                     /* read by producers */
byte mark[SLOTS], value[SLOTS]; /* the lane; a mark is ticket+1, a value 0 is void */
bool mine[SLOTS];               /* ghost: the slot has a value that was not taken */
byte rtail, rfreed, rmark[SLOTS], rvalue[SLOTS];
bool rmine[SLOTS];
bool ready;
byte version;                   /* of ready */
bool closed;
byte held;                      /* ghost: places that tasks have, from the step that takes them */
byte leaving;                   /* ghost: a task whose delivery is in progress */
byte accepted, returned, ended, last[PRODUCERS];
byte busy = PRODUCERS;          /* producers that are not over */

inline acquire() { atomic { !lock -> lock = true } }

/* takeIn queues what is in the ring. */
inline takeIn() {
	rend = rtail;
	do
	:: rhead != rend ->
		rmark[rhead % SLOTS] == rhead + 1;
		d_step {
			engine!rvalue[rhead % SLOTS];
			rmine[rhead % SLOTS] = false; rhead++
		}
		openIfBusy()
	:: else -> break
	od
}

/* One step: the CAS goes on until it succeeds, and only room can change in between. */
inline openIfBusy() {
	if
	:: atomic { !open && len(engine) > 0 -> freed = head; tail = head; open = true }
	:: true
	fi
}

/* fetch gives the engine what the lane holds. */
inline fetch() {
	end = tail;
#ifndef FAULT_LANE_FIRST
	takeIn();
#endif
#ifdef FAULT_TAIL_LATE
	end = tail;
#endif
	do
	:: head != end ->
#ifndef FAULT_NO_MARK
		mark[head % SLOTS] == head + 1;
#endif
		d_step {
			if
			:: value[head % SLOTS] != 0 -> engine!value[head % SLOTS]
			:: else
			fi;
			mine[head % SLOTS] = false; head++
		}
	:: else -> break
	od;
#ifdef FAULT_LANE_FIRST
	takeIn();
#endif
#ifdef FAULT_FREED_EARLY
	freed = head + 1
#else
	freed = head
#endif
}

/* ranDry: the lane is closed only if no ticket is out. */
inline ranDry() {
	do
	:: len(engine) == 0 && open ->
		fetch();
		if
		:: len(engine) == 0 ->
			atomic {
				if
#ifdef FAULT_CLOSE_STORE
				:: true -> open = false
#else
				:: tail == head -> open = false; assert(!mine[0] && !mine[1])
				:: else
#endif
				fi
			}
		:: else
		fi
	:: else -> break
	od
}

inline pay() {
	d_step {
		room = room + owed;
#ifndef FAULT_OWED_TWICE
		owed = 0;
#endif
#ifndef FAULT_FULL_STAYS
		allTaken = false;
#endif
		settle = 1
	}
}

/* leaves: one task is out of the queue. */
inline leaves() {
	d_step { engine?v; held--; leaving = 1; ended++; owed++ }
	if
	:: owed > settle -> pay()
	:: else
	fi;
	leaving = 0;
#ifndef FAULT_NOT_DRY
	if
	:: len(engine) == 0 -> ranDry()
	:: else
	fi
#endif
}

inline release() {
#ifdef FAULT_FREED_FIRST
	rfreed = rhead;
#endif
	d_step {
		if
		:: ready != (len(engine) > 0) -> ready = !ready; version++
		:: else
		fi
	}
	rfreed = rhead;
	lock = false
}

/* discard drops all that is queued. */
inline discard() {
	acquire();
	takeIn();
	do
	:: len(engine) > 0 -> leaves()
	:: else -> break
	od;
	release()
}

proctype Producer(byte p) {
	byte n = 1, v, t, end, rend;
	bool got, returning;
	do
	:: n > TASKS -> break
	:: else ->
		if
		:: atomic { allTaken -> assert(held + leaving == LIMIT); n++ } /* without the lock */
		:: atomic { open && room > 0 && tail - freed < SLOTS ->
			/* a ticket and a place; from here to the mark it is pinned */
			t = tail; tail++; room--; held++
			}
			assert(!mine[t % SLOTS]);
			if
			:: closed -> value[t % SLOTS] = 0
			:: else -> d_step { value[t % SLOTS] = p * 16 + n; mine[t % SLOTS] = true; accepted++ }
			fi;
			mark[t % SLOTS] = t + 1;
			if
			:: d_step { value[t % SLOTS] == 0 && closed -> room++; held-- } goto over
			:: else
			fi;
			d_step { returned++; n++ }
#ifdef FAULT_RING_BESIDE
		:: atomic { room > 0 -> room--; held++ }
#else
		:: atomic { !open && room > 0 -> room--; held++ }
#endif
			if
			:: closed -> d_step { room++; held-- } goto over
			:: else
			fi;
			accepted++;
			if
			:: atomic { rtail - rfreed < SLOTS -> t = rtail; rtail++ }
				assert(!rmine[t % SLOTS]);
				d_step { rvalue[t % SLOTS] = p * 16 + n; rmine[t % SLOTS] = true }
				rmark[t % SLOTS] = t + 1
			:: atomic { rtail - rfreed >= SLOTS -> skip }
				acquire();
				takeIn();
				if
				:: open -> fetch()
				:: else
				fi;
				engine!(p * 16 + n);
				release()
			fi;
			d_step { returned++; n++ }
#ifndef FAULT_NO_PUBLISHED
			if
			:: closed -> discard(); goto over
			:: else
			fi
#endif
		:: atomic { !lock -> lock = true } /* the lock: no two have met, or there is no room */
			takeIn();
#ifndef FAULT_PUT_FIRST
			if
			:: open -> fetch()
			:: else
			fi;
#endif
			if
			:: closed -> release(); goto over
			:: else
			fi;
			if
			:: d_step { owed > 0 -> owed--; held++; got = true }
			:: atomic { owed == 0 && room > 0 -> room--; held++; got = true }
#ifdef FAULT_IN_PROGRESS
			:: atomic { owed == 0 && room <= 0 -> allTaken = true; settle = 0; assert(held == LIMIT && len(engine) == LIMIT); n++ }
#else
			:: atomic { owed == 0 && room <= 0 && LIMIT - room > len(engine) -> skip } /* unsure: again */
			:: atomic { owed == 0 && room <= 0 && LIMIT - room <= len(engine) -> allTaken = true; settle = 0; assert(held == LIMIT && len(engine) == LIMIT); n++ }
#endif
			fi;
			if
			:: got ->
				takeIn();
#ifndef FAULT_PUT_FIRST
				if
				:: open -> fetch()
				:: else
				fi;
#endif
				skip; /* no jump into a d_step */
				d_step { engine!(p * 16 + n); accepted++; n++; got = false; returning = true }
				openIfBusy()
			:: else
			fi;
			release();
			if
			:: returning -> d_step { returned++; returning = false }
			:: else
			fi
		fi
	od;
over:
	busy--
}

/* The consumer comes when there is work: parker.pml. */
proctype Consumer() {
	byte v, end, rend;
	do
	:: ready || rtail != rfreed ->
		acquire();
		takeIn();
		if
		:: !closed && len(engine) > 0 ->
			engine?<v>;
			assert(v % 16 > last[v / 16]);
			last[v / 16] = v % 16;
			leaves()
		:: else
		fi;
		release()
	:: closed || busy == 0 && !ready && rtail == rfreed -> break
	od
}

/* Look is a call that looks for work twice, and finds nothing. */
proctype Look() {
	byte before, seen;
	d_step { seen = returned; before = version + rtail + rfreed } /* each only grows */
	if
	:: rtail != rfreed -> goto over
	:: else
	fi;
	if
	:: ready -> goto over
	:: else
	fi;
	if
	:: rtail != rfreed -> goto over
	:: else
	fi;
	if
	:: ready -> goto over
	:: else
	fi;
	assert(before != version + rtail + rfreed || ended >= seen);
over:
	skip
}

proctype Closer() {
	byte v, end, rend;
	closed = true;
	discard();
	do
	:: atomic { len(engine) > 0 -> skip } discard()
	:: else -> break
	od
}

proctype Rest() {
	timeout;
	assert(busy == 0 && !lock && accepted == ended && held == 0);
	assert(!open && len(engine) == 0 && room + owed == LIMIT && rtail == rhead)
}

init {
	byte k;
	atomic {
		for (k : 1 .. PRODUCERS) { run Producer(k - 1) }
		run Consumer();
#ifdef LOOK
		run Look();
#endif
#ifdef CLOSE
		run Closer();
#endif
		run Rest()
	}
}
