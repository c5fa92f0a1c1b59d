package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqnats"
)

// drain is what --json prints.
type drain struct {
	Node, Name  string
	Activations int // when it began
	Took        time.Duration
}

func (p *program) drainCommand() *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "have a node hand over its actors, and take no others",
		ArgsUsage: "NODE",
		Description: "NODE is an ID, or the name of one node. Each actor handles what it has, and goes on elsewhere: no call fails. The\n" +
			"node stays in the cluster and sends; end its process when this is done. If --within is over the node goes on, and\n" +
			"the same command waits again. If no other node has the kinds, their messages wait.\n" +
			"With --json: Node, Name, Activations, Took.\n\n" +
			"Example:\n   firqcluster drain shop-2 && kubectl delete pod shop-2",
		Flags: []cli.Flag{&cli.DurationFlag{Name: "within", Value: 5 * time.Minute, Usage: "how long it may take"}},
		Action: p.with([]string{"a NODE"}, func(ctx context.Context, s *session) error {
			d := s.cmd.Duration("within")
			if d <= 0 {
				return misuse(s.cmd, fmt.Errorf("--within: %v, must be positive", d))
			}
			ctx, end := context.WithTimeout(ctx, d)
			defer end()
			n, err := s.node(ctx, s.cmd.Args().First())
			if err != nil {
				return err
			}
			v, began := drain{Node: n.ID, Name: n.Name}, time.Now()
			err = s.x.Drain(ctx, n.ID, func(activations int) {
				v.Activations = activations
				if !s.cmd.Bool("json") {
					printf(s.out, "%s (%s) hands over %d actors ...\n", clean(n.Name), n.ID, activations)
				}
			})
			if err != nil {
				return err
			}
			v.Took = time.Since(began)
			return s.show(s.cmd, v, func(w io.Writer) { printf(w, "done, after %s\n", short(v.Took)) })
		}),
	}
}

// node returns the node that has an ID or a name.
func (s *session) node(ctx context.Context, what string) (node, error) {
	all, err := s.nodes(ctx)
	if err != nil {
		return node{}, err
	}
	var named []node
	var ids []string
	for _, n := range all {
		if n.ID == what {
			return n, nil
		}
		if n.Name == what {
			named = append(named, n)
			ids = append(ids, n.ID)
		}
	}
	switch len(named) {
	case 0:
		return node{}, fmt.Errorf("%w: the node %q", firqnats.ErrNotFound, what)
	case 1:
		return named[0], nil
	}
	return node{}, misuse(s.cmd, errors.New("several nodes have this name: give one of "+strings.Join(ids, ", ")))
}
