package report

import (
	"io"
	"sync"
)

// Checked passes on what is written and remembers the first error. Tables are written
// in many small steps that look at no error (see Printf); the end of the program asks
// Err, so that figures which never reached the disk are not taken for written. It may
// be used by several goroutines concurrently.
type Checked struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewChecked returns a Checked that writes to w.
func NewChecked(w io.Writer) *Checked { return &Checked{w: w} }

// Write writes p, unless an earlier Write has failed: it returns that error then.
func (c *Checked) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.err = err
	return n, err
}

// Err returns the first error, nil if all is written.
func (c *Checked) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
