// Package recent provides a bounded map that evicts the least recently used entry.
package recent

import (
	"cmp"
	"container/list"
	"sync"
)

const usual = 10_000

// Map is a map with a bounded number of entries, which evicts the least recently used entry. The zero
// Map is ready to use. All methods are safe for concurrent use.
type Map[K comparable, V any] struct {
	capacity int

	mu    sync.Mutex // guards the fields below
	order list.List  // entries, most recently used first
	at    map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map for at most capacity entries.
func New[K comparable, V any](most int) *Map[K, V] { return &Map[K, V]{capacity: most} }

// Get returns the value of a key, if it is in the map.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.Update(key, func(v V, is bool) (V, bool) {
		value, ok = v, is
		return v, false
	})
	return value, ok
}

// Set stores a value. If the map is full, it evicts the least recently used entry.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Update sets a key to the value that change returns, unless change returns false. change gets the
// current value, and must not use the map, which is locked.
func (m *Map[K, V]) Update(key K, change func(was V, ok bool) (is V, keep bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var was V
	el, ok := m.at[key]
	if ok {
		m.order.MoveToFront(el)
		was = el.Value.(entry[K, V]).value
	}
	is, keep := change(was, ok)
	switch {
	case !keep:
		return
	case ok:
		el.Value = entry[K, V]{key, is}
		return
	case m.at == nil:
		m.at = map[K]*list.Element{}
	}
	m.at[key] = m.order.PushFront(entry[K, V]{key, is})
	if len(m.at) > cmp.Or(m.capacity, usual) {
		delete(m.at, m.order.Remove(m.order.Back()).(entry[K, V]).key)
	}
}

// DeleteFunc deletes the entries for which remove returns true.
func (m *Map[K, V]) DeleteFunc(gone func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, el := range m.at {
		if gone(key, el.Value.(entry[K, V]).value) {
			m.order.Remove(el)
			delete(m.at, key)
		}
	}
}
