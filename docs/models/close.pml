/*
Shutdown and Close.

Stands for   Life.Shutdown, TryFinish, Close, Finish (internal/core/serve/life.go);
             drainCheck, discard, Close, Shutdown (lockfree/lockfree.go);
             takeCredits: E2 (credit) and E3 (state), published: E6 (there); serve and
             release as far as state and credits go (lockfree/serve.go, hold.go); Pool.Give,
             look and Free (credit.go), the taking from another stripe included.
Left out     How tasks get into the queue: the holder of the lock finds all that
             is published. Sleeping: a consumer comes when there is
             something, or when all is over (parker.pml). Free looks once, not 16
             times, before it gives up: the harder case.
Property     Every accepted task is delivered, or dropped by Close. Shutdown
             returns. When it returns nil every credit is home and every accepted
             task was delivered (I12). After Close has returned nothing is
             delivered (I11). At rest all credits are home.
Bounds       2 stripes, capacity 2 or 3, 1 or 2 producers of one task each, 1 or 2
             consumers, one Shutdown, one Close (CLOSE).

RUN   shutdown
RUN   more        -DCAP=3
RUN   two         -DCONSUMERS=2 -DPRODUCERS=1
RUN   both        -DCLOSE -DPRODUCERS=1
RUN   close       -DCLOSE -DCONSUMERS=2 -DNO_SHUTDOWN
FAULT UNSURE_SUM         drainCheck accepts an unsure sum
FAULT NO_E3              nobody looks at the state after taking a credit
FAULT E3_KEEPS           E3 keeps the credit
FAULT E3_NO_CHECK        E3 gives the credit back and does not look whether it was the last
FAULT UNLOCK_NO_CHECK    who gives back a credit while draining does not look
FAULT LOOK_FIRST         Shutdown looks at the credits before it sets the state
FAULT NO_E6              -DCLOSE -DNO_SHUTDOWN: no E6
FAULT SERVE_ANYWAY       -DCLOSE -DNO_SHUTDOWN: serve ignores the state
FAULT SECOND             -DCLOSE -DNO_SHUTDOWN -DSECOND: I11 asked of a second Close too

SECOND is no fault of the code but the limit of what is promised: a Close that comes
second returns at once, while the first may still wait for a lease whose holder has
seen the state before, and goes on delivering.
*/

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef CAP
#define CAP 2
#endif

mtype = { open, draining, drained, closed };
mtype state = open;
bool over;                   /* Life.over is closed */
byte credits[2];             /* the stripes */
byte changed[2] = 255;       /* in place of versions: who has not looked at the stripe since it changed, a bit each */
byte moving;
byte published;              /* tasks in inbox or queue */
bool lease;
byte accepted, delivered, dropped; /* ghost */
bool closeReturned, shutdownReturned;

#define LOCALS byte free; bool sure
#define ME (1 << _pid)

inline give(s) { atomic { credits[s]++; changed[s] = 255 } }

inline giveAnywhere() {
	if
	:: give(0)
	:: give(1)
	fi
}

inline look() {
	atomic { free = credits[0]; changed[0] = changed[0] & (255 - ME) };
	atomic { free = free + credits[1]; changed[1] = changed[1] & (255 - ME); sure = true };
	if
	:: moving != 0 -> sure = false
	:: else ->
		if
		:: changed[0] & ME -> sure = false
		:: else -> sure = !(changed[1] & ME)
		fi
	fi;
	atomic { changed[0] = changed[0] | ME; changed[1] = changed[1] | ME }
}

inline finish() { over = true }

inline drainCheck() {
	look();
#ifdef FAULT_UNSURE_SUM
	sure = true;
#endif
	if
	:: sure && free == CAP ->
		atomic { /* TryFinish */
			if
			:: state == draining ->
				state = drained;
				assert(accepted == delivered)
			:: else -> goto nope
			fi
		};
		finish();
nope:	skip
	:: else
	fi;
	atomic { free = 0; sure = false }
}

inline unlock() {
	lease = false;
#ifndef FAULT_UNLOCK_NO_CHECK
	if
	:: state == draining -> drainCheck()
	:: else
	fi
#endif
}

inline discardAll() {
	do
	::	atomic { !lease -> lease = true };
		if
		:: atomic { published > 0 -> n = published; published = 0; dropped = dropped + n }
		:: atomic { published == 0 -> n = 0 }
		fi;
		do
		:: n > 0 -> giveAnywhere(); n--
		:: else -> break
		od;
		unlock();
		break
	od
}

