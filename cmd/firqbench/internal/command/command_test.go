package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// broken takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Each way to end has an exit code, and says what happened, once.
func TestExecute(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	var sink bytes.Buffer
	for _, c := range []struct {
		name string
		ctx  context.Context
		out  io.Writer
		args []string
		err  error
		code int
		says string
	}{
		{"all well", t.Context(), &sink, nil, nil, command.OK, ""},
		{"failed", t.Context(), &sink, nil, errors.New("it broke"), command.Failed, "p: it broke\n"},
		{"interrupted", ended, &sink, nil, errors.New("whatever"), command.Interrupted, "p: interrupted\n"},
		{"cancelled", t.Context(), &sink, nil, fmt.Errorf("run: %w", context.Canceled), command.Interrupted, "p: interrupted\n"},
		{"disk full", t.Context(), broken{}, nil, nil, command.Failed, "p: the output is not complete: no space left\n"},
		{"a flag", t.Context(), &sink, []string{"--colour", "red"}, nil, command.Usage, "p: flag provided but not defined: -colour\nSee \"p --help\".\n"},
	} {
		app := func(stdout, stderr io.Writer) *cli.Command {
			return &cli.Command{
				Name: "p", Writer: stdout, ErrWriter: stderr, OnUsageError: command.OnUsageError, ExitErrHandler: command.KeepErr,
				Action: func(context.Context, *cli.Command) error {
					report.Printf(stdout, "a table\n")
					return c.err
				},
			}
		}
		var said bytes.Buffer
		code := command.Execute(c.ctx, app, append([]string{"p"}, c.args...), c.out, &said)
		if code != c.code || said.String() != c.says {
			t.Errorf("%s: exit code %d, %q", c.name, code, said.String())
		}
	}
}

// A mistake of the user wins over the interruption that came with it: it would be
// there the next time as well.
func TestMisuse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	app := func(stdout, stderr io.Writer) *cli.Command {
		return &cli.Command{
			Name: "p", Writer: stdout, ErrWriter: stderr, ExitErrHandler: command.KeepErr,
			Commands: []*cli.Command{{Name: "sub", Action: func(_ context.Context, cmd *cli.Command) error {
				if err := command.Misuse(cmd, nil); err != nil {
					t.Errorf("a mistake that is none: %v", err)
				}
				return command.Misuse(cmd, errors.New("--n: 0, must be 1 or more"))
			}}},
		}
	}
	var said bytes.Buffer
	if code := command.Execute(ctx, app, []string{"p", "sub"}, io.Discard, &said); code != command.Usage || said.String() != "p: --n: 0, must be 1 or more\nSee \"p sub --help\".\n" {
		t.Errorf("exit code %d, %q", code, said.String())
	}
}
