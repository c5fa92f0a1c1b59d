/*
The queue on Redis: leases, what ends them, and the wake token.

Stands for   contrib/firqredis: lua/push.lua, pop.lua, ack.lua, nack.lua, release.lua, maintain.lua and token.lua, each
             one step, as the server runs one script at a time (what pop.lua brings in itself is a step before it
             here); fetcher.work, look, doze, end and wake (fetch.go); listen (ear.go); pop (pop.go). One process is one
             client process; the call that waits is of BATCH tasks, which it settles one after the other; then there is
             another call, or there is not.
Left out     Order, priorities, costs; delays, deadlines, pauses, cancelling, unique keys; several partitions; scripts
             that are cut off, and a server that forgets. A lease may run out at any time.
Property     A task is in one place: queued, leased, dead or gone. Who settles one has its last delivery, and does it
             once; one that failed MAX times is dead. Limits hold at every instant, and counts are right. There is one wake-up
             at most. When everybody is at rest nothing is queued that may be delivered, as long as a process lives;
             where processes die, after the longest sleep, of 2 s, is over, and leases have run out.
Bounds       Two processes, two or three tasks of one or two tenants, two attempts, one release; one lease that runs
             out early, or one process that dies, at any step.

RUN   plain        -DTASKS=3
RUN   batch        -DTASKS=3 -DBATCH=2
RUN   tenantlimit  -DTASKS=3 -DTENANTS=1 -DIM=1
RUN   limit        -DTASKS=3 -DGIM=1 -DNO_RELEASE
RUN   late         -DTASKS=3 -DLATE -DNO_RELEASE
RUN   latelimit    -DLATE -DIM=1 -DGIM=1 -DNO_RELEASE
RUN   leave        -DTASKS=3 -DLEAVE
RUN   leavelimit   -DLEAVE -DGIM=1 -DNO_RELEASE
RUN   die          -DTASKS=3 -DDIE -DNO_RELEASE
RUN   dielimit     -DDIE -DGIM=1 -DTENANTS=1 -DIM=1 -DNO_RELEASE
FAULT ACK_BY_ID       -DLATE: an ack looks for a lease of the task, not for its own
FAULT ACK_UNCHECKED   -DLATE: an ack does not look
FAULT ACK_TWO_STEPS   -DLATE: an ack looks in one script, and removes in another
FAULT NACK_BY_ID      -DLATE: as ACK_BY_ID, of nack
FAULT ACK_NO_ROOM     -DTASKS=3 -DTENANTS=1 -DIM=1: an ack does not put the tenant back that was at its limit
FAULT ACK_NO_WAKE     -DTASKS=3 -DGIM=1 -DNO_RELEASE: an ack below the limit of all does not wake
FAULT TENANT_NO_WAKE  -DTASKS=3 -DTENANTS=1 -DIM=1: an ack below the limit of a tenant does not wake
FAULT NACK_NO_WAKE    -DTASKS=2 -DLEAVE: nor does a nack
FAULT NO_CHAIN        -DTASKS=3: who finds work and sees more wakes nobody
FAULT WAKE_ALWAYS     -DTASKS=3: a wake-up is added to one that is there
FAULT NO_LONGEST      -DDIE -DNO_RELEASE: nobody looks after 2 s
FAULT BLOCKED_KEEPS   -DLEAVE: a wake-up that comes when the call is gone is kept
FAULT END_KEEPS       -DLEAVE: so is one that was there when it went
FAULT EXPIRY_KEEPS    -DLATE -DTENANTS=1 -DIM=1 -DNO_RELEASE: a lease that has run out still counts for its tenant
FAULT EXPIRY_FREE     -DDIE -DNO_RELEASE: one that has run out is not an attempt
FAULT LIMIT_EARLY     -DTASKS=3 -DGIM=1 -DNO_RELEASE: whether there is room is looked at in a script before
*/

#ifndef TASKS
#define TASKS 2
#endif
#ifndef TENANTS
#define TENANTS 2
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef IM
#define IM 0 /* of each tenant; 0: none */
#endif
#ifndef GIM
#define GIM 0 /* of all */
#endif
#define PROCESSES 2
#define MAX 2 /* attempts */

#define OF(t) ((t) % TENANTS)

