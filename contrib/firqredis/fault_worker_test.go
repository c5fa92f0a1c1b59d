package firqredis

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// workerEnv is set in processes that are workers of the fault tests: address, queue, lease.
const workerEnv = "FIRQREDIS_TEST_WORKER"

// workerMain handles tasks until it is killed, and says which.
func workerMain() {
	f := strings.Fields(os.Getenv(workerEnv))
	lease, err := time.ParseDuration(f[2])
	if err != nil {
		panic(err)
	}
	q, err := New(context.Background(), Config[string]{Client: redis.NewClient(&redis.Options{Addr: f[0]}), Name: f[1], Lease: lease})
	if err != nil {
		panic(err)
	}
	err = Run(context.Background(), q, func(_ context.Context, it *Item[string]) error {
		fmt.Println(it.ID, it.Attempt, it.Token)
		time.Sleep(time.Millisecond)
		return nil
	}, RunOptions[string]{Concurrency: 4})
	panic(err)
}
