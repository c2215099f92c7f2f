// Package memtest contains fakes for tests: a stepping clock, a scripted model, a word-based embedder, ids
// and sample data. The fakes fulfil the contracts of package memory, are deterministic and safe for
// concurrent use. For a store, use package inmem.
package memtest
