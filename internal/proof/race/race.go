//go:build race

package race

// Enabled reports whether the race detector watches.
const Enabled = true

// Slowness is by how much more time a limit has to allow for, on a machine that does other things as well.
const Slowness = 3
