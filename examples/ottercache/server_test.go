package ottercache

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/compute"
)

// What a server promises of what it keeps holds with otter as well.
func TestServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := open(t, 100)
		var runs atomic.Int64
		fail := false
		s := serve(t, compute.Config[string, int, int]{
			TTL: time.Minute, Jitter: -1, StaleIfError: time.Minute, Backoff: -1, Cache: kept,
		}, func(_ context.Context, c compute.Call[string, int]) (int, error) {
			if fail {
				return 0, errors.New("no")
			}
			return int(runs.Add(1)), nil
		})
		ask := func(tenant string, k, want int, from compute.Source) {
			t.Helper()
			v, info, err := s.DoInfo(t.Context(), tenant, k)
			if v != want || info.Source != from || err != nil {
				t.Errorf("%s, %d: %d, %v, %v; want %d, %v", tenant, k, v, info.Source, err, want, from)
			}
		}
		ask("a", 1, 1, compute.Executed)
		ask("a", 1, 1, compute.Hit)
		ask("b", 1, 2, compute.Executed)
		time.Sleep(time.Minute - time.Millisecond)
		ask("a", 1, 1, compute.Hit)
		time.Sleep(time.Millisecond)
		fail = true
		ask("a", 1, 1, compute.Stale)
		fail = false
		ask("a", 1, 3, compute.Executed)
		s.Forget("a", 1)
		ask("a", 1, 4, compute.Executed)
		ask("b", 1, 5, compute.Executed)
		s.ForgetTenant("a")
		ask("a", 1, 6, compute.Executed)
		ask("b", 1, 5, compute.Hit)
		s.ForgetAll()
		ask("b", 1, 7, compute.Executed)
		s.Warm("b", 1, 100)
		ask("b", 1, 100, compute.Hit)
		if st := s.Stats(); st.Entries != kept.Len() || st.Entries == 0 {
			t.Errorf("Entries is %d, there are %d", st.Entries, kept.Len())
		}
	})
}

// A value that was forgotten is never seen again, and no tenant sees another's, with far
// more keys than there is room for.
func TestServerUnderLoad(t *testing.T) {
	const keys, size, calls = 300, 50, 3_000
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	kept := open(t, size)
	var version [keys]atomic.Int64
	s := serve(t, compute.Config[string, int, int]{TTL: time.Hour, Cache: kept, Limit: 8},
		func(_ context.Context, c compute.Call[string, int]) (int, error) {
			return c.Key + keys*int(version[c.Key].Load()), nil
		})
	var wg sync.WaitGroup
	for g := range 8 {
		r := rand.New(rand.NewPCG(1, uint64(g)))
		wg.Go(func() {
			for range calls {
				k := int(r.ExpFloat64()*30) % keys
				if r.IntN(50) == 0 {
					version[k].Add(1)
					s.Forget("t", k)
				}
				v, err := s.Do(ctx, "t", k)
				switch {
				case err != nil:
					t.Error(err)
					return
				case v%keys != k:
					t.Errorf("key %d got %d's", k, v%keys)
				case int64(v/keys) > version[k].Load():
					t.Errorf("key %d has version %d, which there is not", k, v/keys)
				}
			}
		})
	}
	wg.Wait()
	for k := range keys { // the writers have ended
		version[k].Add(1)
		s.Forget("t", k)
		if v, err := s.Do(ctx, "t", k); err != nil || int64(v/keys) != version[k].Load() {
			t.Errorf("key %d: version %d after Forget of all below %d, %v", k, v/keys, version[k].Load(), err)
		}
	}
	kept.Otter().CleanUp()
	if n := s.Stats().Entries; n > size || n == 0 {
		t.Errorf("%d entries, the size is %d", n, size)
	}
}
