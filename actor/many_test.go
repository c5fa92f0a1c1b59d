package actor

import (
	"sync/atomic"
	"testing"
	"time"
)

// A group of many children is restarted together, and a deep tree ends: the supervisor and each
// parent look at each child once.
func TestManyRestart(t *testing.T) {
	limit(t, time.Minute)
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	s := newSys(t, Config{})
	p := sup(t, s, "sup", Supervision{Strategy: OneForAll})
	var starts atomic.Int64
	var r Ref[*box]
	for range n {
		r = must(t, p, "", func(*Ctx) (*box, error) { starts.Add(1); return &box{}, nil })
	}
	first := time.Now()
	_, _ = do.Call(bg, r, boom)
	_, _ = do.Call(bg, r, get) // the youngest is the last to come up
	if got := starts.Load(); got != int64(2*n) {
		t.Errorf("%d starts", got)
	}
	t.Logf("%d children: %v", n, time.Since(first))
	first = time.Now()
	if err := p.Stop(bg); err != nil {
		t.Error(err)
	}
	t.Logf("their end: %v", time.Since(first))

	var ends atomic.Int64
	var child func(depth int) func(c *Ctx) (*box, error)
	child = func(depth int) func(c *Ctx) (*box, error) {
		return func(c *Ctx) (*box, error) {
			b := &box{end: func(*Ctx, error) { ends.Add(1) }}
			if depth == 0 {
				return b, nil
			}
			_, err := Spawn(c, "", child(depth-1))
			return b, err
		}
	}
	depth := min(n, 3000)
	top := must(t, s, "", child(depth-1))
	first = time.Now()
	top.Kill()
	<-top.Done()
	if got := ends.Load(); got != int64(depth) {
		t.Errorf("%d last words", got)
	}
	t.Logf("depth %d: %v", depth, time.Since(first))
}
