package lazy

import "sync"

// Value is something that is made when it is first asked for.
type Value[T any] struct {
	make func() T
	once sync.Once
	made T
}

// Make returns the value that a function makes. It is called once.
func Make[T any](make func() T) *Value[T] { return &Value[T]{make: make} }

// Get returns the value. What it holds is not to be changed.
func (v *Value[T]) Get() T {
	v.once.Do(v.fill)
	return v.made
}

func (v *Value[T]) fill() { v.made = v.make() }
