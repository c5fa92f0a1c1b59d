package arrivals_test

import (
	"fmt"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
)

// Two producers that together send 1,000 tasks per second at equal intervals.
func ExampleSchedule() {
	s := arrivals.Schedule{Shape: arrivals.Constant, Rate: 1000, Streams: 2, Mid: time.Second}
	for i := range s.Streams {
		producer := s.Stream(i)
		fmt.Println(producer.Next(), producer.Next(), producer.Next())
	}
	// Output:
	// 500µs 2.5ms 4.5ms
	// 1.5ms 3.5ms 5.5ms
}
