package lincheck

import (
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict on a history.
type Verdict uint8

// The verdicts.
const (
	// Wrong: no order of the steps explains the history.
	Wrong Verdict = iota
	// Unknown: the check did not finish in time.
	Unknown
	// Right: as the contract has it.
	Right
	// Atomic: even if each call, and each task of a batch, is one instant.
	Atomic
)

// patience is how long one check may take.
const patience = time.Second

// Check looks for an order of the steps that explains the history. It tries the
// strict one first: nearly every history passes, and it has far fewer steps.
func Check(h *History) (Verdict, error) {
	if err := newRules(h, false).check(); err != nil {
		return Wrong, err
	}
	for _, loose := range []bool{false, true} {
		r := newRules(h, loose)
		list := cut(r)
		if len(list) > maxSteps {
			return Wrong, fmt.Errorf("%d steps, at most %d can be checked", len(list), maxSteps)
		}
		switch porcupine.CheckOperationsTimeout(r.model(list), r.operations(list), patience) {
		case porcupine.Ok:
			if loose {
				return Right, nil
			}
			return Atomic, nil
		case porcupine.Unknown:
			return Unknown, nil
		}
	}
	return Wrong, fmt.Errorf("no order of its steps explains it")
}

// check looks for what is wrong in any order of steps, and for what exceeds the model's bounds.
func (r *rules) check() error {
	if len(r.Calls) > maxCalls {
		return fmt.Errorf("%d calls, at most %d can be checked", len(r.Calls), maxCalls)
	}
	if len(r.Tasks) > hidden {
		return fmt.Errorf("%d tasks, at most %d can be checked", len(r.Tasks), hidden)
	}
	ended := map[int]string{}
	end := func(id int, how string) error {
		if was, ok := ended[id]; ok {
			return fmt.Errorf("task %d was %s and %s", id, was, how)
		}
		ended[id] = how
		return nil
	}
	var errs []error
	for i := range r.Calls {
		c := &r.Calls[i]
		for _, id := range c.Got {
			errs = append(errs, end(id, "delivered"))
		}
		if c.Kind == Cancel && c.OK {
			errs = append(errs, end(c.Tasks[0], "cancelled"))
		}
		if (c.Kind == Enqueue || c.Kind == EnqueueBatch) && c.Err != nil && !refused(c.Err) {
			errs = append(errs, fmt.Errorf("%v", c))
		}
	}
	for _, id := range r.Closed {
		errs = append(errs, end(id, "closed"))
	}
	for _, id := range r.Evicted {
		errs = append(errs, end(id, "evicted"))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rules) model(list []step) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return r.start() },
		Step: func(before, input, _ any) (bool, any) {
			s, at := before.(state), input.(int)
			for _, a := range list[at].after {
				if s.done[a/64]&(1<<(a%64)) == 0 {
					return false, nil
				}
			}
			s.done[at/64] |= 1 << (at % 64)
			ok := list[at].do(&s)
			return ok, s
		},
		Hash: func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
		DescribeOperation: func(input, _ any) string {
			x := list[input.(int)]
			return fmt.Sprintf("%s: %v", x.what, &r.Calls[x.call])
		},
		DescribeState: func(s any) string { return r.describe(s.(state)) },
	}
}

func (r *rules) operations(list []step) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(list))
	for i, x := range list {
		c := &r.Calls[x.call]
		ops[i] = porcupine.Operation{ClientId: c.Client, Input: i, Call: c.Start, Return: c.End}
	}
	return ops
}

func (r *rules) describe(s state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d places out", [...]string{"open", "draining", "closed"}[s.life], s.credits)
	for t := range s.tenants {
		if x := &s.tenants[t]; *x != (tenant{quantum: x.quantum}) {
			fmt.Fprintf(&b, "; %s %v, %d places, %d in flight, deficit %d", tenantName(t), r.shown(x), x.places, x.inFlight, x.deficit)
		}
	}
	if r.oneShard {
		b.WriteString("; next ")
		for _, t := range s.list[:s.listed] {
			b.WriteString(tenantName(int(t)))
		}
	}
	return b.String()
}

// shown lists the tenant's tasks; a hidden one is negative.
func (r *rules) shown(x *tenant) (list []int) {
	for _, id := range x.line[:x.lined] {
		if id >= hidden {
			list = append(list, -int(id-hidden))
		} else {
			list = append(list, int(id))
		}
	}
	return list
}

// Explain describes a wrong history: its calls, the longest order of steps that is legal, and
// a file with porcupine's drawing.
func Explain(h *History) string {
	r := newRules(h, true)
	var b strings.Builder
	b.WriteString(h.String())
	if r.check() != nil {
		return b.String()
	}
	list := cut(r)
	m := r.model(list)
	_, info := porcupine.CheckOperationsVerbose(m, r.operations(list), patience)
	var longest []int
	for _, part := range info.PartialLinearizations() {
		for _, order := range part {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	fmt.Fprintf(&b, "the longest legal order has %d of %d steps:\n", len(longest), len(list))
	s := any(r.start())
	for _, i := range longest {
		_, s = m.Step(s, i, nil)
		fmt.Fprintf(&b, "  %d: %-24s -> %s\n", r.Calls[list[i].call].Client, m.DescribeOperation(i, nil), r.describe(s.(state)))
	}
	if f, err := os.CreateTemp("", "lincheck-*.html"); err == nil {
		if err = porcupine.Visualize(m, info, f); err == nil {
			fmt.Fprintf(&b, "drawn in %s\n", f.Name())
		}
		_ = f.Close() // nothing depends on it
	}
	return b.String()
}
