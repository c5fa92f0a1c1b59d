//go:build !race

package race

// Enabled reports whether the race detector watches.
const Enabled = false

// Slowness is by how much more time a limit has to allow for.
const Slowness = 1
