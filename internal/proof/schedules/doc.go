// Package schedules runs calls of the contract, two to four at a time, through all their
// interleavings (package interleave), on either core. See scripts/test, part "schedules".
package schedules
