package compute

import (
	"context"
	"time"
)

// SetTTL says how long the result that is being made with ctx is kept, instead of
// Config.TTL and TTLFor, for an Exec that learns it together with the result; 0 or less: it is
// not kept. The last call counts. An error is kept as Config.ErrorTTL says. It reports
// whether ctx comes from a Server that keeps results, and does nothing else if not: a
// Config without TTL, TTLFor and ErrorTTL keeps none.
func SetTTL(ctx context.Context, d time.Duration) bool {
	made, ok := ctx.Value(originKey{}).(interface{ setTTL(d time.Duration) bool })
	return ok && made.setTTL(d)
}

func (f *flight[T, K, V]) setTTL(d time.Duration) bool {
	if d <= 0 {
		d = -1
	}
	f.ttl.Store(int64(d))
	return f.keep
}
