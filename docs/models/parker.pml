/*
The sleeping consumers' bed: internal/core/park/park.go.

Stands for   Parker.Notify, wakeOne, Found, arrive, Sleep, enlist, delist, drop,
             WakeAll; and the loop of DequeueBatch (lockfree/dequeue.go).
Left out     What work is: a counter, taken in one step. Consumers leave after
             what they took, and who takes does not notify: in the code whoever
             releases a lease does, so this is the harder case.
             A critical section with one visible write is one step; WakeAll,
             which has several, holds the mutex.
Property     When everybody is at rest, no consumer sleeps while there is work
             (I9), and waking is 0. Never more than one wake-up on its way
             (except WakeAll's). No wake-up is sent twice to one sleeper.
Bounds       2 or 3 consumers, 2 or 3 producers of one task each; a consumer whose
             ctx may be done at any time; a WakeAll at any time.

RUN   three
RUN   cancel      -DCONSUMERS=2 -DCANCEL
RUN   cancel3     -DPRODUCERS=2 -DCANCEL
RUN   rounds      -DCONSUMERS=2 -DROUNDS=2
RUN   close       -DCONSUMERS=2 -DPRODUCERS=2 -DCLOSE -DCANCEL
FAULT NO_SECOND_LOOK     Sleep does not look again (C2)
FAULT LOOK_FIRST         Sleep looks before it announces
FAULT ARRIVE_NO_LOOK     who arrives does not look (W2)
FAULT SLEEP_KEEPS_WAKING who goes back to sleep leaves waking at 1 (W1)
FAULT OWED_LEAVES        who was on its way and stays awake is on its way no more
FAULT WAKEONE_NO_LOOK    wakeOne finds nobody and does not look again
FAULT NOTIFY_ALWAYS      Notify wakes whatever waking says
FAULT CANCEL_KEEPS       -DCANCEL: a cancelled consumer keeps the wake-up
FAULT DELIST_LEAVES      who finds itself taken off the list leaves the wake-up behind
*/

#ifndef CONSUMERS
#define CONSUMERS 3
#endif
#ifndef PRODUCERS
#define PRODUCERS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* tasks that a consumer takes before it leaves */
#endif

byte jobs;
bool over;              /* Life.Over */
byte parked;            /* Parker.parked, and the length of sleepers */
bool waking;            /* Parker.waking */
bool mu;                /* held across steps by WakeAll only */
byte sleepers[CONSUMERS];
bool listed[CONSUMERS]; /* sleeper.index >= 0 */
bool wake[CONSUMERS];   /* sleeper.wake holds a value */
bool cancelled[CONSUMERS];
byte onWay;             /* ghost: wake-ups between waking = 1 and waking = 0 */
bool all;               /* ghost: WakeAll has been called */

#define WORK (jobs > 0 || over)

/* drop takes who off the list: the last one moves to its place. */
inline drop(who) {
	i = 0;
	do
	:: sleepers[i] == who -> break
	:: else -> i++
	od;
	parked--;
	sleepers[i] = sleepers[parked];
	sleepers[parked] = 0;
	listed[who] = false;
	i = 0
}

inline send(who) { atomic { assert(!wake[who]); wake[who] = true } }

inline wakeOne() {
	do
	::	atomic {
#ifdef FAULT_NOTIFY_ALWAYS
			waking = 1; onWay++
#else
			if
			:: waking -> break
			:: else -> waking = 1; onWay++
			fi
#endif
		}
		assert(all || onWay <= 1);
		atomic {
			!mu;
			if
			:: parked > 0 -> who = sleepers[parked - 1]; drop(who); found = true
			:: else -> found = false
			fi
		}
		if
		:: found -> send(who); found = false; who = 0; break
		:: else
		fi;
		atomic { waking = 0; if :: onWay > 0 -> onWay-- :: else fi }
#ifdef FAULT_WAKEONE_NO_LOOK
		break
#else
		if
		:: parked == 0 -> break
		:: else
		fi;
		if
		:: !WORK -> break
		:: else
		fi
#endif
	od
}

inline notify() {
	if
	:: parked != 0 ->
		if
#ifdef FAULT_NOTIFY_ALWAYS
		:: true -> wakeOne()
#else
		:: waking == 0 -> wakeOne()
		:: else
#endif
		fi
	:: else
	fi
}

