// Package memtest holds honest fakes for tests: a clock that steps, a model that
// says what a script tells it, an embedder by words, ids and sample data. They
// keep the contracts of package memory, are deterministic and safe for concurrent
// use. Stores are not faked: package inmem is a real one.
package memtest
