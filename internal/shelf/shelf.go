// Package shelf represents one owner's data as a value, [OwnerData], and implements the rules of all
// stores on it: conflicts of runs, the journal, erasure, due jobs, pages of lists. It does no I/O and
// reads no clock.
//
// The reference store, package inmem, has the complete data of each owner in memory. Other stores load
// the parts that an operation needs, call a method, and store the changed parts.
package shelf

import (
	"maps"
	"time"

	"github.com/loci-memory/loci/memory"
)

// OwnerData is one owner's data, or a part of it. Values in its maps and slices are replaced, never
// modified, so that a [OwnerData.Clone] is independent of the original.
type Shelf struct {
	Version       int64
	At            time.Time               // time of the last write
	Horizon       int64                   // oldest version for which Since works; older versions are Gone
	Erased        time.Time               // time of the last erasure; older traces are not stored
	Secret        string                  // key of the hashes in Tombstones
	Things        map[string]memory.Image // current states by target, except of turns and conversations
	Turns         map[string]memory.Turn
	Conversations map[string]memory.Conversation
	Messages      map[string]int  // active user and assistant turns by conversation; nil counts Turns instead
	Journal       []memory.Change // oldest first
	Runs          map[string]Run
	Vectors       map[VectorKey][]float32
	Jobs          map[string]memory.Job
	Traces        map[string]memory.Trace
	Spent         []memory.Usage
	Tombs         map[string]string   // by turn id: keyed hashes of retired or erased turns
	Keys          []memory.Key        // API keys of a namespace, for its global owner; oldest first
	SignIns       []memory.Session    // sessions of a namespace, for its global owner; oldest first
	Audit         []memory.AuditEntry // audit log of a namespace, for its global owner; oldest first
}

// RunRecord is the record of an applied run.
type Run struct {
	memory.Receipt
	Kind   string
	Author memory.Author
}

// VectorKey identifies a memory's vector of one model.
type VectorKey struct{ Memory, Model string }

// Clone returns a copy with writable maps. Changing the copy does not change the original.
func (s *Shelf) Clone() *Shelf {
	c := *s
	c.Things = cloneMap(s.Things)
	c.Turns = cloneMap(s.Turns)
	c.Conversations = cloneMap(s.Conversations)
	c.Runs = cloneMap(s.Runs)
	c.Vectors = cloneMap(s.Vectors)
	c.Jobs = cloneMap(s.Jobs)
	c.Traces = cloneMap(s.Traces)
	c.Tombs = cloneMap(s.Tombs)
	return &c
}

// cloneWritable is maps.Clone, but returns an empty map for nil.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// nextTime sets At to the time of a new write, which is later than the last write, and returns it.
func (s *Shelf) tick(now time.Time) time.Time {
	s.At = later(memory.Time(now), s.At.Add(time.Microsecond))
	return s.At
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ShowsErased reports whether one of the facts, or a link to one of them, was erased.
func (s *Shelf) ShowsErased(facts []string) bool {
	for _, id := range facts {
		for _, target := range []string{"fact:" + id, "link:" + id} {
			if i := s.present(target); !i.IsZero() && i.Target() == target && i.Status() == memory.Retired && TextOf(i) == "" {
				return true
			}
		}
	}
	return false
}
