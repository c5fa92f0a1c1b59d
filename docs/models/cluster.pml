/*
Actors on several machines: taking an actor, the nodes' leases, fencing, leaving.

Stands for   contrib/firqnats: renew, fenced, live (life.go); observe, declareDead, alive, onBeat (members.go); take, replace,
             store, giveBack (record.go); beginLocked, begin, abandon (activation.go); holds (life.go), before a handler; Leave
             (leave.go). Each request to the server is one step, which may wait as long as it likes; that of its
             answer is another. A third of a lease is one tick of all clocks, which comes at any time.
Left out     Calls, order, moves, placement, idleness but as "gives the actor back"; clocks of different speed; the server forgets
             nothing. The other node hears of a renewal later, and of each but for those that are followed by the next before.
Property     Nothing that was saved is lost by a save, and what was acknowledged is saved, once, whatever happens. Two nodes do
             not handle at the same time, unless a pause hits a handler (late) or an observer is wrong (wrong). Fences grow.
             While the server is away no node is declared dead (away). At rest all messages were handled.
Bounds       One node to which all this happens, with two lives, and one that is well and watches it; one actor, two or three
             messages, one pause, one death, one time without the server, one or two requests or answers that are lost, at any step.

RUN   plain        -DMESSAGES=3
RUN   lost         -DLOST=2
RUN   die          -DDIE
RUN   dielost      -DDIE -DLOST=1
RUN   pause        -DPAUSE
RUN   late         -DPAUSE -DLATE
RUN   latelost     -DPAUSE -DLATE -DLOST=1
RUN   wrong        -DWRONG
RUN   away         -DAWAY -DPUNCTUAL
RUN   awaylate     -DAWAY -DLOST=1
RUN   leave        -DLEAVE -DMESSAGES=3
RUN   leavelost    -DLEAVE -DLOST=1
RUN   leavepause   -DLEAVE -DPAUSE
RUN   store        -DSTORE -DPAUSE -DLATE
FAULT SAVE_UNFENCED   -DPAUSE -DLATE: a save does not look at the revision
FAULT SAVE_ADOPTS     -DPAUSE -DLATE: a save that was refused takes the revision that is there, whoever wrote it
FAULT SAVE_LOST_OK    -DLOST=1: a save whose answer is lost counts as saved
FAULT SAVE_AGAIN      -DLOST=1: one whose answer is lost is not looked for, but done again
FAULT TAKE_UNFENCED   : who takes does not look at the revision
FAULT TAKE_ALIVE      : nor whether the owner is alive
FAULT TAKE_SILENT     -DPAUSE: who is silent counts as dead though its record is there
FAULT DELETE_UNFENCED : who deletes a silent node's record does not look at the revision
FAULT LEASE_WHOLE     -DPAUSE: a node handles for its whole lease, not two thirds
FAULT LEASE_ANSWERED  : a lease counts from the answer to its renewal
FAULT LEASE_REFUSED   -DLOST=1: a renewal that was refused, as the one before had come though its answer was lost, counts
FAULT NO_CLOCK        -DPAUSE: a handler begins without a look at the clock
FAULT BACK_UNFENCED   -DPAUSE: who gives an actor back does not look at the revision
FAULT FENCED_KEEPS    -DPAUSE: a node that was declared dead keeps its actors in its next life
FAULT OLD_LIFE        -DPAUSE: and may begin one in the name of the life that is over
FAULT LEAVE_FIRST     -DLEAVE: who leaves deletes its own record before it gives the actor back
FAULT READ_LAGS       : a replica answers that has not got a node's record yet
FAULT AWAY_COUNTS     -DAWAY -DPUNCTUAL: silence counts while the observer is cut off
FAULT NO_DELETE       -DDIE: a silent node's record stays
FAULT STORE_UNFENCED  -DSTORE -DPAUSE -DLATE: a Store does not look at the fence
FAULT STORE_LOAD      -DSTORE -DPAUSE -DLATE: Load does not let a Store refuse smaller fences
*/

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef TICKS
#define TICKS 5
#endif
#ifndef IDLE
#define IDLE 0
#endif
#define LEASE 3 /* ticks */
#ifdef FAULT_LEASE_WHOLE
#define HOLDS 3
#else
#define HOLDS 2
#endif
#define ILL 0      /* the node to which it happens; its lives are 0 and 1 */
#define WELL 1     /* the other; its life is 2 */
#define NONE 255

