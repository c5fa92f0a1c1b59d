package load

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/spin"
	"github.com/firq-go/firq/hist"
)

// producer is one goroutine that enqueues. All fields are its own until it has
// ended.
type producer struct {
	r      *run
	rnd    random
	pick   func(*producer) int // index of the next task's tenant
	hot    int                 // Scenario.Hot
	window *window             // nil: it goes by the clock
	mark   uint64              // of its payloads: freeBit, or nothing
	number uint64              // numbers the payloads; distinct between producers
	line   spin.Line           // what the simulated work works on
	soon   time.Time           // scenario.ShortLife: a deadline soon
	later  time.Time           // and one far away
	batch  []contest.Task

	clocked
	labels labels

	calls    uint64
	latency  *hist.Local
	refusal  *hist.Local // calls of latency that were rejected
	offered  uint64      // tasks in the measured window; with Spec.Rate, due in it
	rejected uint64
	refusals int    // since it has let others run
	accepted uint64 // tasks in the whole run
	sum      uint64 // of their payloads
	sight    *sight // nil without a watch
	watched  bool   // the present call is seen by it

	_ [64]byte // the next allocation belongs to another goroutine
}

func newProducer(r *run, id int) *producer {
	p := &producer{
		r: r, rnd: newRandom(id + 1), pick: pickAny, latency: hist.NewLocal(), refusal: hist.NewLocal(),
		number: uint64(id) << 32, hot: r.s.Hot(), window: r.window,
		batch: make([]contest.Task, r.s.Batch), sight: r.newSight(&r.producers),
	}
	if r.paced {
		p.clocked = newClocked(r, id)
	}
	switch {
	case r.s.HotProducers > 0 && id < r.s.HotProducers:
		p.pick = func(*producer) int { return 0 }
	case r.s.HotProducers > 0:
		p.pick = pickQuiet
		if r.s.QuietRate > 0 && !r.paced {
			p.clocked, p.window, p.mark = newClocked(r, id-r.s.HotProducers), nil, freeBit
		}
	case r.s.Skew > 0:
		p.pick = pickZipf
	case r.s.HotShare > 0:
		p.pick = pickSkewed
	}
	return p
}

func pickAny(p *producer) int { return p.rnd.below(p.r.s.Tenants) }

func pickQuiet(p *producer) int { return p.hot + p.rnd.below(p.r.s.Tenants-p.hot) }

// pickZipf returns the first tenant up to which the parts are more than a random number.
func pickZipf(p *producer) int {
	x := float64(p.rnd.next()>>11) / (1 << 53)
	at, _ := slices.BinarySearch(p.r.zipf, x)
	return at
}

// zipf returns for each of n tenants how large a part it and those before it have
// together, tenant k from 1 in proportion to k^-skew; nil: skew is 0.
func zipf(n int, skew float64) []float64 {
	if skew == 0 {
		return nil
	}
	parts, sum := make([]float64, n), 0.0
	for k := range parts {
		sum += math.Pow(float64(k+1), -skew)
		parts[k] = sum
	}
	for k := range parts {
		parts[k] /= sum
	}
	parts[n-1] = 1 // and no number is
	return parts
}

func pickSkewed(p *producer) int {
	if p.rnd.below(1000) < int(p.r.s.HotShare*1000) {
		return p.rnd.below(p.hot)
	}
	return pickQuiet(p)
}

func (p *producer) loop() {
	r := p.r
	defer r.ended()
	w := p.window
	for unreported := int64(0); ; {
		phase := r.phase.Load()
		p.labels.enter(phase)
		if phase == stopping || r.open && p.due >= r.end || r.enough(p.accepted) {
			p.leave()
			return
		}
		if w != nil && unreported >= w.chunk {
			w.sent(unreported) // may wait: look at the phase again
			unreported = 0
			p.deadlines()
			continue
		}
		if p.arrivals != nil && !p.paced() {
			continue // it waited: look at the phase again
		}
		counts := p.counts(phase)
		if r.open { // and nothing but send: work would make it late
			counts = p.start >= r.from && p.start < r.to
		}
		if r.s.Batch > 1 {
			unreported += p.sendBatch(counts)
			continue
		}
		if !r.open {
			r.work.Do(&p.line)
		}
		tenant := p.pick(p)
		task := p.task(tenant)
		if p.send(r.q, tenant, &task, counts) {
			unreported++
		}
	}
}

// counts reports whether what is done in a phase is measured.
func (p *producer) counts(phase int32) bool {
	p.watched = phase == recording
	return phase == measuring
}

// deadlines reads the clock for the next chunk's deadlines.
func (p *producer) deadlines() {
	if life := p.r.s.ShortLife; life > 0 {
		now := time.Now()
		p.soon, p.later = now.Add(life), now.Add(time.Hour)
	}
	if life := p.r.s.Life; life > 0 {
		p.soon = time.Now().Add(life)
	}
}

