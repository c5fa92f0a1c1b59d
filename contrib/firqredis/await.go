package firqredis

import "context"

// await returns the result of f, or ctx's error as soon as ctx ends. A client that waits for a reply ignores ctx: f, which is
// then left behind, ends by the client's ReadTimeout, and its outcome is open. So f must change nothing that its
// caller can see.
func await[R any](ctx context.Context, f func() (R, error)) (R, error) {
	if ctx.Done() == nil {
		return f()
	}
	type result struct {
		r   R
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := f()
		done <- result{r, err}
	}()
	select {
	case x := <-done:
		return x.r, x.err
	case <-ctx.Done():
		var none R
		return none, ctx.Err()
	}
}