/* The server. */
bool body[TASKS];          /* :d */
bool queued[TASKS];        /* :n */
byte lease[TASKS];         /* :l, the token; 0: none */
bool dead[TASKS];          /* :x */
byte attempt[TASKS];
bool late[TASKS];          /* its lease has run out */
bool ready[TENANTS];       /* :r */
byte inFlight[TENANTS];    /* :t, i */
byte hlc;
byte wakes;                /* :w */

/* Ghosts. */
bool pushed[TASKS];
byte last[TASKS];          /* the token of the last delivery */
byte settled[TASKS];       /* how often it was acked */
byte failed[TASKS];        /* deliveries that failed, or ran out */

/* The client processes. */
bool running[PROCESSES], sleeping[PROCESSES], woken[PROCESSES];
bool resting[PROCESSES];   /* in doze */
bool gone[PROCESSES];      /* has left, or is dead */
bool killed[PROCESSES];
bool tick[PROCESSES];      /* the longest sleep is over */
bool leaves[PROCESSES];
byte deaths, releases;

/* Of scripts: 0 between them. */
byte i, leases, some;

/* What holds after each script. */
inline sound() {
	i = 0; leases = 0;
	do
	:: i == TASKS -> break
	:: else ->
		assert(settled[i] <= 1);
		assert(!body[i] || (queued[i] + (lease[i] != 0) + dead[i] == 1));
		assert(body[i] || (!queued[i] && lease[i] == 0 && !dead[i]));
		assert(!pushed[i] || body[i] + settled[i] == 1);
		assert(failed[i] <= MAX);
		leases = leases + (lease[i] != 0); i++
	od;
	assert(GIM == 0 || leases <= GIM);
	i = 0;
	do
	:: i == TENANTS -> break
	:: else -> assert(IM == 0 || inFlight[i] <= IM); i++
	od;
	assert(wakes <= 1);
	i = 0; leases = 0
}

inline countLeases() {
	i = 0; leases = 0;
	do
	:: i == TASKS -> i = 0; break
	:: else -> leases = leases + (lease[i] != 0); i++
	od
}

/* How many tasks of tenant w are queued. */
inline countQueued(w) {
	i = 0; some = 0;
	do
	:: i == TASKS -> i = 0; break
	:: else -> some = some + (queued[i] && OF(i) == w); i++
	od
}

inline anyReady() {
	i = 0; some = 0;
	do
	:: i == TENANTS -> i = 0; break
	:: else -> some = some + ready[i]; i++
	od
}

inline wake() {
	anyReady();
	if
#ifdef FAULT_WAKE_ALWAYS
	:: some > 0 -> wakes++
#else
	:: some > 0 && wakes == 0 -> wakes++
#endif
	:: else
	fi;
	some = 0
}

inline push(t) {
	d_step {
		countQueued(OF(t));
		pushed[t] = true; body[t] = true; queued[t] = true;
		if
		:: some == 0 && (IM == 0 || inFlight[OF(t)] < IM) -> ready[OF(t)] = true; wake()
		:: else
		fi;
		some = 0;
		sound()
	}
}

/* Up to want tasks; room is what is left of the limit of all. */
inline pop(want) {
	atomic {
		countLeases();
#ifndef FAULT_LIMIT_EARLY
		room = GIM - leases;
#endif
		n = (GIM > 0 && room < want -> room : want); room = 0; leases = 0;
		got = 0; looked = false;
		do
		:: got < n && ready[0] -> w = 0; take()
#if TENANTS > 1
		:: got < n && ready[1] -> w = 1; take()
#endif
		:: else -> break
		od;
		/* Who takes something and sees more wakes the next. */
		countLeases();
#ifndef FAULT_NO_CHAIN
		if
		:: looked && !(GIM > 0 && leases >= GIM) -> wake()
		:: else
		fi;
#endif
		leases = 0; n = 0; w = 0; looked = false;
		/* nd has passed: there is something for maintain. */
		i = 0; due = false;
		do
		:: i == TASKS -> i = 0; break
		:: else -> due = due || (lease[i] != 0 && late[i]); i++
		od;
		sound()
	}
}

