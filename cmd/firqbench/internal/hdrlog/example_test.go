package hdrlog_test

import (
	"fmt"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/hdrlog"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

func ExampleName() {
	c := suite.Cell{Scenario: scenario.All()[0], Variant: suite.Variant{Work: 100 * time.Nanosecond}}
	fmt.Println(hdrlog.Name(&c, "lockfree"))
	// Output: contended_work-100ns-task_lockfree.hlog
}
