package core

import (
	"sync/atomic"
)

// Once returns a function that does what is to be done when it is first called, by whoever
// comes first: a goroutine that was begun for it, or who needs it now and would wait for a
// processor to be free for that. Others wait until it is done. It is [sync.OnceFunc] for
// what may itself wait: a clock of a test goes on meanwhile.
func Once(do func()) func() {
	var taken atomic.Bool
	done := make(chan struct{})
	return func() {
		if !taken.CompareAndSwap(false, true) {
			<-done
			return
		}
		defer close(done)
		do()
	}
}
