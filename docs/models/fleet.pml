/*
The slots of a fleet: leases, round trips, pushes, and a server that forgets.

Stands for   contrib/firqfleet: lua/sync.lua, one step, as the server runs one script at a time; Gate.request, sync and answer
             (sync.go), quick and releaseSlow, check and lose (lease.go), given and pushed. A process has one round trip under
             way; its request may be lost, and so may the answer, and any push.
Left out     Tenants, turns and their order (TestOrder has those), heavy calls, limits that change, Close, Down; pushes that
             come after the failover before which they were sent (the next round trip sees them). Time is who
             may still believe in a lease: it may end at any instant, first by the clock of its process, then by the server's,
             which goes at the same rate; what gave nothing out for a lease goes on when no process believes in one that it had
             before, unless it has joined since.
Property     Of slots that were given out under a lease which holds no more than SLOTS are in use. What the server thinks that a
             process has is what it has, whenever they agree on their last round trip. A process that joins has a greater token than any before.
Bounds       Two processes, two slots; TRIPS round trips of each; one loses a message (LOSS), a lease (LATE), a failover to
             older data (OLDER), all data (FORGETS), a push (PUSH).

RUN   plain     -DTRIPS=4
RUN   loss      -DLOSS
RUN   late      -DLATE
RUN   latelost  -DLATE -DLOSS
RUN   forgets   -DFORGETS
RUN   older     -DOLDER
FAULT AGAIN          -DLOSS: a round trip whose outcome is open is made again
FAULT JOIN_BESIDE    -DLOSS -DTRIPS=4: who joins counts twice
FAULT JOIN_LATE      -DLATE -DTRIPS=4: what is released while a join is under way does not go back
FAULT UNDECLARED     -DLOSS -DTRIPS=4: who joins says what is idle, not what is in use
FAULT KEEPS          -DLATE: what is idle when the lease ends stays
FAULT UNCHECKED      -DLATE: slots are given out without a look at the clock
FAULT SLEPT          -DLATE: an answer counts that comes after its lease has ended
FAULT REVIVES        -DLATE -DLOSS: an answer keeps what was idle when the lease ended while it was under way
FAULT PUSH_ANY       -DLATE -DTRIPS=4: a push of an earlier token counts
FAULT PUSH_TWICE     -DTRIPS=4: what was pushed counts again when the answer repeats it
FAULT NO_OUTBOX      -DTRIPS=3: what was pushed is not repeated
FAULT NO_QUIET       -DFORGETS: who joins first after all data is lost gets what others have
FAULT NO_TRIPS       -DOLDER: data that is older than a round trip is not noticed
FAULT NO_SEEN        -DOLDER: nor is data that is older than a push
FAULT NO_SERVER      -DOLDER: a process that older data knows right gets what it does not know of others
FAULT TOKENS         -DOLDER: tokens are counted on in older data
*/

#ifndef TRIPS
#define TRIPS 3
#endif
#define SLOTS 2
#define MEMBERS 2
#define OTHER (1 - me)

#ifdef FAULT_UNCHECKED
#define CHECK leased[me]
#else
#define CHECK (leased[me] && valid[me])
#endif

/* The server. */
bool in[MEMBERS];      /* :l */
byte has[MEMBERS];     /* # */
byte tok[MEMBERS];     /* #t */
byte trp[MEMBERS];     /* #q */
byte seq[MEMBERS];     /* #s */
byte out[MEMBERS];     /* #o, how many */
bool waits[MEMBERS];
byte last;             /* e */
byte data = 1;         /* g */
byte server = 1, known_server; /* whose data it is: the id of its replication, ri */
bool quiet;            /* now < qt */

#ifdef OLDER
/* A replica that lags behind. */
bool in2[MEMBERS], waits2[MEMBERS];
byte has2[MEMBERS], tok2[MEMBERS], trp2[MEMBERS], seq2[MEMBERS], out2[MEMBERS];
byte last2;
bool quiet2;
byte known2;
#endif