/* The first queued task of w. */
inline take() {
	looked = true; i = 0;
	do
	:: i == TASKS || (queued[i] && OF(i) == w) -> break
	:: else -> i++
	od;
	assert(i < TASKS); /* who is ready has some */
	queued[i] = false; hlc++; lease[i] = hlc; last[i] = hlc; late[i] = false;
	task[got] = i; token[got] = hlc; got++;
	inFlight[w]++; i = 0;
	countQueued(w);
	ready[w] = (some > 0 && (IM == 0 || inFlight[w] < IM)); some = 0
}

/* place of common.lua. */
inline place(w) {
	countQueued(w);
	if
	:: some > 0 && (IM == 0 || inFlight[w] < IM) -> ready[w] = true; freed = true
	:: else -> ready[w] = false
	fi;
	some = 0
}

/* leave of common.lua: a delivery ends otherwise than by ack. */
inline leave(t, counted) {
	inFlight[OF(t)]--;
	if
	:: counted -> attempt[t]++
	:: else
	fi;
	if
	:: attempt[t] >= MAX -> dead[t] = true
	:: else -> queued[t] = true
	fi;
	place(OF(t))
}

#ifdef FAULT_ACK_UNCHECKED
#define ACKED(t, its) true
#elif defined(FAULT_ACK_BY_ID)
#define ACKED(t, its) lease[t] != 0
#else
#define ACKED(t, its) lease[t] == its
#endif

