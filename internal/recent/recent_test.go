package recent

import (
	"fmt"
	"testing"
)

func TestMapForgetsWhatWasNotUsedForLongest(t *testing.T) {
	m := New[string, int](2)
	m.Set("a", 1)
	m.Set("b", 2)
	m.Get("a")
	m.Set("c", 3)
	m.Set("c", 4)
	m.Update("a", func(was int, ok bool) (int, bool) { return was + 10, ok })
	m.Update("b", func(was int, ok bool) (int, bool) { return was + 10, ok })
	if got, want := all(m, "a", "b", "c"), "a 11, c 4, "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m.DeleteFunc(func(key string, _ int) bool { return key == "a" })
	m.Set("d", 5)
	if got, want := all(m, "a", "b", "c", "d"), "c 4, d 5, "; got != want {
		t.Errorf("after a was deleted: got %s, want %s", got, want)
	}
}

func TestZeroMapIsBounded(t *testing.T) {
	var m Map[int, int]
	m.DeleteFunc(func(int, int) bool { return true })
	for i := range defaultCapacity + 1 {
		m.Set(i, i)
	}
	if _, ok := m.Get(0); ok || len(m.elements) != defaultCapacity {
		t.Errorf("it holds %d, the first among them: %t", len(m.elements), ok)
	}
}

func all(m *Map[string, int], keys ...string) (out string) {
	for _, key := range keys {
		if v, ok := m.Get(key); ok {
			out += fmt.Sprint(key, " ", v, ", ")
		}
	}
	return out
}
