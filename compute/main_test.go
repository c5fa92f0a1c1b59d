package compute

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// No goroutine outlives the tests: a server starts none that lasts.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // panics that are wanted
	goleak.VerifyTestMain(m)
}

var background = context.Background()

type (
	config = Config[string, string, string]
	call   = Call[string, string]
)

// maker is an exec that counts, and blocks where a test says so.
type maker struct {
	mu    sync.Mutex
	n     map[string]int
	block map[string]chan struct{}
	calls []call
	now   atomic.Int64 // executions in progress
	most  atomic.Int64
	fail  atomic.Pointer[error]
	deaf  bool // it does not look at its context
}

func newMaker() *maker { return &maker{n: map[string]int{}, block: map[string]chan struct{}{}} }

// hold lets executions of the key wait until the returned function is called.
func (m *maker) hold(key string) (release func()) {
	ch := make(chan struct{})
	m.mu.Lock()
	m.block[key] = ch
	m.mu.Unlock()
	return sync.OnceFunc(func() {
		m.mu.Lock()
		delete(m.block, key)
		m.mu.Unlock()
		close(ch)
	})
}

func (m *maker) count(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[key]
}

func (m *maker) failWith(err error) { m.fail.Store(&err) }

func (m *maker) exec(ctx context.Context, c call) (string, error) {
	now := m.now.Add(1)
	defer m.now.Add(-1)
	for old := m.most.Load(); now > old && !m.most.CompareAndSwap(old, now); old = m.most.Load() {
	}
	m.mu.Lock()
	m.n[c.Key]++
	n, block := m.n[c.Key], m.block[c.Key]
	m.calls = append(m.calls, c)
	m.mu.Unlock()
	if block != nil {
		if m.deaf {
			<-block
		} else {
			select {
			case <-block:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	if err := m.fail.Load(); err != nil && *err != nil {
		return "", *err
	}
	return fmt.Sprintf("%s/%s#%d", c.Tenant, c.Key, n), nil
}

// desk is a server under test, and how many calls have returned.
type desk struct {
	t *testing.T
	*Server[string, string, string]
	m     *maker
	calls atomic.Int64
}

// open returns a server that is looked at when the test ends.
func open(t *testing.T, cfg config) *desk {
	t.Helper()
	m := newMaker()
	return openWith(t, m, cfg, m.exec)
}

func openWith(t *testing.T, m *maker, cfg config, exec Exec[string, string, string]) *desk {
	t.Helper()
	if cfg.Jitter == 0 {
		cfg.Jitter = -1
	}
	s, err := New(exec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, Server: s, m: m}
	t.Cleanup(func() {
		d.rest()
		d.Close()
	})
	return d
}

// rest fails unless nothing is in progress, and the books add up.
func (d *desk) rest() {
	d.t.Helper()
	st := d.Stats()
	if st.Executing != 0 || st.Waiting != 0 || st.Flights != 0 {
		d.t.Errorf("at rest: executing %d, waiting %d, flights %d", st.Executing, st.Waiting, st.Flights)
	}
	for i := range d.shards {
		if p := &d.shards[i]; p.flights.n+len(p.loose)+p.n != 0 {
			d.t.Errorf("flights left: %d, %d", p.flights.n, len(p.loose))
		}
	}
	for _, g := range st.Groups {
		if g.InUse != 0 {
			d.t.Errorf("at rest %d slots are in use", g.InUse)
		}
	}
	if sum := st.Hits + st.Stale + st.Coalesced + st.Executed + st.Refused + st.GaveUp + st.Closed; sum != uint64(d.calls.Load()) {
		d.t.Errorf("%d calls returned, the books have %d: %+v", d.calls.Load(), sum, st)
	}
	if st.Executions != st.Succeeded+st.Failed {
		d.t.Errorf("executions %d, succeeded %d, failed %d", st.Executions, st.Succeeded, st.Failed)
	}
	if d.own != nil && (st.Entries > int(d.own.size) || st.Weight > d.own.size) {
		d.t.Errorf("%d entries of weight %d; the bound is %d", st.Entries, st.Weight, d.own.size)
	}
}

// answered is a call that runs in a goroutine.
type answered struct {
	t    *testing.T
	v    string
	info Info
	err  error
	done atomic.Bool // the others may be read
}

// ask makes a call.
func (d *desk) ask(ctx context.Context, tenant, key string, o ...DoOption) *answered {
	a := &answered{t: d.t}
	a.v, a.info, a.err = d.DoInfo(ctx, tenant, key, o...)
	d.calls.Add(1)
	a.done.Store(true)
	return a
}

// start makes a call in a goroutine, and returns when that has come as far as
// it can. In a bubble.
func (d *desk) start(ctx context.Context, tenant, key string, o ...DoOption) *answered {
	a := &answered{t: d.t}
	go func() {
		a.v, a.info, a.err = d.DoInfo(ctx, tenant, key, o...)
		d.calls.Add(1)
		a.done.Store(true)
	}()
	synctest.Wait()
	return a
}

// is fails unless the call has returned this.
func (a *answered) is(source Source, v string) *answered {
	a.t.Helper()
	if !a.done.Load() {
		a.t.Fatalf("it has not returned; want %v, %q", source, v)
	}
	if a.err != nil || a.info.Source != source || a.v != v {
		a.t.Fatalf("%q, %+v, error %v; want %v, %q", a.v, a.info, a.err, source, v)
	}
	return a
}

// failed fails unless the call has returned this error.
func (a *answered) failed(source Source, target error) *answered {
	a.t.Helper()
	if !a.done.Load() {
		a.t.Fatalf("it has not returned; want %v, %v", source, target)
	}
	if !isAny(a.err, target) || a.info.Source != source || a.v != "" {
		a.t.Fatalf("%q, %+v, error %v; want %v, %v", a.v, a.info, a.err, source, target)
	}
	return a
}

// pending fails if the call has returned.
func (a *answered) pending() {
	a.t.Helper()
	if a.done.Load() {
		a.t.Fatalf("it has returned: %q, %+v, error %v", a.v, a.info, a.err)
	}
}

// modes runs a test in a bubble, with and without Detach, with one group and several.
func modes(t *testing.T, f func(t *testing.T, cfg config)) {
	for _, detach := range []bool{false, true} {
		for _, groups := range []int{1, 3} {
			t.Run(fmt.Sprintf("detach=%t/groups=%d", detach, groups), func(t *testing.T) {
				bubble(t, func(t *testing.T) { f(t, config{Detach: detach, Groups: groups, Limit: 3}) })
			})
		}
	}
}

// bubble is a synctest bubble that fails after a minute of real time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	watch := time.AfterFunc(60*time.Second, func() { panic("firq: " + t.Name() + " hangs") })
	defer watch.Stop()
	synctest.Test(t, f)
}

// sleeper is an exec that takes a millisecond.
func sleeper(_ context.Context, c call) (string, error) {
	time.Sleep(time.Millisecond)
	return c.Key, nil
}