proctype Producer() {
	LOCALS;
	byte own, n, got;
	if
	:: state != open -> goto done
	:: else
	fi;
	/* E2: from the own stripe, or the other, with half of what is left there */
	if
	:: own = 0
	:: own = 1
	fi;
	do
	:: atomic { credits[own] > 0 -> credits[own]--; changed[own] = 255; break }
	:: credits[own] == 0 ->
		if
		:: credits[1 - own] > 0 ->
			moving++;
			if
			:: atomic { credits[1 - own] > 0 -> credits[1 - own]--; changed[1 - own] = 255; got = 1 };
				if
				:: atomic { credits[1 - own] > 0 -> credits[1 - own]--; changed[1 - own] = 255 };
					give(own)
				:: credits[1 - own] == 0
				fi
			:: credits[1 - own] == 0
			fi;
			moving--;
			if
			:: got -> got = 0; break
			:: else
			fi
		:: else
		fi;
		look();
		if
		:: sure && free == 0 -> goto done /* ErrGlobalFull or ErrClosed */
		:: else -> free = 0; sure = false
		fi
	od;
#ifndef FAULT_NO_E3
	if
	:: state != open ->
#ifndef FAULT_E3_KEEPS
		giveAnywhere();
#endif
#ifndef FAULT_E3_NO_CHECK
		if
		:: state == draining -> drainCheck()
		:: else
		fi;
#endif
		goto done
	:: else
	fi;
#endif
	atomic { accepted++; published++ }; /* E4, E5 */
#ifndef FAULT_NO_E6
	if
	:: state == closed -> discardAll()
	:: else
	fi;
#endif
done:
	skip
}

proctype Consumer() {
	LOCALS;
end_idle:
	do
	:: published > 0 && state != closed ->
		atomic { !lease -> lease = true };
		if
#ifndef FAULT_SERVE_ANYWAY
		:: state == closed -> unlock()
		:: state != closed ->
#else
		:: true ->
#endif
			if
			:: atomic { published > 0 -> published--; delivered++; assert(!closeReturned) };
				giveAnywhere()
			:: atomic { published == 0 -> skip }
			fi;
			unlock()
		fi
	:: state == drained || state == closed -> break /* Over */
	od
}

proctype Shutdown() {
	LOCALS;
#ifdef FAULT_LOOK_FIRST
	if
	:: state == open -> look();
		atomic { if :: state == open -> state = draining; sure = sure && free == CAP :: else -> sure = false fi };
		if
		:: sure -> atomic { if :: state == draining -> state = drained; assert(accepted == delivered) :: else fi }; finish()
		:: else
		fi
	:: else
	fi;
#else
	atomic {
		if
		:: state == open -> state = draining
		:: else -> goto wait
		fi
	};
	drainCheck();
#endif
wait:
	over;
	if
	:: state == closed
	:: else -> assert(accepted == delivered && published == 0)
	fi;
	shutdownReturned = true
}

#ifdef CLOSE
proctype Closer(bool promises) {
	LOCALS;
	byte n;
	bool ours;
	atomic {
		if
		:: state == open || state == draining -> state = closed; ours = true
		:: else
		fi
	};
	if
	:: ours -> discardAll(); finish()
	:: else
	fi;
	if
	:: promises && ours -> closeReturned = true
#ifdef SECOND
	:: promises && !ours -> closeReturned = true
#endif
	:: else
	fi
}
#endif

proctype Rest() {
	timeout ->
	assert(accepted == delivered + dropped && published == 0);
	assert(credits[0] + credits[1] == CAP && moving == 0 && !lease);
#ifndef NO_SHUTDOWN
	assert(shutdownReturned)
#endif
}

init {
	byte k;
	atomic {
		credits[0] = CAP / 2 + CAP % 2; credits[1] = CAP / 2;
		for (k : 1 .. PRODUCERS) { run Producer() }
		for (k : 1 .. CONSUMERS) { run Consumer() }
#ifndef NO_SHUTDOWN
		run Shutdown();
#endif
#ifdef CLOSE
		run Closer(true);
#ifdef SECOND
		run Closer(true);
#endif
#endif
		run Rest()
	}
}
