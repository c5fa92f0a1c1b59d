// Command queues compares contrib/firqredis with asynq, the task queue on Redis that most Go programs use,
// on a redis-server that it starts itself.
//
//	go run . -o queues.json
//
// It is its own module, so that firq does not depend on asynq.
package main

import (
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

func main() { command.Main(app) }

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "queues",
		Usage: "compare firqredis with asynq",
		Description: "Starts a redis-server on a free port of the loopback interface, which keeps nothing\n" +
			"on disk unless --appendfsync says so, measures both queues on it in alternating rounds, and prints tables in Markdown. Figures\n" +
			"are medians; ratios are medians of the ratios of the rounds. \"us\" is CPU time of the server per task,\n" +
			"which other work on the machine disturbs much less than tasks/s. Payloads have 100 bytes.\n" +
			"The default takes about ten minutes. Ctrl-C ends early and shows what is there. Without a\n" +
			"redis-server it says so and does nothing.\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Parts:\n" +
			"   throughput  enqueue by single calls of 64 goroutines, process an empty handler, and both at once; asynq\n" +
			"               also with a queue for each tenant\n" +
			"   single      one goroutine enqueues over one connection\n" +
			"   latency     from Enqueue to the handler, with 64 idle workers, after pauses that are the same for all; eight\n" +
			"               queues at the same time, and asynq also where it looks for tasks more often\n" +
			"   memory      of a queued task\n" +
			"   batches     enqueue, dequeue and ack, 1 to 500 tasks in a call\n" +
			"   crowd       10,000 tenants with tasks against 64\n" +
			"   fairness    one tenant with many tasks before 100 with one each\n" +
			"   bound       the largest difference of service between two tenants, and across partitions\n\n" +
			"Examples:\n" +
			"   go run . -o queues.json\n" +
			"   go run . --parts throughput,single --rounds 9\n" +
			"   go run . --server valkey-server -o results/\n" +
			"   go run . --parts batches --appendfsync always",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Value: "redis-server", Usage: "the `PROGRAM` to start"},
			&cli.StringFlag{Name: "appendfsync", Value: "off", Usage: "let the server keep an append-only file, and sync it: off, everysec or always (`WHEN`)"},
			&cli.StringFlag{Name: "parts", Value: command.Names(parts), Usage: "measure this `LIST`"},
			&cli.StringFlag{Name: "workers", Value: "16,64,256", Usage: "a `LIST` of numbers of workers"},
			&cli.IntFlag{Name: "tasks", Value: 20_000, Usage: "`N` tasks in each phase; memory, too"},
			&cli.IntFlag{Name: "tenants", Value: 64, Usage: "`N` tenants in the throughput part"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "`N` runs of each"},
			&cli.IntFlag{Name: "crowd", Value: 10_000, Usage: "`N` tenants against 64"},
			&cli.IntFlag{Name: "noisy", Value: 100_000, Usage: "`N` tasks of the noisy tenant"},
			&cli.IntFlag{Name: "samples", Value: 128, Usage: "`N` latencies of each"},
			&cli.DurationFlag{Name: "least-pause", Value: 500 * time.Millisecond, Usage: "wait at least `D` before a task of the latency part"},
			&cli.DurationFlag{Name: "most-pause", Value: 6 * time.Second, Usage: "and at most `D`, evenly between"},
			command.OutputFlag(),
		},
		Action: command.Alone(parse, run),
	}, stdout, stderr)
}
