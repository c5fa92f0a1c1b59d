package credit

import "github.com/firq-go/firq/internal/proof/failpoint"

// SetCap changes the capacity, to 0 < n < 1<<30, and returns by how much it has risen.
// Every TakeAt that begins after it has returned goes by the new one; one that is in
// progress goes by either.
//
// If more than n credits are out, what is missing is a debt, and the pool is shut: no
// stripe gives anything out, whatever comes back to it, until there is more than the
// debt. That a stripe is shut is said in its own word, so that a call that takes a credit need
// not look anywhere else.
//
//	[S1] moving++: from now on no call reports that there is none
//	[S2] take what is in the stripes; if that is not enough, shut them all, one after
//	     the other, and note a debt; what came back until they were all shut may pay it
//	[S3] moving--
//
// A TakeAt in between has a credit of the old capacity, and comes before the last step of
// S2; from then on no call can reach a credit that the new capacity does not have.
//
// Credits in stripes and hands + credits out = cap + debt, always.
func (p *Pool) SetCap(n int) (risen int) {
	failpoint.Lock(&p.mu, "credit set")
	defer p.mu.Unlock()
	p.begin()
	defer p.end()
	risen = n - int(p.cap.Load())
	switch debt := int(p.debt.Load()); {
	case risen >= 0:
		paid := min(risen, debt)
		// In either order: where there was a debt the stripes are shut, until payDebt opens them.
		p.debt.Store(int64(debt - paid))
		failpoint.At("credit debt")
		p.stripes[0].word.Add(version + uint64(risen-paid))
	case debt > 0: // shut already
		p.debt.Store(int64(debt - risen))
		failpoint.At("credit debt")
	default:
		if missing := -risen - p.takeAll(-risen); missing > 0 {
			p.shut(missing)
		}
	}
	failpoint.At("credit cap")
	p.cap.Store(int64(n))
	p.payDebt()
	return risen
}

// begin and end are around what changes cap and debt. Under mu.
func (p *Pool) begin() {
	p.moving.Add(1)
	failpoint.At("credit begin")
	p.stripes[0].word.Add(version) // before cap and debt change; see look
}

func (p *Pool) end() {
	failpoint.At("credit end")
	p.stripes[0].word.Add(version) // after that
	// Last: a look that finds moving at 0 has seen all of the change, or, by the version, that there was one.
	p.moving.Add(-1)
}

// takeAll takes up to n credits from stripes that are not shut.
func (p *Pool) takeAll(n int) (got int) {
	for i := range p.stripes {
		if got < n {
			got += p.stripes[i].take(n - got)
		}
	}
	return got
}

// shut shuts all stripes, because missing credits have still to come back. Under mu.
func (p *Pool) shut(missing int) {
	for i := range p.stripes {
		failpoint.At("credit shut")
		// Before: calls take what the stripe has. After: it gives out nothing; what it has and gets pays the debt.
		p.stripes[i].word.Add(version + shut)
	}
	p.debt.Store(int64(missing))
}

// payDebt pays the debt if there is enough for that in the stripes, and then opens them.
// Under mu.
func (p *Pool) payDebt() {
	debt := int(p.debt.Load())
	if debt == 0 && p.stripes[0].word.Load()&shut == 0 || p.shutIn() < debt {
		return
	}
	for i := range p.stripes { // all of the debt first: calls that take go by the new capacity
		failpoint.At("credit pay")
		part := min(debt, int(p.stripes[i].word.Load()&credits)) // it may only grow
		p.stripes[i].word.Add(version - uint64(part))            // these credits are gone: the stripe is shut, so no call had them
		debt -= part
	}
	p.debt.Store(0)
	for i := range p.stripes {
		failpoint.At("credit open")
		// Before: no call can take what the stripe has. After: any can. Pairs with the CAS of take.
		p.stripes[i].word.Add(version - shut)
	}
}

// shutIn returns how many credits are in the stripes, at least, while all are shut.
func (p *Pool) shutIn() (sum int) {
	for i := range p.stripes {
		sum += int(p.stripes[i].word.Load() & credits)
	}
	return sum
}

// reopen opens the pool, for a call that has seen that it is shut and has more than its debt.
func (p *Pool) reopen() {
	failpoint.Lock(&p.mu, "credit reopen")
	defer p.mu.Unlock()
	if debt := int(p.debt.Load()); debt == 0 || p.shutIn() <= debt {
		return // another call has, or has set the capacity
	}
	p.begin()
	p.payDebt()
	p.end()
}
