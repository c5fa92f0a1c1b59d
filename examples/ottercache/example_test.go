package ottercache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/examples/ottercache"
)

// A server that keeps its results in otter.
func Example() {
	kept, err := ottercache.New[string, int, string](10_000)
	if err != nil {
		panic(err)
	}
	defer kept.Close()
	s, err := compute.New(func(_ context.Context, c compute.Call[string, int]) (string, error) {
		return fmt.Sprintf("report %d of %s", c.Key, c.Tenant), nil
	}, compute.Config[string, int, string]{TTL: time.Minute, Cache: kept})
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close() }()

	for range 2 {
		report, info, err := s.DoInfo(context.Background(), "acme", 30)
		fmt.Println(report, info.Source, err)
	}
	fmt.Println(kept.Len())
	// Output:
	// report 30 of acme executed <nil>
	// report 30 of acme hit <nil>
	// 1
}
