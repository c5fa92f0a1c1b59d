package lockfree

// word is all that a tenant's producers have to agree on, so that "there is room, the lane is
// open, and this slot of it is mine" is one step.
//
//	bits 32    room, with a sign: how many tasks more; below 0 after SetLimit down
//	bits 8     tail of the lane: its next ticket, modulo 1<<ticketBits
//	bit  2     open: producers may draw tickets. The tenant has a queued task
//	bit  1     full: tasks have all places, and none is owed
//	bit  0     dead: the tenant is forgotten, look it up again. Final
//
// The holder of the shard's lock alone sets the bits and what it owes; producers only take
// places and tickets, and give places back.
type word uint64

const (
	deadBit    word = 1 << 0
	fullBit    word = 1 << 1
	openBit    word = 1 << 2
	oneTicket  word = 1 << 8
	oneRoom    word = 1 << 32
	ticketBits      = 24
	ticketMask      = 1<<ticketBits - 1
)

func (w word) room() int    { return int(int64(w) >> 32) }
func (w word) tail() uint32 { return uint32(w) / uint32(oneTicket) }
func (w word) open() bool   { return w&openBit != 0 }
func (w word) full() bool   { return w&fullBit != 0 }
func (w word) dead() bool   { return w&deadBit != 0 }

// hasRoom reports whether a place can be taken.
func (w word) hasRoom() bool { return int64(w) >= int64(oneRoom) && w&deadBit == 0 }

// take returns w with n places less, put with n more. The room is at the top, with its sign: neither a
// borrow nor a carry reaches another part.
func (w word) take(n int) word { return w - word(n)*oneRoom }
func (w word) put(n int) word  { return w + word(n)*oneRoom }

// tickets returns w with n places less, and the tail n tickets on. The tail wraps: its carry, which would
// reach the room, is cut off.
func (w word) tickets(n int) word {
	return (w-word(n)*oneRoom)>>32<<32 | word(uint32(w)+uint32(n)*uint32(oneTicket))
}

// opened returns w with an open lane whose next ticket is tail.
func (w word) opened(tail uint32) word {
	return w&^(ticketMask*oneTicket) | word(tail&ticketMask)*oneTicket | openBit
}

// after returns the ticket after a ticket, and between how many there are from one to another.
func after(ticket uint32) uint32      { return (ticket + 1) & ticketMask }
func between(from, to uint32) (n int) { return int((to - from) & ticketMask) }
