// Package memtest holds fakes for tests: a stepping clock, a scripted model, an embedder that
// compares words, ids and sample data. They fulfil the contracts of package memory, are
// deterministic and safe for concurrent use. For a store, use package inmem.
package memtest
