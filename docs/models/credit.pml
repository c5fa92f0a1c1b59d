/*
The striped credits: lockfree/internal/credit/credit.go.

Stands for   Pool.TakeAt (of 1), stripe.take, refill, look, None, Give, Free.
Left out     The fast paths are these steps; the number of a caller's stripe is
             drawn anew at each call. Versions are bytes and do not wrap within
             the bounds (in the code they have 32 bits).
Property     At every instant the credits in stripes, on the move and out are the
             capacity, and out never exceeds it (I1). A call is refused only if
             there was an instant during it at which all credits were out, credits
             on the move not counted as out (I3). A sum that look is sure of was
             the number of credits in stripes and on the move at one instant.
Bounds       2 or 3 stripes, capacity 2 or 3; up to 3 takers, that give back or
             keep; one that asks None; one that asks Free; one that comes and
             goes three times on the fast paths.

RUN   two
RUN   more        -DCAP=3
RUN   churn       -DTAKERS=1 -DNONE -DCHURN=3
RUN   free        -DTAKERS=1 -DFREE -DCHURN=2
RUN   churn2      -DTAKERS=2 -DCHURN=2
RUN   three       -DSTRIPES=3 -DCAP=2 -DTAKERS=2 -DFREE
RUN   none        -DTAKERS=2 -DNONE
FAULT TAKE_NOT_CAS   take is a Load and a Store
FAULT NO_VERSION     -DTAKERS=1 -DNONE -DCHURN=3: a change of a stripe does not count its version up
FAULT NO_LOOK        -DTAKERS=2 -DSTRIPES=3: refill says no without a look at one instant
FAULT ONE_LOOK       -DTAKERS=2 -DNONE -DSTRIPES=3: look looks once
FAULT NO_MOVERS      -DTAKERS=2 -DNONE: look does not ask for movers
FAULT MOVERS_LATE    -DTAKERS=2 -DNONE: look asks for movers after its two looks
FAULT MOVING_EARLY   -DTAKERS=2 -DNONE: moving ends before the credits arrive
*/

#ifndef STRIPES
#define STRIPES 2
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef TAKERS
#define TAKERS 3
#endif
#define CALLERS (TAKERS + 2)

byte credits[STRIPES], version[STRIPES]; /* stripe.word */
byte moving;
byte out;            /* ghost: credits with callers, not on the move */
byte transit;        /* ghost: credits on the move */
bool all[CALLERS];   /* ghost: there was an instant in this call with all out */
bool seen[CAP + 1];  /* ghost: there was an instant since Free began with so many not out */
bool watching;

#ifdef FAULT_NO_VERSION
#define CHANGED(s)
#else
#define CHANGED(s) version[s]++
#endif

#ifdef FREE
#define SEEN if :: watching -> seen[CAP - out] = true :: else fi
#else
#define SEEN skip
#endif

/* Ghost: one more is out. */
#define ONE_OUT out++; assert(out <= CAP); SEEN; \
	if :: out == CAP -> for (g : 0 .. CALLERS - 1) { all[g] = true } g = 0 :: else fi

inline begin() { atomic { all[me] = (out == CAP) } }

/* take takes n credits at most of a stripe, here 1; got is how many. */
inline take(s) {
	do
	::	atomic { c = credits[s]; v = version[s] };
		if
		:: c == 0 -> got = 0; break
		:: else
		fi;
		atomic { /* CompareAndSwap */
			if
#ifdef FAULT_TAKE_NOT_CAS
			:: true ->
#else
			:: credits[s] == c && version[s] == v ->
#endif
				credits[s] = c - 1; CHANGED(s); got = 1; ONE_OUT; break
			:: else
			fi
		}
	od;
	c = 0; v = 0
}

/* takeExtra takes half, rounded up, of what is left. */
inline takeExtra(s) {
	want = (credits[s] + 1) / 2;
	do
	::	atomic { c = credits[s]; v = version[s] };
		if
		:: c == 0 || want == 0 -> extra = 0; break
		:: else
		fi;
		atomic {
			if
			:: credits[s] == c && version[s] == v ->
				extra = (want < c -> want : c);
				credits[s] = c - extra; CHANGED(s); transit = transit + extra; break
			:: else
			fi
		}
	od;
	c = 0; v = 0; want = 0
}

