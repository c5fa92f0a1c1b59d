package metric_test

import (
	"fmt"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func ExampleChoose() {
	ms, err := metric.Choose([]string{"tasks/s"})
	if err != nil {
		panic(err)
	}
	run := suite.Run{Contestant: "lockfree", Result: load.Result{TasksPerSec: 2e6}}
	fmt.Println(ms[0].Of(&suite.Cell{}, &run))
	// Output: 2e+06 true
}
