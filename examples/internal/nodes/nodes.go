// Package nodes starts processes that are nodes of a cluster: the examples of contrib/firqnats share it. A
// program starts itself again with Flag and the address of the NATS server, and calls Serve there.
package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
)

// Flag is what the program calls itself with; the address of the server follows.
const Flag = "-node"

// Lease is short, so that the examples are.
const Lease = time.Second

// patience is how long a process may take to join, and to leave.
const patience = 30 * time.Second

// Join makes this process a node. leave undoes it.
func Join(ctx context.Context, url string, o firqnats.Options) (node *firqnats.Node, leave func() error, err error) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, nil, err
	}
	o.Lease, o.Logger = Lease, slog.New(slog.DiscardHandler)
	sys, err := actor.New(actor.Config{Logger: o.Logger})
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	if node, err = firqnats.Join(ctx, nc, sys, o); err != nil {
		nc.Close()
		return nil, nil, errors.Join(err, sys.Close())
	}
	return node, func() error {
		ctx, end := context.WithTimeout(context.Background(), patience)
		defer end()
		err := node.Leave(ctx)
		nc.Close()
		return errors.Join(err, sys.Close())
	}, nil
}

// Serve is the life of a process that is a node: it joins, makes kinds known, and leaves at SIGTERM, or when
// the process that has started it is gone.
func Serve(url string, kinds func(*firqnats.Node) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	joining, end := context.WithTimeout(ctx, patience)
	defer end()
	node, leave, err := Join(joining, url, firqnats.Options{Name: fmt.Sprint("process ", os.Getpid())})
	if err != nil {
		return err
	}
	if err := kinds(node); err != nil {
		return errors.Join(err, leave())
	}
	fmt.Println("ready")
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(gone)
	}()
	select {
	case <-ctx.Done():
	case <-gone:
	}
	return leave()
}

// Process is a node in a separate process.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts this program again, as a node, and returns when the node has joined.
func Start(ctx context.Context, url string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, self, Flag, url)}
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("a node does not start: it says %q: %w", line, err), p.Kill())
	}
	return p, nil
}

// Kill ends the process with SIGKILL: it can do nothing more. The second time it does nothing.
func (p *Process) Kill() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // an error: it was killed
	return err
}

// Leave ends the process with SIGTERM, and waits until it has handed over.
func (p *Process) Leave() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.cmd.Wait()
}
