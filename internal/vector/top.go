package vector

import "slices"

// Top keeps the best n of what is pushed. before says which of two is better and
// must be a total order for the result to be one; it is given to New.
type Top[T any] struct {
	n      int
	before func(a, b T) bool
	heap   []T // the worst kept on top
}

// NewTop returns an empty Top. A buffer of an earlier one may be passed for reuse.
func NewTop[T any](n int, before func(a, b T) bool, buffer []T) Top[T] {
	return Top[T]{n: n, before: before, heap: buffer[:0]}
}

// Takes reports whether x would be kept: a check before a costlier one.
func (t *Top[T]) Takes(x T) bool {
	return len(t.heap) < t.n || t.n > 0 && t.before(x, t.heap[0])
}

// Worst returns the one that would go next, once as many are kept as may be.
func (t *Top[T]) Worst() (worst T, full bool) {
	if len(t.heap) < t.n || t.n == 0 {
		return worst, false
	}
	return t.heap[0], true
}

// Push offers x.
func (t *Top[T]) Push(x T) {
	if !t.Takes(x) {
		return
	}
	if len(t.heap) < t.n {
		t.heap = append(t.heap, x)
		t.up(len(t.heap) - 1)
		return
	}
	t.heap[0] = x
	t.down(0)
}

// Sorted returns what was kept, best first, and empties t. The slice is t's buffer.
func (t *Top[T]) Sorted() []T {
	out := t.heap
	t.heap = nil
	slices.SortFunc(out, func(a, b T) int {
		switch {
		case t.before(a, b):
			return -1
		case t.before(b, a):
			return 1
		}
		return 0
	})
	return out
}

func (t *Top[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.before(t.heap[parent], t.heap[i]) {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

func (t *Top[T]) down(i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.heap); c++ {
			if t.before(t.heap[worst], t.heap[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}