/* The processes. */
byte idle[MEMBERS], used[MEMBERS], back[MEMBERS];
byte fenced[MEMBERS];  /* in use since a lease that has ended */
byte token[MEMBERS], trips[MEMBERS], seen[MEMBERS], data_of[MEMBERS];
bool known[MEMBERS], leased[MEMBERS];
bool valid[MEMBERS];   /* its lease has not ended by its clock: a fact, which it sees when it looks */
byte pushTok[MEMBERS], pushSeq[MEMBERS]; /* a push on its way; token 0: none */
/* Its round trip. */
byte state[MEMBERS];   /* 0 none, 1 sent, 2 answered, 3 failed */
bool joins[MEMBERS], wants[MEMBERS];
byte gives[MEMBERS], says[MEMBERS];
bool right[MEMBERS];   /* the answer: it is known */
byte got[MEMBERS], repeat[MEMBERS], number[MEMBERS], newTok[MEMBERS], newData[MEMBERS];
bool stale[MEMBERS];   /* the lease of the answer has ended */
bool before[MEMBERS];  /* it has not joined since nothing is given out */
/* Ghost. */
byte greatest;

byte made[MEMBERS];
bool lost, ended, dropped, failed;

#define HELD(m) (idle[m] + used[m] + fenced[m])
#define U (has[0] + has[1])

inline sound() {
	assert(used[0] + used[1] <= SLOTS);
	i = 0;
	do
	:: i == MEMBERS -> break
	:: else ->
		assert(!(known[i] && valid[i] && state[i] == 0 && in[i] && tok[i] == token[i] && trp[i] == trips[i] && data_of[i] == data && !before[i])
			|| has[i] + seen[i] == HELD(i) + back[i] + seq[i] && seen[i] <= seq[i]);
		i++
	od;
	i = 0
}

/* What the server knows of a process. */
inline forget(m) { has[m] = 0; waits[m] = false; tok[m] = 0; trp[m] = 0; seq[m] = 0; out[m] = 0 }

inline begin_quiet() { quiet = true; before[0] = valid[0] || state[0] == 2; before[1] = valid[1] || state[1] == 2 }

/* sync.lua */
inline script() {
	right[me] = false; got[me] = 0; repeat[me] = 0; stay = false;
	if
	:: joins[me] ->
		if
#ifndef FAULT_NO_QUIET
		:: token[me] > 0 && (data_of[me] != data || token[me] > last || in[me] && tok[me] == token[me] && (trp[me] < trips[me] || seq[me] < seen[me])) -> begin_quiet()
#endif
		:: else
		fi;
#ifndef FAULT_JOIN_BESIDE
		has[me] = 0;
#endif
#ifdef FAULT_TOKENS
		last++;
#else
		last = (last > greatest -> last : greatest) + 1; /* the clock */
#endif
		assert(last > greatest); greatest = last;
		in[me] = true; tok[me] = last; has[me] = has[me] + says[me]; trp[me] = 0; seq[me] = 0; out[me] = 0; waits[me] = false;
		before[me] = false; right[me] = true; stay = false; newTok[me] = last
	:: else ->
		right[me] = in[me] && tok[me] == token[me];
		if
#ifndef FAULT_NO_TRIPS
		:: right[me] && trp[me] != trips[me] -> right[me] = false; begin_quiet()
#endif
#ifndef FAULT_NO_SEEN
		:: right[me] && trp[me] == trips[me] && seq[me] < seen[me] -> right[me] = false; begin_quiet()
#endif
		:: else
		fi;
		stay = right[me]; newTok[me] = token[me];
		if
		:: stay -> before[me] = false; has[me] = has[me] - gives[me]; repeat[me] = out[me]; number[me] = seq[me]; out[me] = 0
		:: else
		fi
	fi;
	if
	:: right[me] -> waits[me] = wants[me]
	:: else
	fi;
#ifndef FAULT_NO_SERVER
	if
	:: known_server == 0 || U < SLOTS && (waits[0] || waits[1]) && known_server != server ->
		if
		:: known_server != 0 -> begin_quiet(); before[me] = before[me] && !right[me]
		:: else
		fi;
		known_server = server
	:: else
	fi;
#endif
	i = 0;
	do
	:: i == MEMBERS -> break
	:: else ->
		if
		:: waits[i] && in[i] && U < SLOTS && !quiet ->
			waits[i] = false; has[i]++;
			if
			:: i == me && stay -> got[me]++
			:: else -> seq[i]++; out[i]++; pushTok[i] = tok[i]; pushSeq[i] = seq[i]
			fi
		:: else
		fi;
		i++
	od;
	i = 0; newData[me] = data; stale[me] = false;
	if
	:: right[me] -> trp[me]++
	:: else
	fi
#ifdef FAULT_NO_OUTBOX
	; out[0] = 0; out[1] = 0
#endif
	; stay = false
}

