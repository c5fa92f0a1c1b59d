package firqnats

import (
	"runtime"
	"strconv"
	"sync"
)

// link is the way to a subject. What goroutines send at about the same time goes in one NATS message.
type link struct {
	n       *Node
	subject string
	head    []byte // what each frame begins with

	mu     sync.Mutex
	buf    []byte // head and entries; empty: none
	batch  uint64 // number of the message that buf will be
	awake  bool
	used   bool // since the last sweep
	closed bool
	wake   chan struct{}
}

// frameFull is the length from which a frame takes no other entry.
const frameFull = 128 << 10

// links of a node, by subject.
type links struct {
	mu  sync.Mutex
	all map[string]*link
}

// entry is a request or an answer.
type entry interface {
	append(b []byte) []byte
	size() int
}

// link returns the way to a part of a node; nil: this node has left.
func (n *Node) link(node, part string) *link {
	subject := n.subject(node, part)
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	l := n.links.all[subject]
	if l == nil {
		head := []byte{frameVersion}
		if part != partAnswers {
			head = appendString(head, n.addr)
		}
		l = &link{n: n, subject: subject, head: head, batch: n.callNo.Add(1), wake: make(chan struct{}, 1)}
		if !n.background(l.run) {
			return nil
		}
		n.links.all[subject] = l
	}
	return l
}

// post appends an entry to what goes to a part of a node. note, if not nil, gets the number of the message
// that it goes with.
func (n *Node) post(node, part string, e entry, note func(batch uint64)) {
	for {
		l := n.link(node, part)
		if l == nil || l.add(e, note) {
			return
		}
	}
}

// sweepLinks ends the links that were not used since the last time; all: every one.
func (n *Node) sweepLinks(all bool) {
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	for subject, l := range n.links.all {
		l.mu.Lock()
		if all || !l.used {
			l.flush()
			l.closed = true
			close(l.wake)
			delete(n.links.all, subject)
		}
		l.used = false
		l.mu.Unlock()
	}
}

// add appends an entry; false: the link has ended.
func (l *link) add(e entry, note func(batch uint64)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if len(l.buf) > 0 && len(l.buf)+e.size() > min(frameFull, int(l.n.nc.MaxPayload())) {
		l.flush()
	}
	if note != nil {
		note(l.batch)
	}
	if len(l.buf) == 0 {
		l.buf = append(l.buf, l.head...)
	}
	l.buf = e.append(l.buf)
	l.used = true
	if !l.awake {
		l.awake = true
		l.wake <- struct{}{} // it has room: run has taken the last one
	}
	return true
}

// flush publishes what there is. The caller holds l.mu.
func (l *link) flush() {
	if len(l.buf) == 0 {
		return
	}
	n, batch := l.n, l.batch
	err := n.nc.PublishRequest(l.subject, n.subject(n.addr, partNobody, strconv.FormatUint(batch, 36)), l.buf)
	l.buf = l.buf[:0]
	l.batch = n.callNo.Add(1)
	if err != nil {
		n.o.Logger.Warn("firqnats: a message was not published", "subject", l.subject, "error", err)
		n.background(func() { n.notGot(batch) })
	}
}

func (l *link) run() {
	for range l.wake {
		runtime.Gosched() // those that are about to send come along
		l.mu.Lock()
		l.flush()
		l.awake = false
		l.mu.Unlock()
	}
}
