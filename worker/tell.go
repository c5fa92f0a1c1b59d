package worker

import (
	"time"

	"github.com/firq-go/firq"
)

func (p *Pool[K, T]) event(it *firq.Item[K, T], elapsed int64) Event[K, T] {
	return Event[K, T]{
		Pool:    p.opts.Name,
		Tenant:  it.Tenant,
		Payload: it.Payload,
		Wait:    it.Wait,
		Elapsed: time.Duration(elapsed),
	}
}

func (p *Pool[K, T]) tellPanic(e Event[K, T]) {
	if hook := p.opts.OnPanic; hook != nil {
		hook(e)
		return
	}
	p.opts.logger().Error("firq: worker: the handler panicked",
		"pool", e.Pool, "tenant", e.Tenant, "elapsed", e.Elapsed, "panic", e.Panic, "stack", string(e.Stack))
}

func (p *Pool[K, T]) tellError(e Event[K, T]) {
	if hook := p.opts.OnError; hook != nil {
		hook(e)
		return
	}
	p.opts.logger().Warn("firq: worker: the handler failed",
		"pool", e.Pool, "tenant", e.Tenant, "elapsed", e.Elapsed, "error", e.Err)
}

// tell calls the hook for a limit that a handler has passed.
func (p *Pool[K, T]) tell(s stage, e Event[K, T]) {
	hook, text := p.opts.OnSlow, "firq: worker: the handler is slow"
	switch s {
	case timedOut:
		hook, text = p.opts.OnTimeout, "firq: worker: the handler ran longer than its timeout"
	case stuck:
		hook, text = p.opts.OnStuck, "firq: worker: the handler ignores that it was cancelled"
	}
	if hook != nil {
		hook(e)
		return
	}
	p.opts.logger().Warn(text, "pool", e.Pool, "tenant", e.Tenant, "elapsed", e.Elapsed)
}
