package chart_test

import (
	"fmt"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
)

func Example() {
	c := chart.Chart{
		ID: "rate", Title: "Throughput",
		X: chart.Axis{Label: "cores"},
		Y: chart.Axis{Label: "tasks per second", FromZero: true},
		Series: []chart.Series{
			{Name: "lockfree", Slot: 0, Points: []chart.Point{{X: 1, Y: 4e6}, {X: 2, Y: 7e6}}},
			{Name: "baseline-1", Slot: 1, Points: []chart.Point{{X: 1, Y: 5e6}}},
		},
	}
	fmt.Println(strings.HasPrefix(c.SVG(&chart.Defs{}), "<svg"))
	for _, row := range c.Table() {
		fmt.Printf("%s | %s | %s\n", row.Head.Text, row.Cells[0].Text, row.Cells[1].Text)
	}
	// Output:
	// true
	// 1 | 4e+06 | 5e+06
	// 2 | 7e+06 |
}
