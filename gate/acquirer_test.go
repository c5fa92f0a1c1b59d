package gate

import (
	"testing"
	"time"
)

// plainHolder counts what its permit calls.
type plainHolder struct {
	released int
	charged  int64
}

func (h *plainHolder) Release()              { h.released++ }
func (h *plainHolder) Charge(d int64)        { h.charged += d }
func (h *plainHolder) Waited() time.Duration { return time.Minute }

// reusedHolder is a holder of several permits, one after another.
type reusedHolder struct {
	plainHolder
	gen uint64
}

func (h *reusedHolder) Generation() uint64 { return h.gen }

func (h *reusedHolder) ReleaseOf(gen uint64) {
	if gen == h.gen {
		h.gen++
		h.released++
	}
}

func (h *reusedHolder) ChargeOf(gen uint64, d int64) {
	if gen == h.gen {
		h.charged += d
	}
}

func (h *reusedHolder) WaitedOf(gen uint64) time.Duration {
	if gen == h.gen {
		return time.Second
	}
	return 0
}

func TestPermitOf(t *testing.T) {
	h := &plainHolder{}
	p := PermitOf[string](h)
	p.Charge(3)
	if p.Waited() != time.Minute || h.charged != 3 || h.released != 0 {
		t.Errorf("waited %v, %+v", p.Waited(), h)
	}
	p.Release()
	if h.released != 1 {
		t.Errorf("%+v", h)
	}
	none := PermitOf[string](nil)
	none.Charge(1)
	none.Release()
	if none != (Permit[string]{}) || none.Waited() != 0 {
		t.Errorf("a permit of no holder: %+v", none)
	}
}

// A permit whose generation has passed does not touch the permit that follows it.
func TestPermitOfReused(t *testing.T) {
	h := &reusedHolder{gen: 1}
	first := PermitOf[string](h)
	if first.Waited() != time.Second {
		t.Errorf("waited %v", first.Waited())
	}
	first.Release()
	second := PermitOf[string](h)
	first.Release()
	first.Charge(5)
	if first.Waited() != 0 || h.released != 1 || h.charged != 0 || first == second {
		t.Errorf("a copy reaches the next permit: %+v", h)
	}
	second.Charge(2)
	second.Release()
	if h.released != 2 || h.charged != 2 {
		t.Errorf("%+v", h)
	}
	if n := testing.AllocsPerRun(100, func() { PermitOf[string](h).Release() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

var _ Acquirer[string] = (*Gate[string])(nil)
