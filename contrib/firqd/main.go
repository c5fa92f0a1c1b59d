// Command firqd manages a queue of package queue, on Redis, Valkey or PostgreSQL: it queues the tasks of its schedules, serves metrics
// and a status page, enqueues tasks, shows the state of the queue, and requeues or purges dead letters.
//
//	go run github.com/firq-go/firq/contrib/firqd@latest demo
//	firqd --server redis://localhost enqueue --tenant alice '{"mail": 17}'
//	firqd --server postgres://localhost/shop migrate
//	firqd stats --watch
//	firqd serve
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
	_ "time/tzdata" // zones of schedules, also where the system has none

	"github.com/caarlos0/env/v11"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// Exit codes.
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
	p := program{os.Stdin, os.Stdout, os.Stderr, env.ToMap(os.Environ())}
	os.Exit(p.execute(ctx, os.Args[1:]))
}

// program holds the surroundings of a command: input, output, environment.
type program struct {
	in          io.Reader
	out, err    io.Writer
	environment map[string]string
}

// errProblem: doctor has said already what is wrong.
var errProblem = errors.New("there are problems")

// execute runs a command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	err := p.app().Run(ctx, append([]string{"firqd"}, args...))
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	for line := range strings.Lines(err.Error()) { // joined errors have one each
		printf(p.err, "firqd: %s\n", clean(strings.TrimSuffix(line, "\n")))
	}
	var usage *usageError
	switch {
	case errors.As(err, &usage):
		if usage.command != "" {
			printf(p.err, "See \"%s --help\".\n", usage.command)
		}
		return exitUsage
	case errors.Is(err, firq.ErrInvalidConfig), errors.Is(err, firq.ErrInvalidArgument), errors.Is(err, firq.ErrInvalidTask),
		errors.Is(err, queue.ErrPartitions):
		return exitUsage
	case errors.Is(err, queue.ErrNotFound):
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

// misuse makes err the user's mistake; nil stays nil.
func misuse(cmd *cli.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err, cmd.FullName()}
}

func onUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return misuse(cmd, err)
}

const (
	where  = "Where the queue is"
	output = "Output"
)

func (p *program) app() *cli.Command {
	app := &cli.Command{
		Name:  "firqd",
		Usage: "look after a distributed fair task queue on Redis, Valkey or PostgreSQL",
		Description: "firqd is for queues of github.com/firq-go/firq/contrib/firqredis and firqpg. Payloads are JSON.\n\n" +
			"Servers: redis://[user:password@]host[:port][/db], rediss:// (TLS), redis+cluster://host:port,host:port,\n" +
			"redis+sentinel://host:port,host:port/master, postgres://[user:password@]host[:port]/database.\n\n" +
			"Settings come from defaults, then the file of --config (YAML), then the environment\n" +
			"(FIRQ_SERVER, FIRQ_REDIS_PASSWORD, FIRQ_QUEUE_NAME, ...), then flags; \"firqd config check\"\n" +
			"shows all of them as they are in force.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 4 doctor found a problem.\n" +
			"Ctrl-C ends serve, --watch and everything else in order.\n\n" +
			"Examples:\n" +
			"   firqd demo                                          what a noisy tenant does, without a server\n" +
			"   firqd enqueue --tenant alice '{\"mail\": 17}'\n" +
			"   firqd stats --watch\n" +
			"   firqd top --by oldest --json\n" +
			"   firqd dlq requeue --tenant alice --reason timeout\n" +
			"   firqd serve                                         schedules, metrics, a status page",
		Version:               version(),
		Writer:                p.out,
		ErrWriter:             p.err,
		Reader:                p.in,
		Suggest:               true,
		HideHelpCommand:       true,
		EnableShellCompletion: true,

		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Category: where, Usage: "read settings from a YAML `FILE` (FIRQ_CONFIG)"},
			&cli.StringFlag{Name: "server", Category: where, Usage: "`URL` of the server (FIRQ_SERVER)"},
			&cli.StringFlag{Name: "addr", Category: where, Usage: "`HOST:PORT` of a Redis server; several with commas: a cluster, or Sentinels (FIRQ_REDIS_ADDR)"},
			&cli.StringFlag{Name: "queue", Category: where, Usage: "`NAME` of the queue (FIRQ_QUEUE_NAME)"},
			&cli.IntFlag{Name: "partitions", Category: where, DefaultText: "as many as the queue has", Usage: "the queue on Redis has `N` partitions (FIRQ_QUEUE_PARTITIONS)"},
			&cli.BoolFlag{Name: "json", Category: output, Usage: "print JSON"},
		},
		Commands: []*cli.Command{
			p.serveCommand(), p.enqueueCommand(), p.statsCommand(), p.topCommand(), p.tenantsCommand(), p.settingsCommand(), p.tasksCommand(), p.inFlightCommand(), p.dlqCommand(),
			p.cancelCommand(), p.scheduleCommand(), p.doctorCommand(), p.migrateCommand(), p.benchCommand(), p.demoCommand(), p.configCommand(),
		},
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // execute does it
	}
	group(app)
	return app
}

// group sets up what a command and those in it have in common. One that only has others shows its help, or an
// error if it gets the name of none of them.
func group(cmd *cli.Command) {
	cmd.OnUsageError = onUsageError
	cmd.DisableSliceFlagSeparator = true // a header may have commas
	var names []string
	for _, c := range cmd.Commands {
		group(c)
		names = append(names, c.Name)
	}
	if cmd.Action == nil {
		cmd.Action = func(_ context.Context, cmd *cli.Command) error {
			if name := cmd.Args().First(); name != "" {
				return misuse(cmd, fmt.Errorf("unknown command %q; there are %s", name, strings.Join(names, ", ")))
			}
			if cmd.Root() == cmd {
				return cli.ShowRootCommandHelp(cmd)
			}
			return cli.ShowSubcommandHelp(cmd)
		}
	}
}

func version() string {
	v := "devel"
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v = bi.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