inline ack(t, its) {
#ifdef FAULT_ACK_TWO_STEPS
	mine = ACKED(t, its);
	d_step {
		if
		:: mine ->
#else
	d_step {
		if
		:: ACKED(t, its) ->
#endif
			assert(last[t] == its);
			settled[t]++;
			countLeases();
			was = inFlight[OF(t)];
			freed = GIM > 0 && leases >= GIM; leases = 0;
#ifdef FAULT_ACK_NO_WAKE
			freed = false;
#endif
			lease[t] = 0; late[t] = false; body[t] = false;
			inFlight[OF(t)]--;
			if
			:: IM > 0 && was >= IM && inFlight[OF(t)] < IM ->
				countQueued(OF(t));
#ifndef FAULT_ACK_NO_ROOM
				if
				:: some > 0 ->
					ready[OF(t)] = true;
#ifndef FAULT_TENANT_NO_WAKE
					freed = true
#endif
				:: else
				fi;
#endif
				some = 0
			:: else
			fi;
			if
			:: freed -> wake()
			:: else
			fi
		:: else
		fi;
		freed = false; was = 0; mine = false;
		sound()
	}
}

#ifdef FAULT_NACK_BY_ID
#define NACKED(t, its) lease[t] != 0
#else
#define NACKED(t, its) lease[t] == its
#endif

/* nack, and release if it does not count. */
inline nack(t, its, counted) {
	d_step {
		if
		:: NACKED(t, its) ->
			assert(last[t] == its);
			lease[t] = 0; late[t] = false; failed[t] = failed[t] + counted;
			freed = false;
			leave(t, counted);
			if
			:: GIM > 0 -> freed = true
			:: else
			fi;
#ifdef FAULT_NACK_NO_WAKE
			freed = false;
#endif
			if
			:: freed -> wake()
			:: else
			fi
		:: else
		fi;
		freed = false;
		sound()
	}
}

/* Of leases that have run out. */
inline maintain() {
	d_step {
		k = 0; brought = false;
		do
		:: k == TASKS -> break
		:: k < TASKS && lease[k] != 0 && late[k] ->
			lease[k] = 0; late[k] = false; failed[k]++;
			brought = true;
#ifdef FAULT_EXPIRY_KEEPS
			inFlight[OF(k)]++;
#endif
#ifdef FAULT_EXPIRY_FREE
			leave(k, 0);
#else
			leave(k, 1);
#endif
			k++
		:: else -> k++
		od;
		if
		:: brought -> wake()
		:: else
		fi;
		freed = false; k = 0;
		sound()
	}
}

/* token.lua */
inline pass() { d_step { wake(); sound() } }

#ifdef DIE
#define MAY_DIE if :: atomic { deaths == 0 -> deaths++; killed[me] = true; gone[me] = true; running[me] = false; goto end } :: skip fi;
#else
#define MAY_DIE
#endif

/* listen of ear.go: it outlives the call that started it. */
proctype Blocked(byte me) {
end_blocked:
	do
	:: atomic { sleeping[me] && wakes > 0 && !killed[me] -> wakes-- };
		if
#ifdef DIE
		:: killed[me] -> goto end /* with its process; the wake-up is lost */
#endif
		:: atomic { !killed[me] && running[me] -> sleeping[me] = false; woken[me] = true }
		:: atomic { !killed[me] && !running[me] -> sleeping[me] = false }
#ifndef FAULT_BLOCKED_KEEPS
			pass()
#endif
		fi
	od;
end:
	skip
}

/* end of fetch.go: nobody of this process waits. */
inline ended() {
	atomic { running[me] = false; unused = woken[me]; woken[me] = false }
#ifndef FAULT_END_KEEPS
	if
	:: unused -> pass()
	:: else
	fi;
#endif
	unused = false
}

proctype Process(byte me) {
	byte task[BATCH], token[BATCH];
	byte got, n, w, k, was, room;
	bool looked, due, brought, freed, mine, unused;
	do
	:: /* A call comes, and looks. */
		running[me] = true;
look:
		MAY_DIE
#ifdef FAULT_LIMIT_EARLY
			atomic { countLeases(); room = GIM - leases; leases = 0 };
#endif
		pop(BATCH);
		MAY_DIE
		if
		:: due ->
			due = false;
			maintain();
			MAY_DIE
			if
			:: got == 0 && brought -> brought = false; goto look
			:: else -> brought = false
			fi
		:: else
		fi;
		if
		:: got == 0 ->
			atomic { sleeping[me] = true; resting[me] = true };
end_doze:
			if
			:: atomic { woken[me] -> woken[me] = false; resting[me] = false }
			:: atomic { tick[me] -> tick[me] = false; resting[me] = false }
			:: atomic { leaves[me] -> resting[me] = false; gone[me] = true };
				ended();
				goto end
			fi;
			goto look
		:: else
		fi;
		ended();
		do
		:: got == 0 -> task[0] = 0; token[0] = 0; break
		:: got > 0 ->
			got--;
			MAY_DIE
			if
			:: ack(task[got], token[got])
			:: nack(task[got], token[got], 1)
#ifndef NO_RELEASE
			:: atomic { releases == 0 -> releases++ }; nack(task[got], token[got], 0)
#endif
			fi;
			d_step { task[got] = 0; token[got] = 0 }
		od;
		if
		:: gone[me] = true; break /* it calls no more */
		:: skip
		fi
	od;
end:
	skip
}

proctype Producer() {
	byte t, was;
	do
	:: t == TASKS -> break
	:: t < TASKS -> push(t); t++
	od
}

#ifdef LATE
/* A lease runs out while its worker goes on. */
proctype Clock() {
end_clock:
	if
	:: atomic { lease[0] != 0 -> late[0] = true }
	:: atomic { lease[1] != 0 -> late[1] = true }
	fi
}
#endif

#ifdef LEAVE
proctype Leaver() { leaves[0] = true }
#endif

#define ASLEEP(p) (resting[p] && !gone[p])

/* Runs when nobody else can. */
proctype Rest() {
	byte t;
	timeout;
#if defined(DIE) && !defined(FAULT_NO_LONGEST)
	/* Time passes: leases run out, and who sleeps looks. */
	atomic {
		for (t : 0 .. TASKS - 1) { late[t] = (lease[t] != 0) }
		for (t : 0 .. PROCESSES - 1) { tick[t] = ASLEEP(t) }
		t = 0
	};
	timeout;
#endif
	d_step {
		countLeases();
		if
		:: ASLEEP(0) || ASLEEP(1) ->
			for (t : 0 .. TASKS - 1) {
				assert(!queued[t] || (IM > 0 && inFlight[OF(t)] >= IM) || (GIM > 0 && leases >= GIM));
				assert(lease[t] == 0);
				assert(pushed[t] && (settled[t] == 1 || dead[t]))
			}
			for (t : 0 .. TENANTS - 1) { assert(inFlight[t] == 0) }
		:: else
		fi;
		leases = 0
	}
}

init {
	byte p;
	atomic {
		for (p : 0 .. PROCESSES - 1) { run Process(p); run Blocked(p) }
		run Producer();
#ifdef LATE
		run Clock();
#endif
#ifdef LEAVE
		run Leaver();
#endif
		run Rest()
	}
}
