package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/export"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// complete completes on the command line: values of the flags that have few, then
// the arguments. No candidates leave it to the shell, which offers files.
func complete(contestants []contest.Contestant, arguments []string) cli.ShellCompleteFunc {
	return func(ctx context.Context, cmd *cli.Command) {
		args := cmd.Args().Slice()
		last := ""
		if len(args) > 0 {
			last = args[len(args)-1]
		}
		candidates := arguments
		switch last {
		case "--contestants":
			candidates = names(contestants)
		case "--format":
			candidates = []string{export.Table, export.JSON, export.CSV, export.Benchfmt}
			if cmd.Name == "matrix" {
				candidates = []string{export.Table, export.JSON, markdown}
			}
		case "--arrivals":
			candidates = nil
			for _, s := range arrivals.Shapes() {
				candidates = append(candidates, string(s))
			}
		case "--metrics":
			candidates = nil
			for _, m := range metric.All() {
				candidates = append(candidates, m.Name)
			}
		default:
			if strings.HasPrefix(last, "-") {
				cli.DefaultCompleteWithFlags(ctx, cmd)
				return
			}
		}
		for _, c := range candidates {
			report.Printf(cmd.Root().Writer, "%s\n", c)
		}
	}
}

func names(cs []contest.Contestant) (ns []string) {
	for _, c := range cs {
		ns = append(ns, c.Name)
	}
	return ns
}

// showCompletion makes "firqbench completion" visible in the help.
func showCompletion(cmd *cli.Command) {
	cmd.Hidden = false
	cmd.Action = func(_ context.Context, cmd *cli.Command) error {
		var shells []string
		for _, c := range cmd.Commands {
			shells = append(shells, c.Name)
		}
		slices.Sort(shells)
		return command.Misuse(cmd, fmt.Errorf("completion: %q, must be one of %s", cmd.Args().First(), strings.Join(shells, ", ")))
	}
	cmd.Usage = "print a script that completes commands, flags and names in bash, zsh, fish or PowerShell"
	cmd.Description = "Completes commands, flags, scenarios, contestants, formats and metrics. firqbench has to be\n" +
		"installed (go install github.com/firq-go/firq/cmd/firqbench@latest), not run by go run.\n\n" +
		"Examples:\n" +
		"   source <(firqbench completion bash)       # in ~/.bashrc, after bash-completion\n" +
		"   source <(firqbench completion zsh)        # in ~/.zshrc, after compinit\n" +
		"   firqbench completion fish > ~/.config/fish/completions/firqbench.fish\n" +
		"   firqbench completion pwsh > firqbench.ps1"
}