/* lose of lease.go. */
inline lose() {
	leased[me] = false; known[me] = false;
#ifndef FAULT_KEEPS
	back[me] = back[me] + idle[me]; idle[me] = 0
#endif
}

/* Who is told of its loss does not use what it had. */
inline fence(m) { valid[m] = false; fenced[m] = fenced[m] + used[m]; used[m] = 0 }

inline take(n) { used[me] = used[me] + n }

inline answer() {
	if
#ifndef FAULT_REVIVES
	:: leased[me] && !valid[me] -> lose()
#endif
	:: else
	fi;
	if
	:: !right[me] -> fence(me); lose(); known[me] = false
	:: right[me] && (stale[me] || !joins[me] && !leased[me]) ->
#ifdef FAULT_SLEPT
		leased[me] = true; known[me] = true; token[me] = newTok[me]; take(got[me]);
#else
		fence(me); token[me] = newTok[me]; data_of[me] = newData[me]; lose(); trips[me]++;
#endif
	:: else ->
		if
		:: joins[me] -> token[me] = newTok[me]; trips[me] = 0; seen[me] = 0
		:: else
		fi;
		leased[me] = true; known[me] = true; valid[me] = true; data_of[me] = newData[me];
		trips[me]++;
#ifdef FAULT_JOIN_LATE
		if
		:: joins[me] -> back[me] = 0
		:: else
		fi;
#endif
		take(got[me]);
#ifdef FAULT_PUSH_TWICE
		take(repeat[me]); seen[me] = (joins[me] -> 0 : number[me])
#else
		if /* those after what was seen */
		:: repeat[me] > 0 && number[me] > seen[me] -> take(number[me] - seen[me]); seen[me] = number[me]
		:: else
		fi
#endif
		; assert(joins[me] || seen[me] >= number[me]) /* it has all turns by now */
	fi;
	got[me] = 0; repeat[me] = 0; number[me] = 0; newTok[me] = 0; newData[me] = 0; stale[me] = false;
	right[me] = false; joins[me] = false; wants[me] = false; gives[me] = 0; says[me] = 0
}

