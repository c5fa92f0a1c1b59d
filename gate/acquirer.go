package gate

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is the error of a call for which no decision can be made, because the
// server that shares the slots cannot be reached (contrib/firqfleet; a Gate never returns
// it). It does not match firq.ErrRejected: no limit was reached.
var ErrUnavailable = errors.New("firq: gate: the server that shares the slots cannot be reached")

// Acquirer is what middleware needs of a gate. *Gate is one, and the gate that the
// processes of a service share (contrib/firqfleet) is another. It behaves as Gate's methods
// of these names say. Its values are comparable, as pointers are.
type Acquirer[K comparable] interface {
	Acquire(ctx context.Context, tenant K, req Request) (Permit[K], error)
	TryAcquire(tenant K, req Request) (Permit[K], bool)
}

// Holder stands behind a Permit that another Acquirer than Gate has given out. Its methods
// behave as those of Permit, and are safe for concurrent use.
type Holder interface {
	Release()
	Charge(delta int64)
	Waited() time.Duration
}

// Reused is a Holder that stands behind one permit after another, so that none has to be
// allocated: PermitOf notes the Generation, and the Permit calls the methods that take it.
// Those do nothing if the generation has passed, which it does with Release.
type Reused interface {
	Holder
	Generation() uint64 // never 0
	ReleaseOf(generation uint64)
	ChargeOf(generation uint64, delta int64)
	WaitedOf(generation uint64) time.Duration
}

// PermitOf returns a Permit of another Acquirer: its methods are those of h. Of a nil h it is
// the zero Permit.
func PermitOf[K comparable](h Holder) Permit[K] {
	p := Permit[K]{other: h}
	if r, ok := h.(Reused); ok {
		p.gen = r.Generation()
	}
	return p
}

// releaseOther is Release of a permit that another Acquirer has given out.
func (p Permit[K]) releaseOther() {
	switch {
	case p.other == nil:
	case p.gen != 0:
		p.other.(Reused).ReleaseOf(p.gen)
	default:
		p.other.Release()
	}
}

func (p Permit[K]) chargeOther(delta int64) {
	switch {
	case p.other == nil:
	case p.gen != 0:
		p.other.(Reused).ChargeOf(p.gen, delta)
	default:
		p.other.Charge(delta)
	}
}

func (p Permit[K]) waitedOther() time.Duration {
	switch {
	case p.other == nil:
		return 0
	case p.gen != 0:
		return p.other.(Reused).WaitedOf(p.gen)
	default:
		return p.other.Waited()
	}
}
