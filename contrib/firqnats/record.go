package firqnats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/firq-go/firq/actor"
)

// head is the first line of an actor's record, in JSON; the state follows. A record is there while a node
// has the actor, or a state is saved.
type head struct {
	Node       string `json:",omitempty"` // that has the actor; "": none
	Activation string `json:",omitempty"` // that wrote the record
	Saves      uint64 `json:",omitempty"` // of this activation
	Saved      bool   `json:",omitempty"` // there is a state
	Key        exact  `json:",omitempty"` // if the record's name does not say it
}

// headOf begins the head of an actor's record.
func headOf(id actor.Identity) (h head) {
	if _, ok := tokenKey(keyToken(id.Key)); !ok {
		h.Key = exact(id.Key)
	}
	return h
}

func recordKey(id actor.Identity) string { return keyActor + id.Kind + "." + keyToken(id.Key) }

func (h head) record(state []byte) ([]byte, error) {
	b, err := json.Marshal(h)
	return append(append(b, '\n'), state...), err
}

func parseRecord(b []byte) (h head, state []byte, err error) {
	line, state, _ := bytes.Cut(b, []byte{'\n'})
	err = json.Unmarshal(line, &h)
	return h, state, err
}

// ownership is the record of an activation: by its revision only the owner can write it.
type ownership struct {
	mu    sync.Mutex
	rev   uint64 // of the record; 0: given back
	fence uint64 // the revision with which it was taken
	head  head
	state []byte // as it was when taken, until start is over
	saved bool   // there is a state
	last  uint64 // the last save that was done, by the order of calls
	next  uint64 // guarded by turn
	turn  sync.Mutex
}

// readRecord reads the record of an actor. Revision 0: there is none.
func (n *Node) readRecord(ctx context.Context, id actor.Identity) (h head, state []byte, rev uint64, err error) {
	e, err := n.kv.Get(ctx, recordKey(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return head{}, nil, 0, nil
	}
	if err != nil {
		return head{}, nil, 0, err
	}
	if h, state, err = parseRecord(e.Value()); err != nil {
		return head{}, nil, 0, fmt.Errorf("firqnats: the record of %v cannot be read: %w", id, err)
	}
	return h, state, e.Revision(), nil
}

// take takes the record, or returns the node that has it.
func (o *ownership) take(ctx context.Context, a *activation) (owner string, err error) {
	n := a.n
	for {
		h, state, rev, err := n.readRecord(ctx, a.id)
		if err != nil {
			return "", err
		}
		if h.Activation == a.tag { // it was taken, only the answer was lost
			o.rev, o.fence, o.head, o.state, o.saved = rev, rev, h, state, h.Saved
			return "", nil
		}
		if h.Node != "" && h.Node != a.node {
			alive, err := n.alive(ctx, h.Node)
			if err != nil {
				return "", err
			}
			if alive {
				return h.Node, nil
			}
		}
		saved := h.Saved
		h = headOf(a.id)
		h.Node, h.Activation, h.Saved = a.node, a.tag, saved
		b, err := h.record(state)
		if err != nil {
			return "", err
		}
		if rev == 0 {
			rev, err = n.kv.Create(ctx, recordKey(a.id), b)
		} else {
			rev, err = n.kv.Update(ctx, recordKey(a.id), b, rev)
		}
		if err == nil {
			o.rev, o.fence, o.head, o.state, o.saved = rev, rev, h, state, h.Saved
			return "", nil
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
}

// giveBack gives the record back: it stays if there is a state.
func (a *activation) giveBack() {
	o := &a.own
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, end := context.WithTimeout(context.Background(), a.n.o.Lease)
	defer end()
	defer func() { o.rev = 0 }()
	for o.rev != 0 {
		var err error
		if !o.head.Saved {
			err = a.n.remove(ctx, recordKey(a.id), o.rev)
		} else {
			var b []byte
			_, state, _, rerr := a.n.readRecord(ctx, a.id)
			if rerr == nil {
				h := headOf(a.id)
				h.Saved = true
				if b, err = h.record(state); err == nil {
					_, err = a.n.kv.Update(ctx, recordKey(a.id), b, o.rev)
				}
			}
			err = errors.Join(err, rerr)
		}
		if err == nil {
			return
		}
		h, _, rev, err := a.n.readRecord(ctx, a.id)
		switch {
		case err == nil && h.Activation != a.tag:
			return // it was given back, and only the answer was lost; or another activation has it
		case err == nil:
			o.rev = rev
		case nap(ctx, 20*time.Millisecond) != nil:
			return // others take it when this node is gone, and this node itself at any time
		}
	}
}

// write saves a state. number orders saves by when they were asked for: one that is late is contained in a
// later one.
func (a *activation) write(ctx context.Context, number uint64, state []byte, has bool) error {
	o := &a.own
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.rev == 0:
		return ErrFenced
	case number < o.last:
		return nil
	}
	ctx, end := context.WithTimeout(ctx, a.n.o.Timeout)
	defer end()
	err := error(nil)
	if a.n.o.Store != nil {
		err = a.store(ctx, state, has)
	} else {
		err = a.replace(ctx, state, has)
	}
	if err == nil {
		o.last, o.saved = number, has
		a.n.stat.saves.Add(1)
	}
	return err
}

// store saves a state in Options.Store.
func (a *activation) store(ctx context.Context, state []byte, has bool) error {
	if !has {
		state = nil
	} else if state == nil {
		state = []byte{}
	}
	err := guard(func() error { return a.n.o.Store.Save(ctx, a.id, a.own.fence, state) })
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrFenced) {
		return fmt.Errorf("%w: %w", ErrUnsaved, err)
	}
	return err
}

// replace writes the record, until it is known whether that was done.
func (a *activation) replace(ctx context.Context, state []byte, has bool) error {
	o, n, key := &a.own, a.n, recordKey(a.id)
	h := headOf(a.id)
	h.Node, h.Activation, h.Saves, h.Saved = a.node, a.tag, o.head.Saves+1, has
	b, err := h.record(state)
	if err != nil {
		return err
	}
	for {
		try, end := context.WithTimeout(ctx, 2*time.Second)
		rev, err := n.kv.Update(try, key, b, o.rev)
		end()
		if err == nil {
			o.rev, o.head = rev, h
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("firqnats: the state of %v, %d bytes: %w", a.id, len(state), err)
		}
		try, end = context.WithTimeout(ctx, 2*time.Second)
		is, _, rev, err := n.readRecord(try, a.id)
		end()
		if err == nil {
			switch {
			case is.Activation != a.tag:
				return ErrFenced
			case is.Saves == h.Saves: // it was saved, only the answer was lost
				o.rev, o.head = rev, h
				return nil
			}
			o.rev = rev
		}
		if nap(ctx, 20*time.Millisecond) != nil {
			return ErrUnsaved
		}
	}
}
