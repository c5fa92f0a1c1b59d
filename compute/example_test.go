package compute_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firq-go/firq/compute"
)

func Example() {
	made := 0
	s, err := compute.New(func(_ context.Context, c compute.Call[string, string]) (string, error) {
		made++
		return strings.ToUpper(c.Key) + " for " + c.Tenant, nil
	}, compute.Config[string, string, string]{TTL: time.Minute})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	for range 3 {
		v, info, err := s.DoInfo(context.Background(), "alice", "report")
		fmt.Println(v, info.Source, err)
	}
	fmt.Println("made:", made)
	// Output:
	// REPORT for alice executed <nil>
	// REPORT for alice hit <nil>
	// REPORT for alice hit <nil>
	// made: 1
}

func ExampleBatcher() {
	b, err := compute.NewBatcher(func(_ context.Context, calls []compute.Call[string, int]) ([]int, error) {
		squares := make([]int, len(calls))
		for i, c := range calls {
			squares[i] = c.Key * c.Key
		}
		return squares, nil
	}, compute.BatchConfig[string]{})
	if err != nil {
		panic(err)
	}
	defer b.Close()
	fmt.Println(b.Do(context.Background(), "alice", 7))
	// Output: 49 <nil>
}
