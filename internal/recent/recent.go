// Package recent has a map that forgets what was not used for longest.
package recent

import (
	"cmp"
	"container/list"
	"sync"
)

// usual is how many entries the zero Map holds.
const usual = 10_000

// Map holds a bounded number of entries: one more takes the place of the one that was not
// used for longest. The zero Map is ready; all methods may be called at once.
type Map[K comparable, V any] struct {
	most int

	mu    sync.Mutex // guards what follows
	order list.List  // of entry, the last used first
	at    map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map for so many entries.
func New[K comparable, V any](most int) *Map[K, V] { return &Map[K, V]{most: most} }

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, known bool) {
	m.Update(key, func(v V, is bool) (V, bool) {
		value, known = v, is
		return v, false
	})
	return value, known
}

// Set gives a key a value.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Update gives a key the value that change returns, unless change says not to keep it. The
// map is locked meanwhile.
func (m *Map[K, V]) Update(key K, change func(was V, known bool) (is V, keep bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var was V
	el, known := m.at[key]
	if known {
		m.order.MoveToFront(el)
		was = el.Value.(entry[K, V]).value
	}
	is, keep := change(was, known)
	switch {
	case !keep:
		return
	case known:
		el.Value = entry[K, V]{key, is}
		return
	case m.at == nil:
		m.at = map[K]*list.Element{}
	}
	m.at[key] = m.order.PushFront(entry[K, V]{key, is})
	if len(m.at) > cmp.Or(m.most, usual) {
		delete(m.at, m.order.Remove(m.order.Back()).(entry[K, V]).key)
	}
}

// DeleteFunc removes the entries of which gone holds.
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
