package fairness

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
)

// Serve takes the given number of tasks, or a few less, with the given number of consumers,
// and returns what their calls were given, and when. Tasks with a negative payload
// are taken and not logged.
func Serve[K comparable](s firq.Consumer[K, int], tasks, consumers, batch int) []Delivery {
	var now, left atomic.Int64
	left.Store(int64(tasks))
	logs := make([][]Delivery, consumers)
	var all sync.WaitGroup
	for c := range consumers {
		all.Go(func() {
			dst := make([]firq.Item[K, int], batch)
			for left.Add(-int64(batch)) >= 0 {
				began := int(now.Add(1))
				n := take(s, dst)
				ended := int(now.Add(1))
				for _, it := range dst[:n] {
					if consumers == 1 { // they were served one after the other
						ended = int(now.Add(1))
						began = ended
					}
					if it.Payload >= 0 {
						logs[c] = append(logs[c], Delivery{it.Payload, it.Cost, began, ended})
					}
				}
			}
		})
	}
	all.Wait()
	var log []Delivery
	for _, l := range logs {
		log = append(log, l...)
	}
	return log
}

// take fills dst with what is there. One item it takes by TryDequeue, so that both
// ways are used.
func take[K comparable](s firq.Consumer[K, int], dst []firq.Item[K, int]) int {
	if len(dst) > 1 {
		n, _ := s.DequeueBatch(context.Background(), dst)
		return n
	}
	it, ok := s.TryDequeue()
	if !ok {
		return 0
	}
	dst[0] = it
	return 1
}

// asReturned returns the log as if each task had been served when its call returned.
func asReturned(log []Delivery) []Delivery {
	at := make([]Delivery, len(log))
	for k, d := range log {
		d.Began = d.Ended
		at[k] = d
	}
	return at
}
