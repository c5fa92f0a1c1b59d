package peers

import (
	"errors"
	"sync"
	"time"
)

// channels is what a Go program has without a library: a goroutine per actor that receives from its channel.
type channels struct{}

func newChannel() (System, error) { return channels{}, nil }

// Close does nothing: an actor ends when it is stopped, or with the program.
func (channels) Close() error { return nil }

type channelKind struct{ h Handler }

func (channels) Kind(h Handler) Kind { return &channelKind{h} }

// parcel is a message, and where its reply goes: nil if no caller waits for one.
type parcel struct {
	m     *Msg
	reply chan *Msg
}

// channelActor is an actor and its Ref.
type channelActor struct {
	inbox chan parcel
	done  chan struct{} // closed when its goroutine has ended
	reply chan *Msg     // of the message that is handled
}

// State is nothing: what there is of the actor is the actor.
func (*channelKind) State() any { return nil }

// Spawn makes an inbox for room messages: senders wait while it is full.
func (k *channelKind) Spawn(_ string, room int) (Ref, error) {
	if room < 1 {
		return nil, errors.New("an inbox without room")
	}
	a := &channelActor{inbox: make(chan parcel, room), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for p := range a.inbox {
			a.reply = p.reply
			k.h((*channelCtx)(a), p.m)
		}
	}()
	return a, nil
}

// replies holds channels for replies. One that a late reply may still come to does not go back.
var replies = sync.Pool{New: func() any { return make(chan *Msg, 1) }}

// channelCtx is a channelActor as its handler sees it.
type channelCtx channelActor

func (c *channelCtx) Reply(m *Msg)            { c.reply <- m }
func (*channelCtx) Tell(to Ref, m *Msg) error { return to.Tell(m) }

func (*channelCtx) Call(to Ref, m *Msg, timeout time.Duration) (*Msg, error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	reply := make(chan *Msg, 1)
	to.(*channelActor).inbox <- parcel{m, reply} //nolint:forcetypeassert // there are no others
	select {
	case res := <-reply:
		return res, nil
	case <-t.C:
		return nil, ErrTimeout
	}
}

func (a *channelActor) Tell(m *Msg) error {
	a.inbox <- parcel{m: m}
	return nil
}

// Call waits for as long as it takes, as most programs with channels do.
func (a *channelActor) Call(m *Msg) (*Msg, error) {
	reply, _ := replies.Get().(chan *Msg)
	a.inbox <- parcel{m, reply}
	res := <-reply
	replies.Put(reply)
	return res, nil
}

func (a *channelActor) CallQueued(m *Msg) (*Msg, error) { return a.Call(m) }

func (a *channelActor) Stop() (wait func() error) {
	close(a.inbox)
	return func() error { <-a.done; return nil }
}
