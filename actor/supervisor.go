package actor

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"time"
)

// The public side of supervision: what a program configures, and the two counts behind it, how
// many restarts there were within a time and how long to wait before the next one. What a
// supervisor does with a failure is restart.go.

// Strategy says which siblings are restarted with a child that has failed.
type Strategy uint8

const (
	// OneForOne: the child alone.
	OneForOne Strategy = iota
	// OneForAll: all children.
	OneForAll
	// RestForOne: the child, and those that were started after it.
	RestForOne

	strategies // how many there are
)

// alone reports whether a child that has failed is restarted by itself, and its siblings go on.
func (s Strategy) alone() bool { return s == OneForOne }

// takes reports whether a sibling of a child that has failed goes down and comes up with it;
// younger says that it was started after the child.
func (s Strategy) takes(younger bool) bool { return s == OneForAll || s == RestForOne && younger }

// Defaults of Supervision.
const (
	DefaultMaxRestarts = 3
	DefaultWithin      = 5 * time.Second
)

// Unlimited is a MaxRestarts: restarts without limit.
const Unlimited = math.MaxInt

// Supervision says how a Supervisor restarts its children. Zero: OneForOne, three
// times in 5 s, without backoff.
type Supervision struct {
	Strategy Strategy
	// MaxRestarts is how many restarts are allowed within Within; with one more, the
	// supervisor itself fails. 0: 3; below 0: none; Unlimited: it never does.
	MaxRestarts int
	// Within is the time for MaxRestarts. The waits of Backoff do not count in it. 0: 5 s.
	Within time.Duration
	// Backoff is the wait before a restart. It doubles with each restart, until none
	// was needed for Within; jitter shortens it by at most half. 0: none.
	Backoff time.Duration
	// MaxBackoff limits Backoff. 0: no limit.
	MaxBackoff time.Duration
}

// Supervisor restarts its children when they fail: actors, and other supervisors. A
// child keeps its mailbox, its name and its Ref; messages wait until the restart.
type Supervisor struct{ a *actor }

// Supervise starts a supervisor. Its children are started by Spawn and Supervise with
// it as the parent, at any time. opts apply to each child that Spawn or NewKind starts, before
// its own; a supervisor below has its own opts.
func Supervise(p Parent, name string, v Supervision, opts ...Option) (*Supervisor, error) {
	if p == nil {
		return nil, invalid("Supervise: the parent is nil")
	}
	// A supervisor may be a child of an actor, of another supervisor, or of the System.
	s, up, c, err := p.home()
	if err != nil {
		return nil, err
	}
	if v, err = v.resolve(); err != nil {
		return nil, err
	}
	// The options are those of the children; a supervisor itself has no mailbox and no
	// handlers.
	child, err := s.settle(s.defaults, opts)
	if err != nil {
		return nil, err
	}
	// An actor without a kind: it has a place in the tree, a name, a life and turns, in which
	// its steps run.
	a := &actor{set: s.defaults, name: name, turn: busy}
	a.x = &extra{sup: &supervisor{a: a, v: v, child: child}}
	// Without a start: it is up immediately.
	if err := s.launch(a, up, c, nil, nil); err != nil {
		return nil, err
	}
	return &Supervisor{a}, nil
}

// Name of the supervisor.
func (p *Supervisor) Name() string { return p.a.name }

// Done is closed when the supervisor has ended, after its children.
func (p *Supervisor) Done() <-chan struct{} { return p.a.ended() }

// Err is why the supervisor has ended, as Ref.Err is for an actor.
func (p *Supervisor) Err() error { return p.a.err() }

// Stop ends the supervisor after its children, the last started child first. It waits
// for that, or until ctx ends.
func (p *Supervisor) Stop(ctx context.Context) error { return p.a.stop(ctx) }

// resolve checks, and puts the defaults in.
func (v Supervision) resolve() (Supervision, error) {
	switch {
	case v.Strategy >= strategies:
		return v, invalid("Supervision.Strategy: unknown strategy %d", v.Strategy)
	case v.Within < 0:
		return v, invalid("Supervision.Within: %v, must not be negative", v.Within)
	case v.Backoff < 0:
		return v, invalid("Supervision.Backoff: %v, must not be negative", v.Backoff)
	case v.MaxBackoff < 0:
		return v, invalid("Supervision.MaxBackoff: %v, must not be negative", v.MaxBackoff)
	}
	v.MaxRestarts = cmp.Or(v.MaxRestarts, DefaultMaxRestarts)
	v.Within = cmp.Or(v.Within, DefaultWithin)
	return v, nil
}

// restart records a restart that a supervisor has begun.
type restart struct {
	at   time.Time
	of   *actor        // nil: of a group
	wait time.Duration // the backoff
}

// restarts returns how many restarts there were within v.Within before now. That time does not run
// while the child that has failed waits for the end of a backoff: otherwise a Backoff would
// keep any child from failing too often.
func (p *supervisor) restarts(child *actor, now time.Time) (n int) {
	var group, longest time.Duration // of the backoffs since: those of groups, the most of any child alone
	alone := map[*actor]time.Duration{}
	keep := len(p.recent)
	// From the youngest: the waits since a restart are summed up on the way.
	for i, r := range slices.Backward(p.recent) {
		if r.of == nil {
			group += r.wait
		} else {
			alone[r.of] += r.wait
			longest = max(longest, alone[r.of])
		}
		ago := now.Sub(r.at)
		// Some child counts it. The waits of several overlap, so an older restart may count for one where
		// a younger one counts for none: all are looked at.
		if ago-longest-group <= p.v.Within {
			keep = i
		}
		if ago-alone[child]-group <= p.v.Within {
			n++
		}
	}
	// So the list is as long as what may count, and does not grow for ever.
	p.recent = p.recent[keep:]
	return n
}

// logRestart logs that a child, or its group, is restarted.
func (p *supervisor) logRestart(child *actor, n int) {
	args := []any{"actor", child.name, "supervisor", p.a.name, "restart", n}
	if p.v.MaxRestarts != Unlimited {
		args = append(args, "of", p.v.MaxRestarts, "within", p.v.Within)
	}
	p.a.sys().log(slog.LevelWarn, "actor: a supervisor restarts", args...)
}

// backoff of a child, or of all where they are restarted together.
type backoff struct {
	n    int // restarts in a row
	last time.Time
}

// next returns how long to wait before a restart now.
func (b *backoff) next(s *System, v *Supervision, now time.Time) time.Duration {
	// It was up for Within since the last wait: it begins anew.
	if !b.last.IsZero() && now.Sub(b.last) > v.Within {
		b.n = 0
	}
	b.n++
	d := v.Backoff
	// 1<<61: the next doubling would be the last without overflow.
	for i := 1; i < b.n && d < 1<<61 && (v.MaxBackoff == 0 || d < v.MaxBackoff); i++ {
		d *= 2
	}
	if v.MaxBackoff > 0 {
		d = min(d, v.MaxBackoff)
	}
	// The end of the wait without jitter: what is up since then counts.
	b.last = now.Add(d)
	// Jitter only shortens, so MaxBackoff holds. Children that failed together do not come back
	// together.
	if d > 1 {
		d -= time.Duration(s.random(int64(d/2 + 1)))
	}
	return d
}
