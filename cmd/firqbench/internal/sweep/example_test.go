package sweep_test

import (
	"fmt"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// Two numbers of producers on two numbers of processors: four steps. "2x" is twice
// as many as processors.
func ExamplePlan_Steps() {
	one, _ := sweep.ParseValue("1")
	twice, _ := sweep.ParseValue("2x")
	plan := sweep.Plan{
		Scenarios: []string{"contended"}, Cores: []int{1, 2}, Producers: []sweep.Value{one, twice},
		Contestants: []string{"channel"}, Rounds: 5, Duration: time.Second,
	}
	steps, err := plan.Steps()
	fmt.Println(len(steps), err)
	// Output: 4 <nil>
}
