// Command queues compares contrib/firqredis with asynq, the task queue on Redis that most Go programs use,
// on a redis-server that it starts itself.
//
//	go run . -o queues.json
//
// It is a module of its own, so that firq does not depend on asynq.
package main

import (
	"io"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/internal/bench/command"
)

func main() { command.Main(app) }

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "queues",
		Usage: "compare firqredis with asynq",
		Description: "Starts a redis-server of its own on a free port of the loopback interface, which keeps nothing\n" +
			"on disk unless --appendfsync says so, measures both queues on it in alternating rounds, and prints tables in Markdown. Figures\n" +
			"are medians; ratios are medians of the ratios of the rounds. \"us\" is CPU time of the server per task,\n" +
			"which other work on the machine disturbs much less than tasks/s. Payloads have 100 bytes.\n" +
			"The default takes about five minutes. Ctrl-C ends early and shows what is there. Without a\n" +
			"redis-server it says so and does nothing.\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Parts:\n" +
			"   throughput  enqueue by single calls of 64 goroutines, process an empty handler, and both at once\n" +
			"   single      one goroutine enqueues over one connection\n" +
			"   latency     from Enqueue to the handler, with 64 idle workers\n" +
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
			&cli.IntFlag{Name: "tenants", Value: 64, Usage: "`N` tenants in the throughput part; asynq has one queue"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "`N` runs of each"},
			&cli.IntFlag{Name: "crowd", Value: 10_000, Usage: "`N` tenants against 64"},
			&cli.IntFlag{Name: "noisy", Value: 100_000, Usage: "`N` tasks of the noisy tenant"},
			&cli.IntFlag{Name: "samples", Value: 400, Usage: "`N` latencies of firqredis, and a tenth of it of asynq, which takes half a second for each"},
			command.OutputFlag(),
		},
		Action: command.Alone(parse, run),
	}, stdout, stderr)
}
