package vector

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns two copies of v next to inaccessible pages: one at the beginning of its page, the
// other at the end. A kernel that exceeds a slice ends the process.
func guarded[T any](t testing.TB, v []T) (first, last []T) {
	page := syscall.Getpagesize()
	bytes := len(v) * int(unsafe.Sizeof(*new(T)))
	inside := (bytes + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, 2*inside+3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("map %d bytes: %v", 2*inside+3*page, err)
	}
	t.Cleanup(func() { syscall.Munmap(memory) })
	for _, at := range []int{0, page + inside, 2 * (page + inside)} {
		if err := syscall.Mprotect(memory[at:at+page], syscall.PROT_NONE); err != nil {
			t.Fatalf("protect a page: %v", err)
		}
	}
	if len(v) == 0 {
		return v, v
	}
	at := func(i int) []T { return unsafe.Slice((*T)(unsafe.Pointer(&memory[i])), len(v)) }
	first, last = at(page), at(2*(page+inside)-bytes)
	copy(first, v)
	copy(last, v)
	return first, last
}
