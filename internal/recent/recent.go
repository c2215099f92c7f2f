// Package recent provides a map of bounded size that evicts the least recently used entry.
package recent

import (
	"cmp"
	"container/list"
	"sync"
)

const defaultCapacity = 10_000

// Map is a map with a bounded number of entries: a new entry evicts the least recently used one. The zero
// Map is ready to use, for 10,000 entries. All methods are safe for concurrent use.
type Map[K comparable, V any] struct {
	capacity int

	mu       sync.Mutex // guards the fields below
	order    list.List  // entries, most recently used first
	elements map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map for at most capacity entries.
func New[K comparable, V any](capacity int) *Map[K, V] { return &Map[K, V]{capacity: capacity} }

// Get returns the value of a key. ok reports whether the key is in the map.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.Update(key, func(v V, exists bool) (V, bool) {
		value, ok = v, exists
		return v, false
	})
	return value, ok
}

// Set stores a value. If the map is full, it evicts the least recently used entry.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Update calls change with a key's current value, if it has one (ok). If change returns true for store,
// Update sets the value to updated. change must not use the map, which is locked.
func (m *Map[K, V]) Update(key K, change func(current V, ok bool) (updated V, store bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var current V
	element, ok := m.elements[key]
	if ok {
		m.order.MoveToFront(element)
		current = element.Value.(entry[K, V]).value
	}
	updated, store := change(current, ok)
	switch {
	case !store:
		return
	case ok:
		element.Value = entry[K, V]{key, updated}
		return
	case m.elements == nil:
		m.elements = map[K]*list.Element{}
	}
	m.elements[key] = m.order.PushFront(entry[K, V]{key, updated})
	if len(m.elements) > cmp.Or(m.capacity, defaultCapacity) {
		delete(m.elements, m.order.Remove(m.order.Back()).(entry[K, V]).key)
	}
}

// DeleteFunc deletes the entries for which remove returns true.
func (m *Map[K, V]) DeleteFunc(remove func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, element := range m.elements {
		if remove(key, element.Value.(entry[K, V]).value) {
			m.order.Remove(element)
			delete(m.elements, key)
		}
	}
}
