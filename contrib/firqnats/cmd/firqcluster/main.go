// Command firqcluster looks after a cluster of package firqnats: it shows nodes, actors and saved states,
// drains a node, and looks for what is wrong.
//
//	go run github.com/firq-go/firq/contrib/firqnats/cmd/firqcluster@latest demo
//	firqcluster --server nats://localhost nodes
//	firqcluster where cart alice
//	firqcluster doctor
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqnats"
)

// Exit codes, those of firqd.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2 // or configuration
	exitNotFound = 3
	exitProblem  = 4 // doctor found one
)

func main() {
	// The first Ctrl-C ends what is on; with a second one the default action ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	p := program{os.Stdout, os.Stderr, os.Getenv}
	os.Exit(p.execute(ctx, os.Args[1:]))
}

// program holds the surroundings of a command: output, environment.
type program struct {
	out, err io.Writer
	env      func(name string) string
}

// errProblem: doctor has said already what is wrong.
var errProblem = errors.New("there are problems")

// execute runs a command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	err := p.app().Run(ctx, append([]string{"firqcluster"}, args...))
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	for line := range strings.Lines(err.Error()) { // joined errors have one each
		printf(p.err, "firqcluster: %s\n", clean(strings.TrimSuffix(line, "\n")))
	}
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		printf(p.err, "See \"%s --help\".\n", usage.command)
		return exitUsage
	case errors.Is(err, firq.ErrInvalidConfig):
		return exitUsage
	case errors.Is(err, firqnats.ErrNotFound):
		return exitNotFound
	case errors.Is(err, errProblem):
		return exitProblem
	}
	return exitFailed
}

// usageError is the user's mistake.
type usageError struct {
	err     error
	command string // whose help explains it
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func misuse(cmd *cli.Command, err error) error { return &usageError{err, cmd.FullName()} }

func onUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return misuse(cmd, err)
}

const (
	where  = "Where the cluster is"
	output = "Output"
)

func (p *program) app() *cli.Command {
	app := &cli.Command{
		Name:  "firqcluster",
		Usage: "look after a cluster of actors on NATS",
		Description: "firqcluster is for clusters of github.com/firq-go/firq/contrib/firqnats. It is no node of them: it reads what they keep\n" +
			"on the NATS server, and asks nodes. Only drain changes anything.\n\n" +
			"Flags come before their defaults in the environment: NATS_URL, NATS_CREDS, NATS_CA, NATS_CERT and NATS_KEY, as with\n" +
			"NATS's own tool, and FIRQ_CLUSTER. The account needs all of JetStream's API, and firq.<cluster>.>.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 4 doctor found a problem.\n\n" +
			"Examples:\n" +
			"   firqcluster demo                        a node dies, and its actors go on elsewhere; without a server\n" +
			"   firqcluster --server nats://host nodes\n" +
			"   firqcluster actors --kind cart --json\n" +
			"   firqcluster state cart alice\n" +
			"   firqcluster drain shop-2\n" +
			"   firqcluster doctor",
		Version:               version(),
		Writer:                p.out,
		ErrWriter:             p.err,
		Suggest:               true,
		HideHelpCommand:       true,
		EnableShellCompletion: true,

		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Category: where, Usage: "`URL` of the NATS server; several with commas (NATS_URL)"},
			&cli.StringFlag{Name: "cluster", Category: where, Usage: "`NAME` of the cluster, Options.Cluster (FIRQ_CLUSTER)"},
			&cli.StringFlag{Name: "creds", Category: where, Usage: "`FILE` of credentials (NATS_CREDS)"},
			&cli.StringFlag{Name: "tls-ca", Category: where, Usage: "`FILE` of the certificate authorities (NATS_CA)"},
			&cli.StringFlag{Name: "tls-cert", Category: where, Usage: "`FILE` of this client's certificate (NATS_CERT)"},
			&cli.StringFlag{Name: "tls-key", Category: where, Usage: "`FILE` of its key (NATS_KEY)"},
			&cli.DurationFlag{Name: "timeout", Category: where, Value: defaultTimeout, Usage: "how long all answers may take; drain has its own"},
			&cli.BoolFlag{Name: "json", Category: output, Usage: "print JSON"},
		},
		Commands: []*cli.Command{
			p.nodesCommand(), p.actorsCommand(), p.whereCommand(), p.stateCommand(), p.drainCommand(), p.doctorCommand(), p.demoCommand(),
		},
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // execute does it
	}
	var names []string
	for _, c := range app.Commands {
		c.OnUsageError = onUsageError
		names = append(names, c.Name)
	}
	app.OnUsageError = onUsageError
	app.Action = func(_ context.Context, cmd *cli.Command) error {
		if name := cmd.Args().First(); name != "" {
			return misuse(cmd, fmt.Errorf("unknown command %q; there are %s", name, strings.Join(names, ", ")))
		}
		return cli.ShowRootCommandHelp(cmd)
	}
	return app
}

func version() string {
	v := "devel"
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v = bi.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
