//go:build race

package lincheck

// histories is how many of each case Run checks, unless FIRQ_LINEAR says so. The
// race detector makes everything several times slower.
const histories = 100
