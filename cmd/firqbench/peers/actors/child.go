package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// childCommand is what this program is called with to do one run. Runs have their own processes, so that nothing
// that a library leaves behind, goroutines, memory, pools that have grown, is the next one's.
const childCommand = "one"

// request is what a child is asked for, as JSON, in its only argument. Its answer is jobs.Metrics as JSON.
type request struct {
	Job        string    `json:"job"`
	Contestant string    `json:"contestant"`
	Size       jobs.Size `json:"size"`
}

// one is the child.
func one(_ context.Context, cmd *cli.Command) error {
	var r request
	if err := json.Unmarshal([]byte(cmd.Args().First()), &r); err != nil {
		return command.Misuse(cmd, fmt.Errorf("%s: %w", childCommand, err))
	}
	m, err := r.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(cmd.Root().Writer).Encode(m)
}

// run does it here.
func (r *request) run() (jobs.Metrics, error) {
	j, err := jobs.Select([]string{r.Job})
	if err != nil {
		return nil, err
	}
	p, err := peers.Select([]string{r.Contestant})
	if err != nil {
		return nil, err
	}
	return j[0].Run(p[0].New, r.Size)
}

// start does it in a child.
func (r *request) start(ctx context.Context, limit time.Duration) (m jobs.Metrics, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(limited, self, childCommand, string(text))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errOut, time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("has not ended after %v", limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, tail(errOut.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return nil, errors.Join(err, errors.New(tail(out.String())))
	}
	return m, nil
}

// tail returns the beginning and the end of what a child said: a panic begins with its reason.
func tail(s string) string {
	const some = 400
	if s = strings.TrimSpace(s); len(s) > 2*some {
		s = s[:some] + " ... " + s[len(s)-some:]
	}
	return s
}