proctype Member(byte me) {
	byte i;
	bool stay;
end_member:
	do
	:: d_step { CHECK && idle[me] > 0 && back[me] == 0 -> idle[me]--; used[me]++; sound() } /* quick */
	:: d_step { used[me] > 0 && CHECK -> used[me]--; idle[me]++; sound() }
	:: d_step { used[me] > 0 && CHECK -> used[me]--; back[me]++; sound() }
	:: d_step { fenced[me] > 0 && CHECK -> fenced[me]--; back[me]++; sound() } /* the fleet may be above its limit */
	:: d_step { fenced[me] > 0 && !leased[me] -> fenced[me]--; back[me]++; sound() }
	:: d_step { leased[me] && !valid[me] -> lose(); sound() } /* check */
	:: d_step { idle[me] > 0 && CHECK -> idle[me]--; back[me]++; sound() } /* yieldFree */
	:: atomic { state[me] == 0 && made[me] < TRIPS && (!leased[me] || valid[me]) -> /* request */
		made[me]++; state[me] = 1;
		joins[me] = !known[me];
		if
		:: wants[me] = true
		:: wants[me] = false
		fi;
		if
#ifdef FAULT_UNDECLARED
		:: joins[me] -> says[me] = idle[me]; back[me] = 0
#else
		:: joins[me] -> says[me] = HELD(me);
#ifndef FAULT_JOIN_LATE
			back[me] = 0
#endif
#endif
		:: else -> gives[me] = back[me]; back[me] = 0
		fi
	   }
	:: d_step { state[me] == 1 -> script(); state[me] = 2; sound() }
#ifdef LOSS
	:: d_step { state[me] == 1 && !lost -> lost = true; state[me] = 3 }
	:: d_step { state[me] == 2 && !lost -> lost = true; state[me] = 3; right[me] = false; stale[me] = false; got[me] = 0; repeat[me] = 0; number[me] = 0; newTok[me] = 0; newData[me] = 0 }
#endif
	:: d_step { state[me] == 2 -> state[me] = 0; answer(); sound() }
	:: d_step { state[me] == 3 -> state[me] = 0;
#ifdef FAULT_AGAIN
		if
		:: !joins[me] -> back[me] = back[me] + gives[me]
		:: else -> known[me] = false
		fi;
		trips[me] = trp[me];
#else
		known[me] = false;
#endif
		joins[me] = false; wants[me] = false; gives[me] = 0; says[me] = 0; sound() }
	:: d_step { pushTok[me] > 0 -> /* given */
		if
#ifdef FAULT_PUSH_ANY
		:: known[me] && CHECK && pushSeq[me] == seen[me] + 1 -> seen[me]++; used[me]++
#else
		:: pushTok[me] == token[me] && known[me] && CHECK && pushSeq[me] == seen[me] + 1 -> seen[me]++; used[me]++
#endif
		:: else
		fi;
		pushTok[me] = 0; pushSeq[me] = 0; sound() }
#ifdef LATE
	:: d_step { valid[me] && !ended -> ended = true; fence(me) } /* it ends by its clock */
#endif
#ifdef LATE
	/* and by the server's: an answer on its way is of a lease that has ended */
	:: d_step { in[me] && !valid[me] && !dropped -> dropped = true; in[me] = false; stale[me] = (state[me] == 2); forget(me); sound() }
#endif
	od
}

/* What is not a process's doing. */
proctype Rest() {
	byte i;
end_rest:
	do
	:: d_step { quiet && !before[0] && !before[1] -> quiet = false }
#if defined(FORGETS) || defined(OLDER)
	/* a lease passes since it was lost */
	:: d_step { quiet && before[0] && state[0] != 2 -> before[0] = false; fence(0) }
	:: d_step { quiet && before[1] && state[1] != 2 -> before[1] = false; fence(1) }
	:: d_step { quiet && before[0] && state[0] == 2 -> before[0] = false; fence(0); stale[0] = true }
	:: d_step { quiet && before[1] && state[1] == 2 -> before[1] = false; fence(1); stale[1] = true }
#endif
#ifdef FORGETS
	/* A process that never was a member may not be the first to join then. */
	:: d_step { !failed && token[0] > 0 && token[1] > 0 -> failed = true; data++; last = 0; known_server = 0; server++; quiet = false;
		i = 0;
		do
		:: i == MEMBERS -> break
		:: else -> in[i] = false; forget(i); before[i] = false; i++
		od; i = 0 }
#endif
#ifdef OLDER
	:: d_step { !failed && server == 1 && last2 == 0 && last > 0 -> /* the last that the replica gets */
		last2 = last; quiet2 = quiet; known2 = known_server; i = 0;
		do
		:: i == MEMBERS -> break
		:: else -> in2[i] = in[i]; has2[i] = has[i]; tok2[i] = tok[i]; trp2[i] = trp[i]; seq2[i] = seq[i]; out2[i] = out[i]; waits2[i] = waits[i]; i++
		od; i = 0 }
	:: d_step { !failed && last2 > 0 -> failed = true; server++; last = last2; quiet = quiet2; known_server = known2; i = 0;
		do
		:: i == MEMBERS -> break
		:: else -> in[i] = in2[i]; has[i] = has2[i]; tok[i] = tok2[i]; trp[i] = trp2[i]; seq[i] = seq2[i]; out[i] = out2[i]; waits[i] = waits2[i];
			before[i] = true; pushTok[i] = 0; pushSeq[i] = 0; i++
		od; i = 0 }
#endif
	od
}

init {
	atomic { run Member(0); run Member(1); run Rest() }
}
