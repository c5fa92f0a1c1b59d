// Chat is a room with people in it. The room is an actor, and so is each person. The room
// passes what one person says to all others, and waits for none of them: a person who reads slowly
// loses the oldest lines, and the others notice nothing. The room watches its members, and says
// so when one of them leaves or crashes.
//
//	go run ./examples/chat
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

type party struct {
	people, lines int
	nap           time.Duration
}

func main() {
	var p party
	flag.IntVar(&p.people, "people", 5, "people in the room, at least 3; the last one reads slowly")
	flag.IntVar(&p.lines, "lines", 200, "lines that each of the others says")
	flag.DurationVar(&p.nap, "nap", 5*time.Millisecond, "what the slow one takes to read a line")
	flag.Parse()
	if err := p.play(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

// room is the state of the room.
type room struct {
	w       io.Writer
	members []actor.Ref[*person]
}

type line struct{ who, text string }

func (r *room) join(c *actor.Ctx, p actor.Ref[*person]) error {
	r.members = append(r.members, p)
	actor.Watch(c, p, gone)
	return nil
}

// say tells a line to all members. A full mailbox drops its oldest line, so Tell never waits.
func (r *room) say(c *actor.Ctx, l line) error {
	for _, p := range r.members {
		if err := hear.Tell(c, p, l); err != nil && !errors.Is(err, actor.ErrStopped) {
			return err
		}
	}
	return nil
}

func (r *room) gone(c *actor.Ctx, d actor.Down) error {
	for i, p := range r.members {
		if p.Name() == d.Name {
			r.members = append(r.members[:i], r.members[i+1:]...)
			break
		}
	}
	why := "has left"
	if d.Err != nil {
		why = "is gone: " + d.Err.Error()
	}
	if _, err := fmt.Fprintf(r.w, "* %s %s\n", d.Name, why); err != nil {
		return err
	}
	return r.say(c, line{"*", d.Name + " " + why})
}

func (r *room) count(*actor.Ctx, struct{}) (int, error) { return len(r.members), nil }

// person is the state of one person in the room.
type person struct {
	nap   time.Duration
	heard int
}

func (p *person) hear(c *actor.Ctx, l line) error {
	if l.text == "boom" && p.nap == 0 && c.Name() == l.who {
		panic("laughed too much")
	}
	time.Sleep(p.nap) // the others are served during the sleep
	p.heard++
	return nil
}

func (p *person) howMany(*actor.Ctx, struct{}) (int, error) { return p.heard, nil }

var (
	join    = actor.NewAction("Join", (*room).join)
	say     = actor.NewAction("Say", (*room).say)
	gone    = actor.NewAction("Gone", (*room).gone)
	count   = actor.NewMethod("Count", (*room).count)
	hear    = actor.NewAction("Hear", (*person).hear)
	howMany = actor.NewMethod("HowMany", (*person).howMany)
)

func (p party) play(ctx context.Context, w io.Writer) error {
	if p.people < 3 {
		return fmt.Errorf("-people %d: must be at least 3", p.people)
	}
	var missed atomic.Int64
	sys, err := actor.New(actor.Config{OnDeadLetter: func(actor.DeadLetter) { missed.Add(1) }})
	if err != nil {
		return err
	}
	defer func() { _ = sys.Close() }()
	lobby, err := actor.Spawn(sys, "lobby", actor.Value(&room{w: w}))
	if err != nil {
		return err
	}
	var people []actor.Ref[*person]
	for i := range p.people {
		one := &person{}
		name, lines := fmt.Sprintf("person-%d", i), p.lines*p.people
		if i == p.people-1 {
			name, lines, one.nap = "slow", 50, p.nap
		}
		r, err := actor.Spawn(sys, name, actor.Value(one),
			actor.WithMailbox(actor.Mailbox{Limit: lines, Backpressure: firq.Backpressure{Policy: firq.DropOldest}}))
		if err != nil {
			return err
		}
		if _, err := join.Call(ctx, lobby, r); err != nil {
			return err
		}
		people = append(people, r)
	}
	for i := range p.lines {
		for _, from := range people[:p.people-1] {
			if _, err := say.Call(ctx, lobby, line{from.Name(), fmt.Sprint("line ", i)}); err != nil {
				return err
			}
		}
	}
	for _, r := range people {
		n, err := howMany.Call(ctx, r, struct{}{})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-9s has heard %d of %d lines\n", r.Name(), n, p.lines*(p.people-1)); err != nil {
			return err
		}
	}
	if err := people[0].Stop(ctx); err != nil {
		return err
	}
	if _, err := say.Call(ctx, lobby, line{people[1].Name(), "boom"}); err != nil {
		return err
	}
	<-people[1].Done()
	for n := p.people; n != p.people-2; { // the news of who has left is messages, too
		if n, err = count.Call(ctx, lobby, struct{}{}); err != nil {
			return err
		}
	}
	if err := sys.Shutdown(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "lines that were dropped: %d\n", missed.Load())
	return err
}
