package actor

import (
	"log/slog"
	"slices"
	"time"
)

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
	var all, own time.Duration // of the backoffs since
	for i, r := range slices.Backward(p.recent) {
		all += r.wait
		if r.of == nil || r.of == child {
			own += r.wait
		}
		ago := now.Sub(r.at)
		if ago-all > p.v.Within { // no child counts it any more, nor those before
			p.recent = p.recent[i+1:]
			break
		}
		if ago-own <= p.v.Within {
			n++
		}
	}
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
	if !b.last.IsZero() && now.Sub(b.last) > v.Within {
		b.n = 0
	}
	b.n++
	d := v.Backoff
	for i := 1; i < b.n && d < 1<<61 && (v.MaxBackoff == 0 || d < v.MaxBackoff); i++ {
		d *= 2
	}
	if v.MaxBackoff > 0 {
		d = min(d, v.MaxBackoff)
	}
	b.last = now.Add(d)
	if d > 1 {
		d -= time.Duration(s.random(int64(d/2 + 1)))
	}
	return d
}
