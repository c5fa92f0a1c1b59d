package firqredis

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

const (
	// longestSleep bounds how long a wake-up that was lost is missed: one whose consumer died before
	// it could use it. The scripts have it, too: what is due later than that wakes no sleeper.
	longestSleep = 2 * time.Second
	// fewAtOnce is how many tasks one partition gives out before the next one is asked, if several
	// have some.
	fewAtOnce = 16
	// roundEvery: one look in this many goes to all partitions, whatever is believed of them.
	roundEvery = 32
	// fewUnseen is how many tasks a process takes before it asks whether there is work in partitions
	// that it believes to have none. Their wake-up may be on its way, or another process has taken it.
	fewUnseen = 64
	// soonStale is how long a process believes what partitions have said: others take from them, too.
	soonStale = 100 * time.Millisecond
	// slowFetch is how long a fetch may take before the next one is smaller. Leases run from its beginning, and
	// a reply that takes as long as the client waits for one is lost.
	slowFetch = 500 * time.Millisecond
)

// fetcher is a queue.Source: it takes tasks for all calls of a process that wait for those of the same tenants.
type fetcher struct {
	e             *engine
	from          *some       // nil: of all tenants
	which         []int       // the partitions to look at
	parts         []partition // of the goroutine that fetches
	began         float64     // the greatest virtual time at which a batch is known to have begun
	seen          time.Time   // of the last reply
	swept         time.Time   // when it was last believed that there may be work anywhere
	turn          int
	sinceLastPeek int // tasks taken since peek asked the partitions without work
	bytes         int // of tasks that a fetch may bring

	mu       sync.Mutex
	running  bool          // a call waits
	want     func() int    // of the last Pop
	sleeping []bool        // the partition's ear will wake it
	woken    []bool        // the partition's wake-up has come, and no fetch has looked there since
	bell     chan struct{} // rings when one comes; has room for one
}

// partition is the state of a partition according to its last reply.
type partition struct {
	v     float64
	work  bool      // it is believed to have some
	due   time.Time // when its next task is due; zero: none
	told  bool      // the reply left it to this process to look at that time
	rest  time.Time // a consumer of some tenants leaves the wake-ups to others until then, and looks again; zero: it listens
	chunk int       // of the consumer's names, the next one to ask for
}

func newFetcher(e *engine, from *some) *fetcher {
	n := e.partitions
	f := &fetcher{
		e: e, from: from, parts: make([]partition, n), sleeping: make([]bool, n), woken: make([]bool, n), bell: make(chan struct{}, 1),
		bytes: queue.MaxBytes,
	}
	for p := range n {
		if from == nil || from.at(p) {
			f.which = append(f.which, p)
		}
	}
	return f
}

// Pop is of queue.Source.
func (f *fetcher) Pop(ctx context.Context, want func() int) ([]queue.Delivery, error) {
	f.mu.Lock()
	f.running, f.want = true, want
	f.mu.Unlock()
	for n := want(); n > 0; n = want() {
		ds, err := f.look(n)
		if len(ds) > 0 || err != nil {
			return ds, err
		}
		f.doze(ctx)
	}
	f.rest()
	return nil, nil
}

// rest ends the work when no call waits. Wake-ups that no call here will use go back, and what was left to this process to look at
// goes to the next one.
func (f *fetcher) rest() {
	f.mu.Lock()
	f.running = false
	var unused []int
	soon := time.Now().Add(longestSleep)
	for _, p := range f.which {
		if f.sleeping[p] {
			f.sleeping[p] = false
			f.e.ears[p].remove(f)
		}
		at := &f.parts[p]
		if f.woken[p] || at.told && !at.due.IsZero() && at.due.Before(soon) {
			unused = append(unused, p) // the next call that waits here looks there, too
		}
	}
	f.mu.Unlock()
	for _, p := range unused {
		f.e.pass(p)
	}
}

// look asks the partitions that are believed to have work, the one with the least virtual time
// first, and returns what the first one gives.
func (f *fetcher) look(n int) ([]queue.Delivery, error) {
	f.turn++
	now := time.Now()
	sweep := now.Sub(f.swept) >= longestSleep
	if sweep {
		f.swept = now
	}
	f.mu.Lock()
	peek := f.sinceLastPeek >= fewUnseen || now.Sub(f.seen) > soonStale
	for _, p := range f.which {
		if (sweep || f.woken[p]) && !f.parts[p].work {
			f.parts[p].work, peek = true, true
		}
	}
	clear(f.woken)
	f.mu.Unlock()
	if peek && len(f.parts) > 1 && f.from == nil {
		f.peek()
	}
	var order []int
	for _, p := range f.which {
		if at := &f.parts[p]; at.work || past(at.due, now) || past(at.rest, now) || f.turn%roundEvery == 0 {
			order = append(order, p)
		} else {
			f.sleepOn(p) // others may have work for long: what comes here is not to wait for that
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.parts[a].v, f.parts[b].v) })
	if len(order) > 1 {
		n = min(n, fewAtOnce)
	}
	for _, p := range order {
		ds, err := f.ask(p, n)
		if len(ds) > 0 || err != nil {
			return ds, err
		}
	}
	return nil, nil
}

