package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
)

func (p *program) nodesCommand() *cli.Command {
	return &cli.Command{
		Name:  "nodes",
		Usage: "show the nodes of the cluster",
		Description: "A node is alive while it has a record. It renews that each fifth of a lease; one that has not for two thirds of a\n" +
			"lease handles nothing (rests), and after a lease the others delete the record (silent).\n" +
			"With --json: a list of firqnats.Member, with State.\n\n" +
			"Example:\n   firqcluster nodes --json | jq '.[].Name'",
		Action: p.with(nil, func(ctx context.Context, s *session) error {
			nodes, err := s.nodes(ctx)
			if err != nil {
				return err
			}
			return s.show(s.cmd, nodes, func(w io.Writer) {
				rows := [][]string{{"NAME", "ID", "STATE", "ACTORS", "UP", "RENEWED", "KINDS"}}
				for _, n := range nodes {
					rows = append(rows, []string{n.Name, n.ID, n.State, strconv.Itoa(n.Activations), ago(n.Since), short(n.Silent) + " ago", strings.Join(n.Kinds, " ")})
				}
				table(w, rows)
			})
		}),
	}
}

// node of the cluster, with what its record says of it.
type node struct {
	firqnats.Member
	State string // alive, leaving, rests or silent
}

// nodes returns the nodes, by name.
func (s *session) nodes(ctx context.Context) ([]node, error) {
	members, err := s.x.Members(ctx)
	if err != nil {
		return nil, err
	}
	list := []node{}
	for _, m := range members {
		state := "alive"
		switch lease := s.x.Lease(); {
		case m.Silent > lease:
			state = "silent"
		case m.Silent > lease*2/3:
			state = "rests"
		case m.Leaving:
			state = "leaving"
		}
		list = append(list, node{m, state})
	}
	slices.SortFunc(list, func(a, b node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

func (p *program) actorsCommand() *cli.Command {
	return &cli.Command{
		Name:  "actors",
		Usage: "show the actors that are active",
		Description: "Asks all nodes. It fails if one does not answer, after it has shown what the others said.\n" +
			"With --json: a list of firqnats.ActorInfo.\n\n" +
			"Example:\n   firqcluster actors --kind cart",
		Flags: []cli.Flag{&cli.StringFlag{Name: "kind", Usage: "those of this `KIND` only"}},
		Action: p.with(nil, func(ctx context.Context, s *session) error {
			list, failed := []firqnats.ActorInfo{}, error(nil)
			for i, err := range s.x.Actors(ctx, s.cmd.String("kind")) {
				if err != nil {
					failed = err
					break
				}
				list = append(list, i)
			}
			slices.SortFunc(list, func(a, b firqnats.ActorInfo) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
			})
			err := s.show(s.cmd, list, func(w io.Writer) {
				rows := [][]string{{"KIND", "KEY", "STATE", "WAITING", "SINCE", "NODE"}}
				for _, i := range list {
					rows = append(rows, []string{i.Kind, i.Key, i.State, strconv.Itoa(i.Waiting), ago(i.Since), i.Node})
				}
				table(w, rows)
			})
			return cmp.Or(failed, err)
		}),
	}
}

var kindAndKey = []string{"a KIND and a KEY", "a KEY after the KIND"}

// identity returns the actor that the arguments name.
func (s *session) identity() actor.Identity {
	return actor.Identity{Kind: s.cmd.Args().Get(0), Key: s.cmd.Args().Get(1)}
}

func (p *program) whereCommand() *cli.Command {
	return &cli.Command{
		Name:      "where",
		Usage:     "show which node has an actor",
		ArgsUsage: "KIND KEY",
		Description: "It exits with 3 if no node that is alive has it; the next message starts it then.\n" +
			"With --json: Kind, Key, Node, Name.\n\n" +
			"Example:\n   firqcluster where cart alice",
		Action: p.with(kindAndKey, func(ctx context.Context, s *session) error {
			id := s.identity()
			at, err := s.x.Where(ctx, id)
			if err != nil {
				return err
			}
			if at == "" {
				return fmt.Errorf("%w: no node has %v", firqnats.ErrNotFound, id)
			}
			nodes, err := s.nodes(ctx)
			if err != nil {
				return err
			}
			name := ""
			for _, n := range nodes {
				if n.ID == at {
					name = n.Name
				}
			}
			return s.show(s.cmd, map[string]string{"Kind": id.Kind, "Key": id.Key, "Node": at, "Name": name}, func(w io.Writer) {
				printf(w, "%s  %s\n", at, clean(name))
			})
		}),
	}
}

// record is what --json prints of an actor's record.
type record struct {
	Kind, Key string
	Node      string          `json:",omitempty"`
	Revision  uint64          // of the record
	Written   time.Time       // when the record was
	State     json.RawMessage `json:",omitempty"` // if it is JSON
	Bytes     []byte          `json:",omitempty"` // else
}

func (p *program) stateCommand() *cli.Command {
	return &cli.Command{
		Name:      "state",
		Usage:     "show what an actor has saved",
		ArgsUsage: "KIND KEY",
		Description: "Prints the state: as JSON, or what is none as a hex dump. It exits with 3 if nothing is saved, as it is where the\n" +
			"cluster has an Options.Store. With --json: Kind, Key, Node, Revision, Written, State, or in place of that Bytes,\n" +
			"in base 64.\n\n" +
			"Example:\n   firqcluster state cart alice | jq .Items",
		Action: p.with(kindAndKey, func(ctx context.Context, s *session) error {
			r, err := s.x.Record(ctx, s.identity())
			if err != nil {
				return err
			}
			if !r.Saved {
				return fmt.Errorf("%w: nothing is saved of %v", firqnats.ErrNotFound, r.Identity)
			}
			v := record{Kind: r.Kind, Key: r.Key, Node: r.Node, Revision: r.Revision, Written: r.Written}
			if json.Valid(r.State) {
				v.State = r.State
			} else {
				v.Bytes = r.State
			}
			return s.show(s.cmd, v, func(w io.Writer) { printState(w, r.State) })
		}),
	}
}

func printState(w io.Writer, state []byte) {
	var b bytes.Buffer
	if json.Indent(&b, state, "", "  ") != nil {
		printf(w, "%s", hex.Dump(state))
		return
	}
	for line := range strings.Lines(b.String()) {
		printf(w, "%s\n", clean(strings.TrimSuffix(line, "\n")))
	}
}
