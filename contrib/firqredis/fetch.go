package firqredis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// longestSleep bounds how long a wake-up that was lost is missed: one whose consumer died before
	// it could use it.
	longestSleep = 2 * time.Second
	// fewAtOnce is how many tasks one partition gives out before the next one is asked, if several
	// have some.
	fewAtOnce = 16
	// roundEvery: one look in so many goes to all partitions, whatever is believed of them.
	roundEvery = 32
	// fewUnseen is how many tasks a process takes before it asks whether there is work in partitions
	// that it believes to have none. Their wake-up may be on its way, or another process has taken it.
	fewUnseen = 64
	// soonStale is how long a process believes what partitions have said: others take from them, too.
	soonStale = 100 * time.Millisecond
)

// taker is a call that waits for tasks.
type taker[T any] struct {
	n    int
	gets chan handed[T] // has room for one
}

type handed[T any] struct {
	items []*Item[T]
	err   error
}

// fetcher fetches tasks for all calls of a process that wait: one script for all of them, and one
// connection per partition that sleeps.
type fetcher[T any] struct {
	q     *Queue[T]
	parts []partition // of the goroutine that fetches
	began float64     // the greatest virtual time at which a batch is known to have begun
	seen  time.Time   // of the last reply
	turn  int
	blind int // tasks taken since the partitions without work were asked

	mu       sync.Mutex
	takers   []*taker[T]
	running  bool
	sleeping []bool        // a call sleeps on the partition's wake-ups
	woken    []bool        // the partition's wake-up has come, and nobody has looked there since
	bell     chan struct{} // rings when one comes; has room for one
}

// partition is what is known of one, from its last reply.
type partition struct {
	v    float64
	work bool      // it is believed to have some
	due  time.Time // when something of it is due; zero: nothing
}

func newFetcher[T any](q *Queue[T]) *fetcher[T] {
	n := q.cfg.Partitions
	f := &fetcher[T]{q: q, parts: make([]partition, n), sleeping: make([]bool, n), woken: make([]bool, n), bell: make(chan struct{}, 1)}
	for p := range f.parts {
		f.parts[p].work = true
	}
	return f
}

// add lets a call wait; false: the queue is closed.
func (f *fetcher[T]) add(k *taker[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running {
		if !f.q.start(f.work) {
			return false
		}
		f.running = true
	}
	f.takers = append(f.takers, k)
	return true
}

// remove takes a call out that does not wait any more; false: it was handed something.
func (f *fetcher[T]) remove(k *taker[T]) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.takers, k)
	if i >= 0 {
		f.takers = slices.Delete(f.takers, i, i+1)
	}
	return i >= 0
}

// wanted returns for how many tasks calls wait.
func (f *fetcher[T]) wanted() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.takers {
		n += k.n
	}
	return min(n, maxBatch)
}

// work fetches while somebody waits.
func (f *fetcher[T]) work() {
	for {
		n := f.wanted()
		if n == 0 && f.end() {
			return
		}
		if f.q.over() {
			f.mu.Lock()
			f.running = false // they look at closed, and take themselves out
			unused := f.unusedLocked()
			f.mu.Unlock()
			f.pass(unused)
			return
		}
		if n == 0 {
			continue
		}
		its, err := f.look(n)
		if len(its) > 0 || err != nil {
			f.hand(its, err)
			continue
		}
		f.doze()
	}
}

// end ends the work if nobody waits. Wake-ups that nobody here will use go back.
func (f *fetcher[T]) end() bool {
	f.mu.Lock()
	if len(f.takers) > 0 {
		f.mu.Unlock()
		return false
	}
	f.running = false
	unused := f.unusedLocked()
	f.mu.Unlock()
	f.pass(unused)
	return true
}

// unusedLocked returns the partitions whose wake-up has come, and nobody has looked there since. The next
// call that waits looks there, too.
func (f *fetcher[T]) unusedLocked() (unused []int) {
	for p, woken := range f.woken {
		if woken {
			unused = append(unused, p)
		}
	}
	return unused
}

// pass gives wake-ups of partitions back.
func (f *fetcher[T]) pass(parts []int) {
	for _, p := range parts {
		_, _ = f.q.cold(context.Background(), tokenScript, p)
	}
}

