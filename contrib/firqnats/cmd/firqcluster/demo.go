package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "show what happens to actors when their node dies",
		Description: "Needs nothing: the server and three nodes are in this process. Callers count in twelve actors, which save each count;\n" +
			"one of the nodes is cut off, as if it had died; at the end what is saved is compared with what was acknowledged.\n" +
			"With --json: what it measured.\n\n" +
			"Example:\n   firqcluster demo",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := arguments(cmd, nil); err != nil {
				return err
			}
			text := io.Discard
			if !cmd.Bool("json") {
				text = p.out
			}
			r, err := runDemo(ctx, text)
			if err != nil {
				return err
			}
			return p.show(cmd, r, func(w io.Writer) { printDemo(w, r) })
		},
	}
}

const (
	demoLease  = time.Second
	demoActors = 12
	demoCalls  = 40 // of each actor, before the death and after it
)

// demoResult is what the demo measured.
type demoResult struct {
	Lease        time.Duration
	Actors       int
	OnDead       int // of them, how many the node had that died
	Acknowledged int
	Unknown      int           // calls that were lost with the node: perhaps counted
	Saved        int           // what is saved, in all actors
	Longest      time.Duration // without an answer of an actor of the dead node
	LongestOther time.Duration // of an actor of another node
}

// counter is an actor of the demo.
type counter struct{ total *firqnats.State[int] }

var (
	demoAdd = actor.NewMethod("Add", func(a *counter, c *actor.Ctx, by int) (int, error) {
		a.total.Value += by
		return a.total.Value, a.total.Save(c)
	})
	demoMethods = []actor.AnyMethod[*counter]{demoAdd}
)

func startCounter(c *actor.Ctx, _ string) (*counter, error) {
	total, err := firqnats.Load[int](c)
	return &counter{total}, err
}

// demoNode is a node, and what it stands on.
type demoNode struct {
	*firqnats.Node
	name string
	nc   *nats.Conn
	sys  *actor.System
	kind *firqnats.Kind[*counter]
}

func joinDemo(ctx context.Context, server *embedded.Server, name string) (_ *demoNode, err error) {
	n := &demoNode{name: name}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	log := slog.New(slog.DiscardHandler)
	if n.nc, err = server.Connect(); err != nil {
		return nil, err
	}
	if n.sys, err = actor.New(actor.Config{Logger: log}); err != nil {
		return nil, err
	}
	n.Node, err = firqnats.Join(ctx, n.nc, n.sys, firqnats.Options{Name: name, Lease: demoLease, Client: name == "caller", Logger: log})
	if err != nil {
		return nil, err
	}
	n.kind, err = firqnats.NewKind(n.Node, "counter", startCounter, demoMethods)
	return n, err
}

func (n *demoNode) close() {
	if n.Node != nil {
		ctx, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		_ = n.Leave(ctx)
	}
	if n.sys != nil {
		_ = n.sys.Close()
	}
	if n.nc != nil {
		n.nc.Close()
	}
}

func runDemo(ctx context.Context, text io.Writer) (*demoResult, error) {
	server, err := embedded.Start(embedded.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	var nodes []*demoNode // the last one only calls
	for _, name := range []string{"ash", "beech", "cedar", "caller"} {
		n, err := joinDemo(ctx, server, name)
		if err != nil {
			return nil, err
		}
		defer n.close()
		nodes = append(nodes, n)
	}
	printf(text, "three nodes, a lease of %v, %d actors that save each call ...\n", demoLease, demoActors)
	caller := nodes[len(nodes)-1]
	d := &demo{kind: caller.kind}
	if err := d.calls(ctx); err != nil {
		return nil, err
	}
	if d.unknown > 0 {
		return nil, errors.New("calls were lost before a node died")
	}
	dies, byNode := slices.MaxFunc(nodes[:3], func(a, b *demoNode) int { return a.Stats().Activations - b.Stats().Activations }), map[string]string{}
	id := dies.ID()
	for i := range demoActors {
		key := strconv.Itoa(i)
		at, err := caller.Where(ctx, actor.Identity{Kind: "counter", Key: key})
		if err != nil {
			return nil, err
		}
		byNode[key] = at
	}
	printf(text, "%s dies ...\n\n", dies.name)
	dies.nc.Close()
	d.longest = [demoActors]time.Duration{}
	if err := d.calls(ctx); err != nil {
		return nil, err
	}
	r := &demoResult{Lease: demoLease, Actors: demoActors, Acknowledged: d.acknowledged, Unknown: d.unknown}
	for i, longest := range d.longest {
		if byNode[strconv.Itoa(i)] == id {
			r.OnDead++
			r.Longest = max(r.Longest, longest)
		} else {
			r.LongestOther = max(r.LongestOther, longest)
		}
	}
	return r, r.read(ctx, caller.nc)
}

// demo counts in the actors.
type demo struct {
	kind         *firqnats.Kind[*counter]
	mu           sync.Mutex
	acknowledged int
	unknown      int
	longest      [demoActors]time.Duration // without an answer
	err          error
}

// calls has one caller for each actor.
func (d *demo) calls(ctx context.Context) error {
	var wg sync.WaitGroup
	for i := range demoActors {
		wg.Go(func() { d.count(ctx, i) })
	}
	wg.Wait()
	return d.err
}

func (d *demo) count(ctx context.Context, i int) {
	ref, last := d.kind.Ref(strconv.Itoa(i)), time.Now()
	for n := 0; n < demoCalls; {
		_, err := demoAdd.Call(ctx, ref, 1)
		d.mu.Lock()
		switch {
		case err == nil:
			n++
			d.acknowledged++
			d.longest[i], last = max(d.longest[i], time.Since(last)), time.Now()
		case errors.Is(err, firqnats.ErrLost):
			d.unknown++
		case !errors.Is(err, actor.ErrNotSent) || ctx.Err() != nil:
			d.err = err
		}
		failed := d.err != nil
		d.mu.Unlock()
		if failed {
			return
		}
	}
}

// read adds up what is saved.
func (r *demoResult) read(ctx context.Context, nc *nats.Conn) error {
	x, err := firqnats.Observe(ctx, nc, "")
	if err != nil {
		return err
	}
	for record, err := range x.Records(ctx, "counter") {
		if err != nil {
			return err
		}
		total, err := strconv.Atoi(string(record.State))
		if err != nil {
			return err
		}
		r.Saved += total
	}
	if r.Saved < r.Acknowledged || r.Saved > r.Acknowledged+r.Unknown {
		return fmt.Errorf("%d calls were acknowledged, %d are of unknown fate, and %d are saved", r.Acknowledged, r.Unknown, r.Saved)
	}
	return nil
}

func printDemo(w io.Writer, r *demoResult) {
	table(w, [][]string{
		{"ACTORS", "", "LONGEST TIME WITHOUT AN ANSWER"},
		{strconv.Itoa(r.OnDead), "on the node that died", short(r.Longest)},
		{strconv.Itoa(r.Actors - r.OnDead), "on the others", short(r.LongestOther)},
	})
	printf(w, "\n%d calls were acknowledged, %d were lost with the node (perhaps handled), and %d are saved.\n", r.Acknowledged, r.Unknown, r.Saved)
}
