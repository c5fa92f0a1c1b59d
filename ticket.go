package firq

import "sync/atomic"

// Ticket cancels a task that is still queued:
//
//	var tk firq.Ticket
//	err := s.Enqueue(tenant, firq.Task[Job]{Payload: job, Ticket: &tk})
//	...
//	tk.Cancel()
//
// The zero value is ready. A Ticket stands for one task at a time and serves
// again once that task has ended (delivered, expired, cancelled, evicted or
// closed); handing it in while its task is still queued is ErrInvalidTask. A
// Ticket must not be copied while its task is queued.
type Ticket struct {
	// owner is nil while the ticket is free. Enqueue sets it (CAS nil -> owner);
	// the call that ends the task sets it back.
	owner atomic.Pointer[TicketOwner]
	// placed is the owner again, from when the task is queued until it ends; set and
	// cleared under the owner's lock. So a goroutine that holds the lock of an owner
	// and finds that owner here knows that no other goroutine touches place.
	placed atomic.Pointer[TicketOwner]
	place  any // the scheduler's note where the task is
}

// Cancel takes the task out of the queue. It reports true exactly when this
// call did so before the task was delivered, expired, evicted or closed; the
// capacity that the task held is free when it returns, and Config.OnDrop has
// been called with DropCancelled. It may wait for a lock of the scheduler.
// Safe for concurrent use.
func (tk *Ticket) Cancel() bool {
	if o := tk.owner.Load(); o != nil {
		return o.Canceler.CancelTicket(tk)
	}
	return false
}

// TicketOwner is the scheduler's end of a Ticket, one per tenant or scheduler. Only
// implementations of Scheduler need it and the methods below.
type TicketOwner struct {
	Canceler interface {
		// CancelTicket removes the task of tk if it is still queued.
		CancelTicket(tk *Ticket) bool
	}
}

// Acquire binds a free ticket to its new owner and reports whether it was free.
// It comes before the task is published.
func (tk *Ticket) Acquire(o *TicketOwner) bool { return tk.owner.CompareAndSwap(nil, o) }

// SetPlace notes where the task is queued. Only under the lock of the owner that
// acquired the ticket.
func (tk *Ticket) SetPlace(place any) {
	tk.place = place
	tk.placed.Store(tk.owner.Load())
}

// Place returns the argument of SetPlace, nil if no task of o is queued with the ticket: it
// has ended, is not queued yet, or belongs to another owner. Only under o's lock.
func (tk *Ticket) Place(o *TicketOwner) any {
	if tk.placed.Load() != o {
		return nil
	}
	return tk.place
}

// Release ends the ticket's task: the ticket is free again. Only under the
// owner's lock.
func (tk *Ticket) Release() {
	tk.place = nil
	tk.placed.Store(nil)
	tk.owner.Store(nil) // hands place over to the next Acquire
}

// Abandon is Release for a ticket that was acquired for a task which then was
// not queued. It needs no lock.
func (tk *Ticket) Abandon() { tk.owner.Store(nil) }
