// Package failpoint marks the steps of concurrent code at which another goroutine
// may come in between. Built without the tag firq_failpoints, which is how
// everybody builds, the marks are empty functions that the compiler removes
// (TestFree looks at a program's symbols). Built with it, a Hook decides what
// happens at a mark: nothing, a random yield (Random), or the next choice of a
// systematic search (package interleave).
//
// A mark stands before the step that it names. Marks are not set where a mutex of
// a package is held for a few instructions (package park's, say): there, nothing
// can come in between that matters.
package failpoint
