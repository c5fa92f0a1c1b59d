//go:build firq_failpoints

package failpoint

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
)

// Random is a Hook that lets other goroutines run at one mark in this many, and
// now and then for longer. The choices come from the runtime's generator: with
// several processors a schedule cannot be repeated anyway.
type Random struct{ OneIn int }

// At yields at one mark in OneIn, and for long at one in 256 times as many.
func (r Random) At(string) {
	switch n := rand.IntN(r.OneIn * 256); {
	case n == 0:
		for range 64 { // not a sleep: in a bubble of testing/synctest time stands still
			runtime.Gosched()
		}
	case n%r.OneIn == 0:
		runtime.Gosched()
	}
}

// Stuck yields.
func (r Random) Stuck(string) { runtime.Gosched() }

// Processor is the real one.
func (r Random) Processor() (int, bool) { return 0, false }

// FIRQ_YIELD=n makes every test of a program that was built with the tag yield at
// one mark in n.
func init() {
	text := os.Getenv("FIRQ_YIELD")
	if text == "" {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic("firq: FIRQ_YIELD=" + text + " is not a positive number")
	}
	Set(Random{n})
}
