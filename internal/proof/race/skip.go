package race

import "testing"

// OneGoroutine skips a long test under -race in which no two goroutines meet: the detector has
// nothing to see there, and takes it ten times as long. scripts/test runs the packages of such
// tests without -race as well.
func OneGoroutine(t testing.TB) {
	if t.Helper(); Enabled {
		t.Skip("one goroutine: runs without -race")
	}
}
