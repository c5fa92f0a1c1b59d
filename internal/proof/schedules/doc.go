// Package schedules drives the contract's calls, two or three at a time, through all
// their interleavings (package interleave), on either core. It is part of the
// tests: see scripts/test, part "schedules".
package schedules
