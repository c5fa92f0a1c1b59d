package baseline

import (
	"runtime"
	"testing"

	"github.com/firq-go/firq"
)

// SetMaxGlobal waits for the holder of the lock of any shard: what that one has seen of the
// limit, it has done when the limit changes.
func TestSetMaxGlobalWaits(t *testing.T) {
	s, err := New(firq.Config[string, int]{Shards: 4, MaxGlobal: 9})
	if err != nil {
		t.Fatal(err)
	}
	for i, sh := range s.shards {
		before := s.most.Load()
		sh.mu.Lock()
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.SetMaxGlobal(20 + i)
		}()
		for range 20_000 { // it has every chance
			runtime.Gosched()
			if n := s.most.Load(); n != before {
				t.Errorf("shard %d is locked, and MaxGlobal is %d already", i, n)
				break
			}
		}
		sh.mu.Unlock()
		<-over
		if n := s.Stats().MaxGlobal; n != 20+i {
			t.Errorf("MaxGlobal is %d, want %d", n, 20+i)
		}
	}
}
