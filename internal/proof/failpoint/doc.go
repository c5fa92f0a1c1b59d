// Package failpoint marks the steps of concurrent code at which another goroutine
// may come in between. Built without the tag firq_failpoints, as programs are,
// the marks are empty functions that the compiler removes
// (TestFree looks at a program's symbols). Built with it, a Hook decides what
// happens at a mark: nothing, a random yield (Random), or the next choice of a
// systematic search (package interleave).
//
// A mark stands before the step that it names. There are none where a mutex is held for
// a few instructions, as in package park: no other goroutine can see what is between.
package failpoint
