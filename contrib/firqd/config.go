package main

import (
	"context"
	"io"

	"github.com/urfave/cli/v3"
)

func (p *program) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "look at the configuration",
		Commands: []*cli.Command{{
			Name: "check", Usage: "check the configuration, and print what is in force, without passwords",
			Description: "Prints it as a file that --config can read, once passwords are filled in. It does not ask the server: see\n" +
				"\"firqd doctor\". It exits with 2 if something is wrong. partitions 0: as many as the queue has.\n\n" +
				"Example:\n   firqd config check --config firq.yaml",
			Action: func(_ context.Context, cmd *cli.Command) error {
				if err := between(cmd, 0, 0, ""); err != nil {
					return err
				}
				c, err := p.settings(cmd)
				if err != nil {
					return err
				}
				text, err := c.YAML()
				if err != nil {
					return err
				}
				return p.show(cmd, c.Shown(), func(w io.Writer) { printf(w, "%s", text) })
			},
		}},
	}
}
