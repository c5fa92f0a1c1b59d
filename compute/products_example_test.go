package compute_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/compute"
)

type Query struct{ Category string }

type database struct{}

func (database) TopProducts(_ context.Context, tenant string, q Query) ([]string, error) {
	return []string{tenant + "'s best of " + q.Category}, nil
}

var db database

// At most 8 queries run at a time, shared fairly by tenant; a result is an answer for five
// seconds, and for a minute more while a new one is made in the background.
func ExampleNew() {
	ctx := context.Background()
	top, err := compute.New(func(ctx context.Context, c compute.Call[string, Query]) ([]string, error) {
		return db.TopProducts(ctx, c.Tenant, c.Key)
	}, compute.Config[string, Query, []string]{Limit: 8, TTL: 5 * time.Second, Stale: time.Minute})
	if err != nil {
		panic(err)
	}
	defer top.Close()

	products, err := top.Do(ctx, "acme", Query{Category: "books"})
	fmt.Println(products, err)
	// Output: [acme's best of books] <nil>
}