/* The bucket. Who wrote or read a record knows its revision until somebody else writes it. */
bool up = true;
bool alive[3];           /* n.<life> */
bool young[3];           /* it was not renewed yet */
byte owner = NONE, tag;  /* a.<actor>: head.Node, head.Activation; as the latter grows it is the fence, too */
byte saved;              /* the state, and head.Saves */
byte takes, fence;       /* fence: the greatest that a Store has seen */

/* The ill node. */
byte life;
byte left;               /* ticks that its lease still holds, by its clock */
byte pend;               /* and that it will, if the renewal in progress succeeds */
bool own;                /* it knows the revision of its record */
bool over = true;        /* its life is, and no other one has begun */
bool leaving, out, killed;

/* The other one, as it watches. */
byte seen = NONE;        /* the life of the ill node that it knows */
byte silent;             /* ticks in which it heard nothing */
bool known;              /* the revision of that life's record */
bool aims;               /* the one of the record that it is about to delete */
byte beat = NONE;        /* on its way: a renewal of that life */
bool fresh;              /* and there was no other one since */

/* Both. */
bool still[2];           /* it is paused, or dead */
bool has[2];             /* it knows the revision of the actor's record */
byte act[2];             /* the activation; 0: none, NONE: one that begins */
byte lost = LOST, ticks = TICKS, todo = MESSAGES;
byte idle = IDLE;        /* how often an actor ends that has nothing to do */

/* Ghosts. */
byte acked;
bool busy[2];            /* between the look at the clock and the request to save */
bool ticked[2];          /* a tick since the look */

#define LIFE(n) (n == ILL -> life : 2)
#define OUT(n) (n == ILL && out)
#define LEAVING(n) (n == ILL && leaving)
#ifdef FAULT_OLD_LIFE
#define IN(n) true
#else
#define IN(n) (n == WELL || !over)
#endif

/* What an attempt would find, so that nobody tries for ever. */
#if defined(FAULT_TAKE_ALIVE) || defined(FAULT_READ_LAGS)
#define FREE(n) true
#elif defined(FAULT_TAKE_SILENT)
#define FREE(n) (owner == NONE || owner == LIFE(n) || !alive[owner] || n == WELL && silent == LEASE)
#else
#define FREE(n) (owner == NONE || owner == LIFE(n) || !alive[owner] && !(n == WELL && seen == owner))
#endif

#ifdef FAULT_NO_CLOCK
#define HELD(n) true
#else
#define HELD(n) (n == WELL || left > 0)
#endif

/* A request or an answer is lost. */
#define LOSE lost > 0 -> lost--

inline sees(l) { seen = l; known = true; silent = 0 }

/* What the other node knows of the revision is no longer so. */
inline renewed() {
	known = (known && seen != life); aims = false; fresh = false
}

inline live() {
	pend = HOLDS;
	atomic { up -> alive[life] = true; young[life] = true; own = true };
	atomic { beat = life; fresh = true; over = false; left = pend; pend = 0 }
}

/* The ill node's ticker. */
proctype Keeper() provided (!still[0]) {
	bool done;
	live();
	do
	:: out -> break
	:: atomic { !out && left < HOLDS -> pend = HOLDS }; /* renew */
		atomic {
			up;
			if
			:: !alive[life] || !own -> done = false
			:: alive[life] && own -> renewed(); young[life] = false; done = true
			:: LOSE; done = false
			:: alive[life] && own && LOSE; renewed(); own = false; done = false
			fi
		};
		if
		:: atomic { done ->
#ifdef FAULT_LEASE_ANSWERED
			left = HOLDS;
#else
			left = pend;
#endif
			pend = 0; done = false; beat = life; fresh = true
			}
		:: atomic { !done && up ->
			pend = 0;
			if
			:: alive[life] -> own = true;
#ifdef FAULT_LEASE_REFUSED
				left = HOLDS
#endif
			:: !alive[life] && leaving -> goto end
			:: !alive[life] && !leaving -> /* fenced */
				left = 0; over = true;
#ifndef FAULT_FENCED_KEEPS
				act[ILL] = 0
#endif
			fi
			};
			if
			:: over && life == 0 -> life = 1; live()
			:: over && life == 1 -> atomic { out = true; act[ILL] = 0 }
			:: !over
			fi
		fi
	od;
end:
	skip
}

