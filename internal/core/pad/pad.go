// Package pad keeps data that different processors write on different cache
// lines.
package pad

// Line is the distance between the few global and per-shard structures: two
// cache lines of 64 bytes, because processors fetch them in pairs.
const Line = 128

// Pad is one Line of padding.
type Pad [Line]byte