/* waking.Store(0). onWay is 0 already if WakeAll sent the wake-up. */
#define ARRIVED waking = 0; if :: onWay > 0 -> onWay-- :: else fi

inline arrive() {
	atomic { onTheWay = false; ARRIVED }
#ifndef FAULT_ARRIVE_NO_LOOK
	if
	:: parked != 0 ->
		if
		:: WORK -> wakeOne()
		:: else
		fi
	:: else
	fi
#endif
}

inline found_() {
	if
	:: onTheWay -> arrive()
	:: else
	fi
}

inline delist() {
	atomic {
		!mu;
		if
		:: listed[me] -> drop(me); mine = true
		:: else -> mine = false
		fi
	}
}

inline enlist() {
	atomic { !mu; sleepers[parked] = me; parked++; listed[me] = true }
}

inline sleep() {
#ifdef FAULT_LOOK_FIRST
	look = WORK;
#endif
	enlist(); /* C1 */
	owed = onTheWay;
	if
#ifndef FAULT_SLEEP_KEEPS_WAKING
	:: owed -> atomic { onTheWay = false; ARRIVED } /* W1 */
#endif
	:: else
	fi;
#ifndef FAULT_LOOK_FIRST
	look = WORK; /* C2, W2 */
#endif
#ifdef FAULT_NO_SECOND_LOOK
	look = false;
#endif
	if
	:: look ->
		delist();
		if
		:: !mine ->
#ifdef FAULT_DELIST_LEAVES
			skip
#else
			atomic { wake[me]; wake[me] = false; onTheWay = true }
#endif
		:: else ->
			if
#ifndef FAULT_OWED_LEAVES
			:: owed ->
				atomic { /* CompareAndSwap(0, 1) */
					if
					:: waking
					:: else -> waking = 1; onWay++; onTheWay = true
					fi
				}
#endif
			:: else
			fi
		fi
	:: else ->
		/* C3 */
end_asleep:
		if
		:: atomic { wake[me] -> wake[me] = false; onTheWay = true }
		:: cancelled[me] ->
			gone = true;
			delist();
			if
			:: !mine ->
				atomic { wake[me]; wake[me] = false };
#ifndef FAULT_CANCEL_KEEPS
				arrive()
#endif
			:: else
			fi
		fi
	fi;
	atomic { owed = false; mine = false; look = false }
}

proctype Consumer(byte me) {
	bool onTheWay, owed, look, mine, found, gone;
	byte i, who, took;
	do
	::	/* take */
		atomic {
			if
			:: jobs > 0 -> jobs--; took++; found = true
			:: else -> found = false
			fi
		}
		if
		:: found ->
			found = false;
			found_();
			if
			:: took == ROUNDS -> break
			:: else
			fi
		:: else ->
			if
			:: over -> found_(); break
			:: else -> sleep()
			fi;
			if
			:: gone -> found_(); break
			:: else
			fi
		fi
	od
}

proctype Producer() {
	bool found;
	byte i, who;
	jobs++;  /* P1 */
	notify() /* P2 */
}

#ifdef CANCEL
proctype Canceller() { if :: cancelled[0] = true :: skip fi }
#endif

#ifdef CLOSE
/* Life.Finish: over, then WakeAll. */
proctype Closer() {
	byte i, who, n;
	byte list[CONSUMERS];
	if
	:: atomic { over = true; all = true };
		atomic { !mu -> mu = true };
		do
		:: parked > 0 -> atomic { who = sleepers[0]; list[n] = who; n++; drop(who) }
		:: else -> break
		od;
		mu = false;
		do
		:: n > 0 -> n--; send(list[n]); list[n] = 0
		:: else -> break
		od
	:: skip
	fi
}
#endif

/* Runs when nobody else can. */
proctype Rest() {
	timeout -> assert(!(parked > 0 && WORK)); assert(!waking); assert(onWay == 0)
}

init {
	byte k;
	atomic {
		for (k : 0 .. CONSUMERS - 1) { run Consumer(k) }
		for (k : 1 .. PRODUCERS) { run Producer() }
#ifdef CANCEL
		run Canceller();
#endif
#ifdef CLOSE
		run Closer();
#endif
		run Rest()
	}
}
