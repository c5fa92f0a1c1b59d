package compute

import (
	"context"
	"sync"
	"sync/atomic"
)

// Result is what one key of DoMany came to.
type Result[V any] struct {
	Value V
	Info  Info
	Err   error
}

// DoMany answers a call for each key, as DoInfo does, and returns the results in the order
// of the keys once it has all. Each key has an error of its own. What is kept is answered on the
// caller's goroutine; of the rest as many calls are made at once as there may be executions, so
// that one DoMany does not fill its tenant's queue. A key that is there several times is made
// once.
//
// If a function of Config panics, then so does DoMany, when all its calls have ended. If exec
// calls runtime.Goexit, the key's error is a *PanicError.
func (s *Server[T, K, V]) DoMany(ctx context.Context, tenant T, keys []K, o ...DoOption) []Result[V] {
	list := make([]Result[V], len(keys))
	opts, err := gather[T, K, V](o)
	if err == nil && ctx == nil {
		err = errNilContext
	}
	if err != nil {
		for i := range list {
			list[i] = Result[V]{Info: Info{Group: -1}, Err: err}
		}
		return list
	}
	var missing []int
	for i := range keys {
		k := Key[T, K]{tenant, keys[i]}
		_, e, source, now, err := s.find(ctx, &k, &opts)
		switch {
		case err != nil:
			list[i] = none[V](err).result()
		case source == None:
			missing = append(missing, i)
		default:
			list[i] = s.kept(e, source, now).result()
			s.countKept(source)
		}
	}
	s.makeMany(ctx, tenant, keys, &opts, list, missing)
	return list
}

func (a answer[V]) result() Result[V] { return Result[V]{a.val, a.info, a.err} }

// makeMany makes the results that are missing: on the caller's goroutine if it is one.
func (s *Server[T, K, V]) makeMany(ctx context.Context, tenant T, keys []K, o *options[T, K, V], list []Result[V], missing []int) {
	if len(missing) == 1 {
		i := missing[0]
		list[i] = s.do(ctx, Key[T, K]{tenant, keys[i]}, o).result()
		return
	}
	var all sync.WaitGroup
	var broken atomic.Pointer[PanicError] // a function of Config's
	free := make(chan struct{}, max(s.groups.Limit(), 1))
	for _, i := range missing {
		free <- struct{}{}
		all.Go(func() {
			list[i] = Result[V]{Info: Info{Source: Executed, Group: -1}, Err: panicked(nil)} // if exec calls runtime.Goexit
			defer func() {
				if v := recover(); v != nil {
					broken.CompareAndSwap(nil, panicked(v))
				}
				<-free
			}()
			list[i] = s.do(ctx, Key[T, K]{tenant, keys[i]}, o).result()
		})
	}
	all.Wait()
	if p := broken.Load(); p != nil {
		panic(p.Value)
	}
}
