package page_test

import (
	"fmt"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/page"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func ExampleWrite() {
	run := suite.Run{Contestant: "lockfree", Result: load.Result{TasksPerSec: 4e6, Queue: load.Latency{Samples: 1000, P50: 100, P95: 900, P99: 5000, P999: 5000, Max: 7000}}}
	file := page.File{Path: "run.json", File: &report.File{Schema: report.Schema, Run: &report.RunSection{
		Cells: []suite.Cell{{Scenario: scenario.Scenario{Name: "contended"}, Runs: []suite.Run{run}}},
	}}}
	var b strings.Builder
	if err := page.Write(&b, []page.File{file}, nil); err != nil {
		panic(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "<figcaption>") || strings.Contains(line, "no chart by cores") {
			fmt.Print(line)
		}
	}
	// Output:
	// <li>Only one number of cores was measured, of any scenario on the same machine with the same commit: no chart by cores. firqbench sweep --cores 1,2,4 -o FILE makes a file for one.</li>
	// <figcaption>Throughput by scenario, no work</figcaption>
	// <figcaption>contended: queue time, no work</figcaption>
}
