package compute

import (
	"fmt"

	"github.com/firq-go/firq"
)

// DoOption changes one call of Server.DoInfo. It is a plain value, so that a call with
// options allocates nothing. The zero DoOption changes nothing.
type DoOption struct {
	kind optionKind
	n    int64
	exec any // an Exec of the server's types
}

type optionKind uint8

const (
	optNothing optionKind = iota
	optWith
	optCost
	optPriority
	optNoCache
	optNoStale
)

// With lets this call be executed by exec instead of the server's. A call that joins an
// execution gets what the leader's exec makes. The call is answered with
// firq.ErrInvalidArgument if exec is nil, or if the option comes from a server of other
// types.
func (s *Server[T, K, V]) With(exec Exec[T, K, V]) DoOption {
	return DoOption{kind: optWith, exec: exec}
}

// Cost is what this call counts in fairness if it leads, instead of Config.Cost. 0
// means 1; a negative cost is answered with firq.ErrInvalidTask.
func Cost(n int64) DoOption { return DoOption{kind: optCost, n: n} }

// Priority is this call's priority in the queue of its tenant, if it leads; beyond
// firq.PriorityCritical it is answered with firq.ErrInvalidTask.
func Priority(p firq.Priority) DoOption { return DoOption{kind: optPriority, n: int64(p)} }

// NoCache ignores kept results, whether within their TTL or past it. The call still
// joins an execution in progress, and its own result is kept.
func NoCache() DoOption { return DoOption{kind: optNoCache} }

// NoStale ignores results past their TTL, which Config.Stale or StaleIfError would
// allow.
func NoStale() DoOption { return DoOption{kind: optNoStale} }

// options are those of one call.
type options[T, K comparable, V any] struct {
	exec     Exec[T, K, V] // nil: the server's
	cost     int64         // as given by Cost; below 0: not given
	priority firq.Priority
	noCache  bool
	noStale  bool
}

// plain returns the options of a call without any.
func plain[T, K comparable, V any]() options[T, K, V] { return options[T, K, V]{cost: -1} }

// gather folds the options into one, the last of a kind counts.
func gather[T, K comparable, V any](list []DoOption) (options[T, K, V], error) {
	o := plain[T, K, V]()
	for i := range list {
		switch it := &list[i]; it.kind {
		case optWith:
			exec, ok := it.exec.(Exec[T, K, V])
			if !ok || exec == nil {
				return o, errWith
			}
			o.exec = exec
		case optCost:
			if it.n < 0 {
				return o, fmt.Errorf("%w: Cost is %d, must not be negative", firq.ErrInvalidTask, it.n)
			}
			o.cost = it.n
		case optPriority:
			if it.n > int64(firq.PriorityCritical) {
				return o, fmt.Errorf("%w: Priority is %d, must be at most %d", firq.ErrInvalidTask, it.n, firq.PriorityCritical)
			}
			o.priority = firq.Priority(it.n)
		case optNoCache:
			o.noCache = true
		case optNoStale:
			o.noStale = true
		case optNothing:
		}
	}
	return o, nil
}

var errWith = fmt.Errorf("%w: With: exec is nil, or of another server's types", firq.ErrInvalidArgument)
