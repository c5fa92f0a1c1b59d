package machine

import (
	"runtime"
	"testing"
)

// It ends, says a time where two threads run at the same time, and none where they cannot.
func TestCacheLine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if took := CacheLine(); took != 0 {
		t.Errorf("with one processor a cache line takes %v", took)
	}
	runtime.GOMAXPROCS(2)
	if runtime.NumCPU() < 2 {
		CacheLine()
		t.Skip("this machine has one processor")
	}
	for range 1000 {
		switch took := CacheLine(); {
		case took < 0 || took > patience:
			t.Fatalf("a cache line takes %v", took)
		case took > 0:
			return
		}
	}
	t.Error("no two threads ever ran at the same time")
}
