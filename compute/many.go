package compute

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Result is what one key of DoMany came to.
type Result[V any] struct {
	Value V
	Info  Info
	Err   error
}

// DoMany answers a call for each key, as DoInfo does, and returns the results in the order
// of the keys once it has all. Each key has its own error. Kept results are answered on the
// caller's goroutine. For the others, no more calls are made concurrently than the limit allows, so
// that one DoMany does not fill its tenant's queue. A key that is listed several times is asked
// for once, whatever the Config and the options say; the later ones count as Coalesced.
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
	if len(missing) > 0 {
		s.makeMany(ctx, tenant, keys, &opts, list, missing)
	}
	return list
}

func (a answer[V]) result() Result[V] { return Result[V]{a.val, a.info, a.err} }

// makeMany makes the results that are missing.
func (s *Server[T, K, V]) makeMany(ctx context.Context, tenant T, keys []K, o *options[T, K, V], list []Result[V], missing []int) {
	began := time.Now()
	var all sync.WaitGroup
	var broken atomic.Pointer[PanicError] // a function of Config's
	free := make(chan struct{}, max(s.groups.Limit(), 1))
	first := make(map[K]int, len(missing)) // where a key is made
	for _, i := range missing {
		if _, is := first[keys[i]]; is {
			continue
		}
		first[keys[i]] = i
		k := Key[T, K]{tenant, keys[i]}
		free <- struct{}{}
		all.Go(func() {
			returned := false
			defer func() {
				if v := recover(); v != nil {
					broken.CompareAndSwap(nil, panicked(v))
				} else if !returned { // exec called runtime.Goexit
					list[i] = s.counted(s.hash(&k), answer[V]{err: panicked(nil), info: Info{Source: Executed, Group: -1}}).result()
				}
				<-free
			}()
			list[i] = s.do(ctx, k, o).result()
			returned = true
		})
	}
	all.Wait()
	if p := broken.Load(); p != nil {
		panic(p.Value)
	}
	for _, i := range missing {
		if at, is := first[keys[i]]; is && at != i {
			list[i] = s.shared(Key[T, K]{tenant, keys[i]}, list[at], time.Since(began))
		}
	}
}

// shared is the result of a key that is in a list once more, and got r there after a wait.
func (s *Server[T, K, V]) shared(k Key[T, K], r Result[V], wait time.Duration) Result[V] {
	if r.Info.Source == Executed {
		r.Info.Source, r.Info.Wait = Coalesced, wait
	}
	if r.Err == nil {
		r.Value = s.clone(r.Value)
	}
	s.count(s.shard(s.hash(&k)), r.Info.Source, r.Err)
	return r
}
