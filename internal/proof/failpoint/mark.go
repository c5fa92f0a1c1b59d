//go:build firq_failpoints

package failpoint

// AtMark installs a Hook that calls f at one mark, and returns what takes it back. The hook
// says processor 0 to every goroutine, and does nothing for one that is stuck.
func AtMark(mark string, f func()) (restore func()) { return Set(atMark{mark, f}) }

type atMark struct {
	mark string
	f    func()
}

func (h atMark) At(point string) {
	if point == h.mark {
		h.f()
	}
}

func (atMark) Stuck(string)           {}
func (atMark) Processor() (int, bool) { return 0, true }