/* The other node's ticker. */
proctype Watcher() {
	byte target = NONE;
	do
	:: atomic { beat != NONE -> /* onBeat */
		if
		:: alive[beat] -> seen = beat; silent = 0; known = fresh
		:: !alive[beat]
		fi;
		beat = NONE; fresh = false
		}
#ifndef FAULT_NO_DELETE
#ifdef WRONG
	:: atomic { seen != NONE -> target = seen; aims = known };
#else
	:: atomic { seen != NONE && silent == LEASE && up -> target = seen; aims = known };
#endif
		atomic { /* declareDead */
			up;
			if
#ifdef FAULT_DELETE_UNFENCED
			:: alive[target] ->
#else
			:: alive[target] && aims ->
#endif
				alive[target] = false; seen = NONE;
#ifdef PUNCTUAL
				assert(false);
#endif
			:: else ->
				if
				:: alive[target] -> sees(target)
				:: else -> seen = NONE
				fi
			fi;
			target = NONE; aims = false; silent = 0
		}
#endif
	od
}

inline forgets(n) {
	atomic { act[n] = (act[n] == mine -> 0 : act[n]); done = false; mine = 0; mem = 0; who = NONE; name = NONE; has[n] = false }
}

/* giveBack */
inline gives(n) {
	do
	:: atomic {
		up;
		if
#ifdef FAULT_BACK_UNFENCED
		:: owner != NONE -> owner = NONE; tag = 0; has[0] = false; has[1] = false; done = true
		:: owner == NONE -> done = true
#else
		:: has[n] && tag == mine -> owner = NONE; tag = 0; has[0] = false; has[1] = false; done = true
		:: !(has[n] && tag == mine) -> done = false
		:: LOSE; done = false
		:: has[n] && tag == mine && LOSE; owner = NONE; tag = 0; has[0] = false; has[1] = false; done = false
#endif
		fi
		};
		if
		:: done -> break
		:: atomic { !done && up -> done = (tag != mine); has[n] = true };
			if
			:: done -> break
			:: !done
			fi
		fi
	od
}

/* take; mine is 0 if another node has the actor. */
inline takesIt(n) {
	do
	:: atomic { up -> who = owner; has[n] = true };
		if
		:: who == NONE || who == name -> who = NONE
		:: who != NONE && who != name ->
			atomic { /* alive */
				up;
				if
#ifdef FAULT_TAKE_ALIVE
				:: true -> who = NONE
#else
#ifdef FAULT_TAKE_SILENT
				:: n == WELL && silent == LEASE -> who = NONE
#endif
#ifdef FAULT_READ_LAGS
				:: young[who] -> who = NONE
#endif
				:: n == WELL && seen == who
				:: !(n == WELL && seen == who) && alive[who] ->
					if
					:: n == WELL -> sees(who)
					:: n == ILL
					fi
				:: !(n == WELL && seen == who) && !alive[who] -> who = NONE
#endif
				fi
			}
		fi;
		if
		:: who != NONE -> break
		:: who == NONE
		fi;
		atomic {
			up;
			if
#ifdef FAULT_TAKE_UNFENCED
			:: true -> taken(n); done = true
#else
			:: has[n] -> taken(n); done = true
			:: !has[n] -> done = false
			:: LOSE; done = false
			:: has[n] && LOSE; taken(n); has[n] = false; done = false
#endif
			fi
		};
		if
		:: done -> done = false; break
		:: atomic { !done && up ->
			if
			:: mine != 0 && tag == mine -> has[n] = true; break
			:: else -> mine = 0
			fi
			}
		fi
	od
}

inline taken(n) {
	owner = name; takes++; tag = takes; mine = takes; mem = saved; has[0] = (n == 0); has[1] = (n == 1)
}

/* What a write does to the record. */
inline write() {
	assert(mem == saved + 1); saved = mem
}

inline saves(n) {
#ifdef STORE
	atomic {
		if
#ifdef FAULT_STORE_UNFENCED
		:: true ->
#else
		:: mine >= fence ->
#endif
			fence = (mine > fence -> mine : fence); write(); acked++
		:: else -> act[n] = (act[n] == mine -> 0 : act[n])
		fi
	}
#else
	do
	:: atomic {
		up;
		if
#ifdef FAULT_SAVE_UNFENCED
		:: true -> write(); done = true
#else
		:: has[n] -> assert(tag == mine); write(); has[1 - n] = false; done = true
		:: !has[n] -> done = false
		:: LOSE;
#ifdef FAULT_SAVE_LOST_OK
			done = true
#else
			done = false
#endif
		:: has[n] && LOSE; write(); has[0] = false; has[1] = false; done = false
#endif
		fi
		};
		atomic {
			done || up;
			if
			:: done -> done = false; acked++; assert(acked <= saved); break
#ifdef FAULT_SAVE_ADOPTS
			:: !done -> has[n] = true; tag = mine
#else
			:: !done && tag != mine -> act[n] = (act[n] == mine -> 0 : act[n]); break /* ErrFenced ends the activation */
#ifdef FAULT_SAVE_AGAIN
			:: !done && tag == mine -> has[n] = true
#else
			:: !done && tag == mine && saved == mem -> has[n] = true; acked++; assert(acked <= saved); break
			:: !done && tag == mine && saved != mem -> has[n] = true
#endif
#endif
			fi
		}
	od
#endif
}

