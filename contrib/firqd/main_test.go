package main

import (
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// Every command has a help with examples.
func TestHelp(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	n := 0
	var visit func(cmd *cli.Command, args []string)
	visit = func(cmd *cli.Command, args []string) {
		n++
		texts := []string{cmd.Usage}
		if len(cmd.Commands) == 0 {
			texts = append(texts, "Example", "firqd "+strings.Join(args, " "))
		}
		b.wants(exitOK, append(args, "--help"), texts...)
		for _, c := range cmd.Commands {
			visit(c, append(args[:len(args):len(args)], c.Name))
		}
	}
	visit((&program{}).app(), nil)
	if n != 35 {
		t.Errorf("%d commands", n)
	}
	b.want(exitOK, "", "firqd serve", "4 doctor found a problem")
	b.want(exitOK, "dlq", "requeue")
	b.want(exitOK, "--version", "firqd version ")
}

// Invalid command lines are reported without a server: there is none here.
func TestUsageErrors(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	for _, c := range []struct{ args, want string }{
		{"rum", `unknown command "rum"; there are serve, enqueue,`},
		{"dlq rum", `unknown command "rum"; there are list, show`},
		{"--nope", "-nope"},
		{"stats --nope", "-nope"},
		{"stats more", `takes no arguments: "more"`},
		{"stats --partitions x", "partitions"},
		{"stats --partitions -1", "queue.partitions: -1"},
		{"stats --addr here", `redis.addr: "here", must be host:port`},
		{"stats --queue a{b", "queue.name"},
		{"stats --config /no/such/file", "/no/such/file"},
		{"top --by size", `--by: "size", must be queued, in-flight or oldest`},
		{"top -n 0", "-n: 0"},
		{"enqueue", "needs a PAYLOAD"},
		{"enqueue text", `PAYLOAD 1: "text" is not valid JSON`},
		{"enqueue 1 {", `PAYLOAD 2: "{" is not valid JSON`},
		{"enqueue --id x 1 2", "--id: is for one PAYLOAD"},
		{"enqueue --priority 7 1", `--priority: "7", must be 1 to 6`},
		{"enqueue --at tomorrow 1", `--at: "tomorrow", must be a time`},
		{"enqueue --deadline 5m 1", `--deadline: "5m"`},
		{"enqueue --header novalue 1", `--header: "novalue", must be KEY=VALUE`},
		{"enqueue --delay soon 1", "delay"},
		{"cancel", "needs at least one ID"},
		{"tenants set", "set needs one TENANT, there are 0"},
		{"tenants set a", "set needs --weight"},
		{"tenants set a --burst 1", "--burst: needs --rate"},
		{"tenants set a --forget --weight 1", "set needs --weight"},
		{"tenants pause", "at least one TENANT, or else --all"},
		{"tenants resume a --all", "at least one TENANT, or else --all"},
		{"settings show x", "takes no arguments"},
		{"settings set", "set needs at least one setting"},
		{"settings set --priority-aging soon", "priority-aging"},
		{"dlq list x", "takes no arguments"},
		{"tasks list x", "takes no arguments"},
		{"tasks list --state done", `--state: "done", must be queued,`},
		{"tasks list --limit 501", "--limit: 501"},
		{"tasks show", "needs at least one ID"},
		{"tasks delete", "needs at least one ID"},
		{"dlq list --after yesterday", `--after: "yesterday"`},
		{"dlq list --limit -1", "--limit: -1"},
		{"dlq show", "needs at least one ID"},
		{"dlq purge", "or else --all"},
		{"dlq purge x --all", "or else --all"},
		{"dlq requeue --tenant a x", "or else --all"},
		{"schedule put x", "an ID and a PAYLOAD"},
		{"schedule put x 1", "--cron: is missing"},
		{"schedule put x text --cron @daily", "not valid JSON"},
		{"schedule put x 1 --cron daily", "daily"},
		{"schedule put x 1 --cron @daily --zone Mars/Base", "Mars/Base"},
		{"schedule rm", "needs at least one ID"},
		{"schedule next", "next needs one ID, or else --cron"},
		{"schedule next a --cron @daily", "next needs one ID, or else --cron"},
		{"schedule next --cron @daily -n 0", "-n: 0"},
		{"schedule next --cron @never", "@never"},
		{"bench -n 0", "-n: 0, must be 1 to"},
		{"bench --payload 1", "--payload: 1"},
		{"serve x", "takes no arguments"},
		{"serve --listen x", `serve.listen: "x"`},
		{"doctor x", "takes no arguments"},
		{"demo x", "takes no arguments"},
		{"config check x", "takes no arguments"},
	} {
		code, out, errOut := b.run(strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%s: exit code %d, want %d and %q\n%s\n%s", c.args, code, exitUsage, c.want, out, errOut)
		}
	}
	code, _, errOut := b.run("tenants", "pause", "")
	if code != exitUsage || !strings.Contains(errOut, "TENANT: is empty") {
		t.Errorf("an empty name pauses the queue: %d, %s", code, errOut)
	}
	if _, _, errOut := b.run("dlq", "list", "--limit", "-1"); !strings.Contains(errOut, `See "firqd dlq list --help".`) {
		t.Errorf("no way to the help: %s", errOut)
	}
}

// A server that is away is a failure, but not for doctor, which looks for problems.
func TestNoServer(t *testing.T) {
	b := &bed{T: t, env: map[string]string{"FIRQ_REDIS_ADDR": nowhere}}
	for _, args := range []string{
		"stats", "top", "enqueue 1", "enqueue -", "cancel x", "tenants show", "tenants set a --weight 1", "tenants pause a", "dlq list", "dlq show a",
		"dlq purge --all", "dlq requeue --all", "schedule list", "schedule rm a", "schedule next a", "bench", "serve --listen :0", "stats --watch",
		"schedule put a 1 --cron @daily", "settings show", "settings set --max-queued 1",
	} {
		b.want(exitFailed, args, nowhere)
	}
	b.want(exitProblem, "doctor", "problem", nowhere)
	if r := read[report](b, exitProblem, "doctor"); r.OK || len(r.Problems) != 1 || r.Checks[0].Name != "server" {
		t.Errorf("%+v", r)
	}
}

// The file in this folder has every setting, with its default.
func TestExampleFile(t *testing.T) {
	b := &bed{T: t, env: map[string]string{}}
	if got, want := b.want(exitOK, "config check --config firq.yaml"), b.want(exitOK, "config check"); got != want {
		t.Errorf("firq.yaml says\n%s\nthe defaults are\n%s", got, want)
	}
	text, err := os.ReadFile("firq.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(b.want(exitOK, "config check")) {
		if name, ok := strings.CutSuffix(field, ":"); ok && !strings.Contains(string(text), name+":") {
			t.Errorf("firq.yaml does not have %s", name)
		}
	}
}
