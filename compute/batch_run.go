package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Errors is what a Batcher's exec returns as its error to say for each call by itself
// whether it failed: as many as there are calls, in their order; nil: its value is good.
type Errors []error

// Error joins the texts of all errors.
func (e Errors) Error() string {
	var b strings.Builder
	b.WriteString("firq: compute: a batch: ")
	if len(e.Unwrap()) == 0 {
		b.WriteString("no error")
	}
	for i, err := range e.Unwrap() {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

// Unwrap returns those that are not nil.
func (e Errors) Unwrap() []error {
	var some []error
	for _, err := range e {
		if err != nil {
			some = append(some, err)
		}
	}
	return some
}

// pump begins batches as long as a slot is free and a call waits.
func (b *Batcher[T, K, V]) pump() {
	if b.busy.Load() >= b.limit.Load() {
		return // the call that gives a slot back, or raises the limit, looks after that
	}
	failpoint.Lock(&b.mu, "pump")
	defer b.mu.Unlock()
	for b.busy.Load() < b.limit.Load() {
		bt := b.collect()
		if bt == nil {
			return
		}
		b.busy.Add(1)
		b.life.hold() // its calls are counted
		go b.run(bt)
	}
}

// next returns the next batch for a slot; nil: there is none, or there are more slots than
// the limit, and this one was given back.
func (b *Batcher[T, K, V]) next() *batch[T, K, V] {
	failpoint.Lock(&b.mu, "next")
	defer b.mu.Unlock()
	if b.busy.Load() <= b.limit.Load() {
		if bt := b.collect(); bt != nil {
			return bt
		}
	}
	failpoint.At("give back")
	b.busy.Add(-1)
	return nil
}

// collect takes calls out of the queue, at most Max, and makes a batch of those whose
// context has not ended. Under mu.
func (b *Batcher[T, K, V]) collect() *batch[T, K, V] {
	if b.life.isKilled() {
		return nil
	}
	var bt *batch[T, K, V]
	for bt == nil || len(bt.calls) < b.cfg.Max {
		it, ok := b.queue.TryDequeue()
		if !ok {
			break
		}
		c := it.Payload
		select {
		case <-c.gone:
			it.Done()
			c.finish(errGone)
			continue
		default:
		}
		if bt == nil {
			bt = &batch[T, K, V]{mu: &b.mu}
		}
		bt.nested = bt.nested || c.from != nil
		c.batch = bt
		bt.items = append(bt.items, it)
		bt.calls = append(bt.calls, c.call)
	}
	if bt == nil {
		return nil
	}
	bt.left = len(bt.calls)
	base := b.life.root
	if bt.nested {
		base = context.WithValue(base, originKey{}, origin(bt))
	}
	if b.cfg.ExecTimeout > 0 {
		bt.ctx, bt.cancel = context.WithTimeout(base, b.cfg.ExecTimeout)
	} else {
		bt.ctx, bt.cancel = context.WithCancel(base)
	}
	b.batches.Add(1)
	b.calls.Add(uint64(len(bt.calls)))
	return bt
}

// errGone is for a call whose context had ended when its turn came.
var errGone = errors.New("firq: compute: the call's context has ended")

// run executes batches with one slot until there are none.
func (b *Batcher[T, K, V]) run(bt *batch[T, K, V]) {
	defer func() {
		if bt != nil { // exec called runtime.Goexit: the slot goes to another goroutine
			if next := b.next(); next != nil {
				go b.run(next)
				return
			}
		}
		b.pump() // a call that came since next looked may have seen no free slot
		b.life.leave()
	}()
	for bt != nil {
		b.execute(bt)
		bt = b.next()
		if b.inFlight { // what was at its tenant's limit may be more than one batch
			b.pump()
		}
	}
}

// execute executes a batch and gives each of its calls its outcome.
func (b *Batcher[T, K, V]) execute(bt *batch[T, K, V]) {
	var vs []V
	var err error
	complete := false
	defer func() {
		var p *PanicError
		if !complete {
			p = panicked(recover())
			vs, err = nil, p
		}
		bt.cancel()
		bt.forgetCalls()
		bt.tell(vs, err)
		if p != nil {
			b.tellPanic(p)
		}
	}()
	vs, err = b.exec(bt.ctx, bt.calls)
	complete = true
}

// tell gives each call its value or error.
func (bt *batch[T, K, V]) tell(vs []V, err error) {
	each, isEach := err.(Errors) //nolint:errorlint // a wrapped one is the error of all calls
	switch {
	case isEach && len(each) != len(bt.calls):
		err, isEach = fmt.Errorf("firq: compute: a batch of %d calls got %d errors: %w", len(bt.calls), len(each), err), false
	case (err == nil || isEach) && len(vs) != len(bt.calls):
		err = fmt.Errorf("%w: of %d for %d calls", errCount, len(vs), len(bt.calls))
		if isEach { // a request keeps its own error
			vs = nil
		}
	case isEach:
		err = nil
	}
	for i := range bt.items {
		c, own := bt.items[i].Payload, err
		if isEach && each[i] != nil {
			own = each[i]
		}
		if own == nil {
			c.val = vs[i]
		}
		bt.items[i].Done() // before its call returns
		c.ran = true
		c.finish(own)
	}
}

var errCount = errors.New("firq: compute: exec of a batch returned another number of values")

// scheduler returns the config of a queue: what a gate has of it.
func scheduler[T comparable, P any](c gate.Config[T]) firq.Config[T, P] {
	cfg := firq.Config[T, P]{
		Shards:               max(c.Shards, 1),
		MaxGlobal:            c.MaxGlobal,
		MaxPerTenant:         c.MaxPerTenant,
		MaxPerTenantFor:      c.MaxPerTenantFor,
		MaxTenants:           c.MaxTenants,
		MaxInFlightPerTenant: c.MaxInFlightPerTenant,
		MaxInFlightFor:       c.MaxInFlightFor,
		DynamicThreshold:     c.DynamicThreshold,
		Quantum:              c.Quantum,
		QuantumFor:           c.QuantumFor,
		Backpressure:         firq.Backpressure{Policy: c.Policy},
		Order:                c.Order,
		LowWater:             c.LowWater,
		HighWater:            c.HighWater,
		PriorityScope:        c.PriorityScope,
		PriorityAging:        c.PriorityAging,
		NewTenantsFirst:      c.NewTenantsFirst,
		TargetWait:           c.TargetWait,
		Interval:             c.Interval,
		MaxFlows:             c.MaxFlows,
		FairnessSlack:        c.FairnessSlack,
		TopTenants:           c.TopTenants,
		TenantIdle:           c.TenantIdle,
	}
	if ask := c.PolicyFor; ask != nil {
		cfg.BackpressureFor = func(k T) firq.Backpressure { return firq.Backpressure{Policy: ask(k)} }
	}
	return cfg
}