// past reports whether a time is set, and has come.
func past(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

// peek asks all partitions for their virtual time, and those that are believed to have no work whether
// a tenant is ready there. A partition that was idle gets the time of the others with the next pop:
// with an old one its tenants would be served alone until they have caught up with all others.
// That costs one round trip for all of them, and far less of the server's time than a delivery.
func (f *fetcher) peek() {
	f.sinceLastPeek = 0
	ready, times := make([]*redis.IntCmd, len(f.parts)), make([]*redis.SliceCmd, len(f.parts))
	pipe := f.e.db.Pipeline()
	for p := range f.parts {
		if !f.parts[p].work {
			ready[p] = pipe.Exists(context.Background(), f.e.prefix[p]+":r")
		}
		times[p] = pipe.HMGet(context.Background(), f.e.prefix[p]+":m", "b", "v", "o")
	}
	_, _ = pipe.Exec(context.Background()) // a server that is away is an error of the pop that follows
	for p := range f.parts {
		if ready[p] != nil {
			f.parts[p].work = ready[p].Err() == nil && ready[p].Val() > 0
		}
		var t struct {
			Began float64 `redis:"b"`
			V     float64 `redis:"v"`
			Ahead float64 `redis:"o"`
		}
		if times[p].Scan(&t) == nil {
			f.began = max(f.began, t.Began)
			f.parts[p].v = t.V + t.Ahead
		}
	}
	f.seen = time.Now()
}

// ask takes up to n tasks from a partition.
func (f *fetcher) ask(p, n int) ([]queue.Delivery, error) {
	at := &f.parts[p]
	began := time.Now()
	b, err := f.pop(p, popping{n: n, bytes: f.bytes, others: f.began})
	took := time.Since(began)
	switch {
	case err != nil:
		f.bytes = max(f.bytes/4, 1)
		return nil, err
	case took > slowFetch: // a slow line: less at a time loses nothing
		f.bytes = max(f.bytes/2, 1)
	case took < slowFetch/2:
		f.bytes = min(2*f.bytes, queue.MaxBytes)
	}
	f.sinceLastPeek += len(b.ds)
	f.began, f.seen = max(f.began, b.began), time.Now()
	*at = partition{v: b.v, work: len(b.ds) > 0 && b.ready > 0 || b.next == 0, told: len(b.ds) == 0, chunk: at.chunk}
	if b.next >= 0 {
		at.due = time.Now().Add(b.next)
	}
	if f.from != nil && len(b.ds) == 0 && b.ready > 0 {
		at.rest = time.Now().Add(fromEvery)
	}
	return b.ds, nil
}

// pop is engine.pop; for a consumer of some tenants as many of these as it takes to find a task of theirs.
func (f *fetcher) pop(p int, x popping) (b popped, err error) {
	if f.from == nil {
		return f.e.pop(context.Background(), p, x)
	}
	x.others = unknown
	chunks := f.from.names[p]
	for i := range max(len(chunks), 1) {
		if len(chunks) > 0 {
			at := &f.parts[p]
			x.names = chunks[at.chunk%len(chunks)]
			at.chunk++
		}
		if i >= len(chunks)-1 { // no assigned tenant has tasks, as far as is known
			x.patterns = f.from.patterns
		}
		for x.rank = 0; x.rank >= 0; x.rank = b.rank {
			if b, err = f.e.pop(context.Background(), p, x); err != nil || len(b.ds) > 0 || f.want() == 0 {
				return b, err
			}
		}
	}
	return b, nil
}

// doze sleeps until a partition is said to have work, or something is due, and at most until the next sweep.
func (f *fetcher) doze(ctx context.Context) {
	now := time.Now()
	until := f.swept.Add(longestSleep)
	for _, p := range f.which {
		for _, t := range []time.Time{f.parts[p].due, f.parts[p].rest} {
			if !t.IsZero() && t.Before(until) {
				until = t
			}
		}
		if !f.parts[p].rest.After(now) {
			f.sleepOn(p)
		}
	}
	t := time.NewTimer(max(until.Sub(now), time.Millisecond))
	defer t.Stop()
	select {
	case <-f.bell:
	case <-t.C:
	case <-ctx.Done():
	}
}

// sleepOn lets the next wake-up of a partition wake the fetcher.
func (f *fetcher) sleepOn(p int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.sleeping[p] {
		f.sleeping[p] = f.e.ears[p].add(f)
	}
}

// wake tells the fetcher of a wake-up; false: no call waits here any more.
func (f *fetcher) wake(p int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sleeping[p] = false
	if !f.running {
		return false
	}
	f.woken[p] = true
	select {
	case f.bell <- struct{}{}:
	default: // it rings
	}
	return true
}