/* The activations of a node, one after the other. */
proctype Worker(byte n) provided (!still[n]) {
	byte mine, mem, name = NONE, who = NONE;
	bool done;
	do
	:: OUT(n) -> break
	:: atomic { !OUT(n) && !LEAVING(n) && todo > 0 && act[n] == 0 && FREE(n) && IN(n) -> name = LIFE(n); act[n] = NONE };
		takesIt(n);
		if
		:: mine == 0 -> act[n] = (act[n] == NONE -> 0 : act[n])
		:: mine != 0 ->
#ifdef STORE
			atomic {
				mem = saved;
#ifndef FAULT_STORE_LOAD
				fence = (mine > fence -> mine : fence)
#endif
			};
#endif
			act[n] = (act[n] == NONE -> mine : act[n]); /* else it was abandoned while it began */
			do
			:: act[n] != mine -> break
			:: atomic { act[n] == mine && todo > 0 && HELD(n) ->
				todo--; busy[n] = true; mem++;
#if !defined(LATE) && !defined(WRONG)
				assert(!busy[1 - n])
#endif
				};
				d_step { busy[n] = false; ticked[n] = false };
				saves(n)
			:: atomic { act[n] == mine && idle > 0 && todo > 0 && !LEAVING(n) -> idle-- }; gives(n); break
			:: act[n] == mine && LEAVING(n) -> break
			od;
			gives(n)
		fi;
		forgets(n)
	od
}

/* A handler that takes more than a third of a lease, though its node does not stop. */
#define LONG(n) (busy[n] && ticked[n] && !still[n])
#ifdef PUNCTUAL
/* Who can has renewed, and was heard, as a renewal comes every fifth of a lease. */
#define RENEWED (!up || left == HOLDS && beat == NONE)
#else
#define RENEWED true
#endif

/* A third of a lease has passed. */
proctype Clock() {
	do
	:: atomic { ticks > 0 && !LONG(0) && !LONG(1) && RENEWED ->
		ticks--;
		left = (left > 0 -> left - 1 : 0);
		pend = (pend > 0 -> pend - 1 : 0);
		if
#ifdef FAULT_AWAY_COUNTS
		:: seen != NONE && silent < LEASE -> silent++
#else
		:: seen != NONE && up && silent < LEASE -> silent++
#endif
		:: else
		fi;
		ticked[0] = busy[0]; ticked[1] = busy[1]
		}
	od
}

#ifdef PAUSE
/* The ill node stops, and goes on. */
proctype Pause() {
#ifdef LATE
	still[ILL] = true;
#else
	atomic { !busy[ILL] -> still[ILL] = true };
#endif
	still[ILL] = false
}
#endif

#ifdef DIE
proctype Death() { atomic { killed = true; still[ILL] = true; busy[ILL] = false } }
#endif

#ifdef AWAY
/* The server is away, and comes back. */
proctype Away() {
	up = false;
	atomic {
		up = true;
#ifndef FAULT_AWAY_COUNTS
		silent = 0
#endif
	}
}
#endif

#ifdef LEAVE
proctype Leave() provided (!still[ILL]) {
	leaving = true;
#ifdef FAULT_LEAVE_FIRST
	atomic { up -> alive[life] = false; out = true }
#else
	atomic { act[ILL] == 0 && !over && up || out -> alive[life] = false; out = true } /* its own record goes last */
#endif
}
#endif

/* Runs when nobody else can. */
proctype Rest() {
	bool rests;
	timeout;
	atomic { /* Time passes: who is dead has been silent. */
		if
		:: killed && alive[life] -> sees(life); silent = LEASE
		:: else
		fi
	};
	timeout;
	assert(acked <= saved && todo == 0);
	do
	:: rests = !rests /* the dead do not end, nor who waits for a message */
	od
}

init {
	atomic {
		alive[2] = true;
		run Keeper(); run Watcher(); run Worker(ILL); run Worker(WELL); run Clock();
#ifdef PAUSE
		run Pause();
#endif
#ifdef DIE
		run Death();
#endif
#ifdef AWAY
		run Away();
#endif
#ifdef LEAVE
		run Leave();
#endif
		run Rest()
	}
}
