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

// Several keys in one call: each is kept, shared and limited as by Do, and has its own error. Here exec
// also says how long each result is good.
func ExampleServer_DoMany() {
	s, err := compute.New(func(ctx context.Context, c compute.Call[string, string]) (int, error) {
		if c.Key == "" {
			return 0, fmt.Errorf("no name")
		}
		compute.SetTTL(ctx, time.Duration(len(c.Key))*time.Hour)
		return len(c.Key), nil
	}, compute.Config[string, string, int]{TTL: time.Minute})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	keys := []string{"tea", "", "coffee"}
	for i, r := range s.DoMany(context.Background(), "alice", keys) {
		fmt.Printf("%q %d %v\n", keys[i], r.Value, r.Err)
	}
	// Output:
	// "tea" 3 <nil>
	// "" 0 no name
	// "coffee" 6 <nil>
}
