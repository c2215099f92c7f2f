// Package memtest holds fakes for tests: a stepping clock, a scripted model, an embedder by words,
// ids and sample data. They keep the contracts of package memory, are deterministic and safe for
// concurrent use. Stores are not faked: package inmem is a real one.
package memtest