/* look puts the sum into free; sure: it was that at one instant. */
inline look() {
	free = 0; s = 0; sure = true;
	do
	:: s < STRIPES -> atomic { words[s] = credits[s]; vers[s] = version[s]; free = free + words[s]; s++ }
	:: else -> break
	od;
#if !defined(FAULT_NO_MOVERS) && !defined(FAULT_MOVERS_LATE)
	if
	:: moving != 0 -> sure = false
	:: else
	fi;
#endif
#ifndef FAULT_ONE_LOOK
	s = 0;
	do
	:: sure && s < STRIPES ->
		atomic { sure = (words[s] == credits[s] && vers[s] == version[s]); s++ }
	:: else -> break
	od;
#endif
#ifdef FAULT_MOVERS_LATE
	if
	:: moving != 0 -> sure = false
	:: else
	fi;
#endif
	atomic {
		s = 0;
		for (g : 0 .. STRIPES - 1) { words[g] = 0; vers[g] = 0 }
		g = 0
	}
}

inline give(s) { atomic { credits[s]++; CHANGED(s); out--; SEEN } }

inline drawStripe(s) {
	if
	:: s = 0
	:: s = 1
#if STRIPES > 2
	:: s = 2
#endif
	fi
}

proctype Taker(byte me) {
	byte own, from, c, v, got, extra, want, free, s, g;
	byte words[STRIPES], vers[STRIPES];
	bool sure;
	drawStripe(own);
	begin();
again:
	take(own);
	if
	:: got > 0 -> goto taken
	:: else
	fi;
	/* refill */
	from = 0;
	do
	:: from == STRIPES -> break
	:: from < STRIPES && (from == own || credits[from] == 0) -> from++
	:: from < STRIPES && from != own && credits[from] > 0 ->
		moving++;
		take(from);
		if
		:: got > 0 ->
			takeExtra(from);
#ifdef FAULT_MOVING_EARLY
			moving--;
#endif
			if
			:: extra > 0 ->
				atomic { credits[own] = credits[own] + extra; CHANGED(own); transit = transit - extra; extra = 0 }
			:: else
			fi
		:: else
		fi;
#ifdef FAULT_MOVING_EARLY
		if
		:: got == 0 -> moving--
		:: else
		fi;
#else
		moving--;
#endif
		if
		:: got > 0 -> from = 0; goto taken
		:: else -> from++
		fi
	od;
	from = 0;
#ifndef FAULT_NO_LOOK
	look();
	if
	:: !sure || free > 0 -> goto again
	:: else
	fi;
#endif
	assert(all[me]); /* refused */
	goto done;
taken:
	if
	:: drawStripe(own); give(own)
	:: skip
	fi;
done:
	skip
}

#ifdef NONE
proctype None(byte me) {
	byte own, free, s, g;
	byte words[STRIPES], vers[STRIPES];
	bool sure;
	drawStripe(own);
	begin();
	do
	:: credits[own] != 0 -> break
	:: else ->
		look();
		if
		:: free > 0 -> break
		:: free == 0 && sure -> assert(all[me]); break
		:: else
		fi
	od
}
#endif

#ifdef FREE
proctype Free() {
	byte free, s, g;
	byte words[STRIPES], vers[STRIPES];
	bool sure;
	atomic { watching = true; SEEN };
	look();
	assert(!sure || seen[free])
}
#endif

#ifdef CHURN
/* A caller that comes and goes: it holds a credit, gives it back to some stripe,
and takes one on the fast path of another. */
proctype Churn() {
	byte s, c, v, got, g, n = CHURN;
	do
	:: n > 0 ->
		n--;
		drawStripe(s);
		give(s);
		do
		:: drawStripe(s); take(s);
			if
			:: got > 0 -> break
			:: else -> goto stop /* others have it; the other paths are Taker's */
			fi
		od
	:: else -> break
	od;
stop:
	skip
}
#endif

proctype Rest() {
	byte s, n;
	timeout ->
	atomic {
		for (s : 0 .. STRIPES - 1) { n = n + credits[s] }
		assert(n + out == CAP && transit == 0 && moving == 0)
	}
}

init {
	byte k;
	atomic {
		credits[0] = CAP / STRIPES + CAP % STRIPES;
		for (k : 1 .. STRIPES - 1) { credits[k] = CAP / STRIPES }
#ifdef CHURN
		credits[0]--; out++;
		run Churn();
#endif
		for (k : 0 .. TAKERS - 1) { run Taker(k) }
#ifdef NONE
		run None(TAKERS);
#endif
#ifdef FREE
		run Free();
#endif
		run Rest()
	}
}
