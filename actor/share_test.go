package actor

import (
	"testing"
	"testing/synctest"
	"time"
)

// The messages that a turn has handled before it came to a reader are charged too.
func TestSharesWithReaders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1, Handoff: -1})
		const d = 40 * time.Microsecond // some in a slice
		var n [2]int
		var loop [2]job
		for i, r := range []Ref[*box]{box0(t, s, ""), box0(t, s, "")} {
			loop[i] = func(_ *box, c *Ctx) (any, error) {
				time.Sleep(d)
				n[i]++
				if i == 0 {
					_ = look.Tell(c, r, get)
				}
				return nil, do.Tell(c, r, loop[i])
			}
			_ = do.Tell(bg, r, loop[i])
		}
		sleep(200)
		s.Close()
		sleep(2)
		synctest.Wait()
		if share := float64(n[0]) / float64(n[1]); share < 0.9 || share > 1.1 {
			t.Error(share, n)
		}
	})
}
