//go:build !race

package lincheck

// histories is how many of each case Run checks, unless FIRQ_LINEAR says so.
const histories = 600