// task makes the next task for a tenant.
func (p *producer) task(tenant int) (t contest.Task) {
	p.number++
	number := p.number
	if p.r.open {
		number = uint64(p.start) / dueUnit
	}
	t.Payload = number<<numberShift | p.mark | uint64(tenant)
	focus := p.r.s.Focus != "" && tenant >= p.hot
	if p.r.s.Priorities {
		t.Priority = firq.PriorityVeryLow + firq.Priority(p.rnd.below(6))
		focus = t.Priority == firq.PriorityCritical
	}
	if focus {
		t.Payload |= focusBit
	}
	if p.r.s.ShortLife > 0 {
		t.Deadline = p.later
		if p.number%4 == 0 {
			t.Deadline = p.soon
		}
	}
	if p.r.s.Life > 0 {
		t.Deadline = p.soon
	}
	return t
}

// send enqueues t and reports whether it was accepted. counts says whether it is
// one of those that are measured.
func (p *producer) send(q contest.Queue, tenant int, t *contest.Task, counts bool) bool {
	var start time.Duration
	timed := p.calls%p.r.every == 0
	p.calls++
	if timed {
		start = contest.Now()
	}
	var err error
	if p.r.handles != nil {
		err = p.r.handles[tenant].Enqueue(*t)
	} else {
		err = q.Enqueue(p.r.keys[tenant], *t)
	}
	if err != nil && !p.r.s.Reject {
		err = p.insist(q, p.r.keys[tenant], t, err)
	}
	if timed {
		p.timed(start, 1, err, counts)
	}
	if counts {
		p.offered++
	}
	if p.watched {
		p.sight.sent(t.Payload&tenantMask, 1)
	}
	if err != nil {
		p.refused(err, 1, counts)
		return false
	}
	p.accepted++
	p.sum += t.Payload
	return true
}

// timed records a call with n tasks that began at start and ended with err, just
// now.
func (p *producer) timed(start time.Duration, n int, err error, counts bool) {
	end := contest.Now()
	if p.watched {
		p.sight.timed(end - start)
	}
	if p.r.open {
		p.note(start-p.r.origin, end-p.r.origin, n, counts)
	}
	if !counts {
		return
	}
	p.latency.Record(end - start)
	if err != nil {
		p.refusal.Record(end - start)
	}
}

// sendBatch sends the next tasks of one tenant with one call, and returns how
// many were accepted.
func (p *producer) sendBatch(counts bool) int64 {
	tenant := p.pick(p)
	works := !p.r.open
	if works && p.r.s.WorkPerCall {
		p.r.work.Do(&p.line)
	}
	for i := range p.batch {
		if works && !p.r.s.WorkPerCall {
			p.r.work.Do(&p.line)
		}
		p.batch[i] = p.task(tenant)
	}
	var start time.Duration
	timed := p.calls%p.r.every == 0
	p.calls++
	if timed {
		start = contest.Now()
	}
	n, err := p.enqueueBatch(tenant)
	for err != nil && n < len(p.batch) && !p.r.s.Reject {
		if err = p.insist(p.r.q, p.r.keys[tenant], &p.batch[n], err); err != nil {
			break
		}
		n++
		err = firq.ErrRejected // and the next one, while there is one
	}
	if timed {
		var refused error
		if n == 0 { // else it did more than that
			refused = err
		}
		p.timed(start, len(p.batch), refused, counts)
	}
	if counts {
		p.offered += uint64(len(p.batch))
	}
	if p.watched {
		p.sight.sent(uint64(tenant), len(p.batch))
	}
	for _, t := range p.batch[:n] {
		p.sum += t.Payload
	}
	p.accepted += uint64(n)
	if n < len(p.batch) {
		p.refused(err, len(p.batch)-n, counts)
	}
	return int64(n)
}

func (p *producer) enqueueBatch(tenant int) (accepted int, err error) {
	if p.r.handles != nil {
		return p.r.handles[tenant].EnqueueBatch(p.batch)
	}
	return p.r.q.EnqueueBatch(p.r.keys[tenant], p.batch)
}

// insist waits with a task that was rejected.
func (p *producer) insist(q contest.Queue, tenant string, t *contest.Task, err error) error {
	if !errors.Is(err, firq.ErrRejected) {
		return err
	}
	return q.EnqueueWait(p.r.ctx, tenant, *t)
}

// patience is how many rejects a producer takes before it lets others run. To go
// on for ever would only measure which side gets more of the CPU. To give way at the
// first one would, where producers share processors with consumers, leave a
// queue that is hardly ever full.
const patience = 32

// refused counts n tasks that were not accepted.
func (p *producer) refused(err error, n int, counts bool) {
	switch {
	case p.r.ctx.Err() != nil:
		p.r.phase.Store(stopping)
	case !errors.Is(err, firq.ErrRejected):
		p.r.fail(err)
	}
	if counts {
		p.rejected += uint64(n)
	}
	if p.watched && errors.Is(err, firq.ErrRejected) {
		p.sight.refused(n)
	}
	if p.refusals += n; p.refusals >= patience {
		p.refusals = 0
		runtime.Gosched()
	}
}