// hand gives out what was fetched, in the order in which calls came. An error is for all of them.
func (f *fetcher[T]) hand(its []*Item[T], err error) {
	f.mu.Lock()
	for len(f.takers) > 0 && (len(its) > 0 || err != nil) {
		k := f.takers[0]
		n := min(k.n, len(its))
		f.takers = f.takers[1:]
		if n > 0 {
			k.gets <- handed[T]{items: its[:n:n]}
		} else {
			k.gets <- handed[T]{err: err}
		}
		its = its[n:]
	}
	f.mu.Unlock()
	if len(its) > 0 { // somebody has left meanwhile
		f.q.giveBack(its)
	}
}

// look asks the partitions that are believed to have work, the one with the least virtual time
// first, and returns what the first one gives.
func (f *fetcher[T]) look(n int) ([]*Item[T], error) {
	f.turn++
	now := time.Now()
	f.mu.Lock()
	peek := f.blind >= fewUnseen || now.Sub(f.seen) > soonStale
	for p := range f.parts {
		if f.woken[p] && !f.parts[p].work {
			f.parts[p].work, peek = true, true
		}
	}
	clear(f.woken)
	f.mu.Unlock()
	if peek && len(f.parts) > 1 {
		f.peek()
	}
	var order []int
	for p := range f.parts {
		if at := &f.parts[p]; at.work || !at.due.IsZero() && !at.due.After(now) || f.turn%roundEvery == 0 {
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
		its, err := f.ask(p, n)
		if len(its) > 0 || err != nil {
			return its, err
		}
	}
	return nil, nil
}

// peek asks all partitions for their virtual time, and those that are believed to have no work whether
// a tenant is ready there. A partition that was idle is told the time of the others with the next pop:
// with an old one its tenants would be served alone until they have caught up with everybody else.
// That costs one round trip for all of them, and far less of the server's time than a delivery.
func (f *fetcher[T]) peek() {
	f.blind = 0
	ready, times := make([]*redis.IntCmd, len(f.parts)), make([]*redis.SliceCmd, len(f.parts))
	pipe := f.q.db.Pipeline()
	for p := range f.parts {
		if !f.parts[p].work {
			ready[p] = pipe.Exists(context.Background(), f.q.prefix[p]+":r")
		}
		times[p] = pipe.HMGet(context.Background(), f.q.prefix[p]+":m", "b", "v", "o")
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
func (f *fetcher[T]) ask(p, n int) ([]*Item[T], error) {
	b, err := f.q.pop(context.Background(), p, n, f.began, nil, nil)
	if err != nil {
		return nil, err
	}
	f.blind += len(b.items)
	f.began, f.seen = max(f.began, b.began), time.Now()
	f.parts[p] = partition{v: b.v, work: len(b.items) > 0 && b.ready > 0 || b.left}
	if b.next >= 0 {
		f.parts[p].due = time.Now().Add(b.next)
	}
	return b.items, nil
}

// doze sleeps until a partition is said to have work, something is due, or for longestSleep.
func (f *fetcher[T]) doze() {
	d, now := longestSleep, time.Now()
	for p := range f.parts {
		if due := f.parts[p].due; !due.IsZero() {
			d = min(d, max(due.Sub(now), time.Millisecond))
		}
		f.sleepOn(p)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-f.bell:
	case <-t.C:
		if d == longestSleep {
			for p := range f.parts {
				f.parts[p].work = true
			}
		}
	case <-f.q.closed:
	}
}

// sleepOn lets a call sleep on a partition's wake-ups, if none does.
func (f *fetcher[T]) sleepOn(p int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.sleeping[p] {
		f.sleeping[p] = f.q.start(func() { f.blocked(p) })
	}
}

// blocked sleeps until there is a wake-up, or for longestSleep.
func (f *fetcher[T]) blocked(p int) {
	db := f.q.sleep
	if db == nil {
		db = f.q.db
	}
	seconds := strconv.FormatFloat(longestSleep.Seconds(), 'f', 3, 64)
	cmd := redis.NewStringSliceCmd(context.Background(), "blpop", f.q.prefix[p]+":w", seconds)
	cmd.SetFirstKeyPos(1)
	err := db.Process(context.Background(), cmd)
	f.mu.Lock()
	f.sleeping[p] = false
	if err == nil {
		f.woken[p] = true
	}
	if err == nil && f.running {
		f.mu.Unlock()
		select {
		case f.bell <- struct{}{}:
		default: // it rings
		}
		return
	}
	f.mu.Unlock()
	if err == nil {
		f.pass([]int{p})
	}
}
