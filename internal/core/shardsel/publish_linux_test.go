// The race detector does not survive the fault.

//go:build !race

package shardsel

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// What has not changed is not written, or each hold would take the
// line away from everything that reads it. The memory is made read-only to see it.
func TestPublishWritesOnlyChanges(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r := &Rounds{cells: unsafe.Slice((*roundCell)(unsafe.Pointer(&page[0])), 1)}
	writes := func(round uint64, ready bool) (wrote bool) {
		defer func() { wrote = recover() != nil }()
		r.Publish(0, round, ready)
		return
	}
	for _, c := range []cell{{0, false}, {5, false}, {5, true}} {
		if err := syscall.Mprotect(page, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
		r.Publish(0, c.tag, c.ready)
		if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
			t.Fatal(err)
		}
		if writes(c.tag, c.ready) {
			t.Errorf("%v was written again", c)
		}
		if writes(c.tag+1, c.ready) != c.ready {
			t.Errorf("%v: the next round was written, though it is not read, or was not", c)
		}
	}
}
