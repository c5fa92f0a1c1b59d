// Package race says whether the race detector is compiled in. Under it everything takes five to
// twenty times as long, so that long tests do less, and memory and allocations are not what
// they are without it.
package race
