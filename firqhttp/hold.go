package firqhttp

import (
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultHoldBack is the default of Config.HoldBack and JSONConfig.HoldBack.
const DefaultHoldBack = time.Second

// What is held back.
const (
	heldBeyond = 100  // refusals of a tenant per second, after a burst of as many
	mostHeld   = 4096 // at a time; further ones are answered immediately
	heldApart  = 64   // places of tenants, by hash

	burst = time.Second // in which heldBeyond leave
)

// holder holds refusals back that are many. A refusal costs about as much processor time as
// any small request, so clients that come back as soon as they are refused would take the
// processors of the work that is not refused. Held back, a client waits as Retry-After
// asks it to, and costs a goroutine and its connection.
//
// The refusals of a tenant leave at a steady rate (GCRA, ITU-T I.371): next is when the one after
// them may, and as long as that is less than a burst away no client waits. Tenants share a
// place if their hashes do.
type holder struct {
	longest time.Duration // 0: nothing is held
	seed    maphash.Seed
	base    time.Time               // a burst before it was made
	next    [heldApart]atomic.Int64 // after base
	held    atomic.Int64
	servers sync.Map // of *http.Server: what its Shutdown closes
}

func newHolder(longest time.Duration) *holder {
	if longest == 0 {
		longest = DefaultHoldBack
	}
	return &holder{longest: max(longest, 0), seed: maphash.MakeSeed(), base: time.Now().Add(-burst)}
}

// place returns which place a tenant has.
func place[T comparable](h *holder, tenant T) int {
	return int(maphash.Comparable(h.seed, tenant) % heldApart) //nolint:gosec // below heldApart
}

// wait holds back a refusal of the tenants of a place, until it may leave, the client goes away, or
// the server shuts down.
func (h *holder) wait(r *http.Request, at int) {
	d := h.delay(at)
	if d <= 0 {
		return
	}
	defer h.held.Add(-1)
	if h.held.Add(1) > mostHeld {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	case <-h.ends(r):
	}
}

// delay counts a refusal, and returns how long it is to be held.
func (h *holder) delay(at int) time.Duration {
	if h.longest == 0 {
		return 0
	}
	const each = int64(burst / heldBeyond)
	now := int64(time.Since(h.base))
	for {
		was := h.next[at].Load()
		leaves := max(was, now-int64(burst))
		if leaves > now+int64(h.longest) {
			return h.longest
		}
		if h.next[at].CompareAndSwap(was, leaves+each) {
			return time.Duration(leaves - now)
		}
	}
}

// ends returns a channel that is closed when the server of a request shuts down; nil: there is none.
func (h *holder) ends(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	ended, found := h.servers.Load(server)
	if !found {
		c := make(chan struct{})
		server.RegisterOnShutdown(sync.OnceFunc(func() { close(c) }))
		ended, _ = h.servers.LoadOrStore(server, c)
	}
	return ended.(chan struct{})
}

// immediate reports whether a refusal comes without a wait, so that its client may come back
// as soon.
func (rej *Rejection) immediate() bool {
	switch rej.Reason {
	case TenantFull, TenantThreshold, TooManyTenants, Evicted, Overload, GlobalFull, RateLimited, Unavailable, TooManyWaiters:
		return true
	}
	return false
}
