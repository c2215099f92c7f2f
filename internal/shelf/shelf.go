// Package shelf holds one owner's data as values, with the rules for changing and reading it:
// conflicts of a run, the journal, erasure, due jobs, pages of lists. It does no I/O and reads no
// clock.
//
// The reference store, package inmem, holds an owner's whole [Shelf]. A store on a server reads the
// parts that an operation needs, calls the shelf, and stores what it changed. Each method names the
// parts that it uses.
package shelf

import (
	"maps"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Shelf is one owner's data, or a part of it. Values in its maps and slices are replaced and never
// modified, so that a [Shelf.Clone] can serve as a draft.
type Shelf struct {
	Version       int64
	At            time.Time               // time of the last write
	Horizon       int64                   // Since returns Gone for versions before it
	Erased        time.Time               // time of the last erasure; older traces are not stored
	Secret        string                  // key of the hashes in Tombs
	Things        map[string]memory.Image // current images by target, except turns and conversations
	Turns         map[string]memory.Turn
	Conversations map[string]memory.Conversation
	Messages      map[string]int  // number of active user and assistant turns, by conversation; nil: count Turns
	Journal       []memory.Change // oldest first
	Runs          map[string]Run
	Vectors       map[VectorKey][]float32
	Jobs          map[string]memory.Job
	Traces        map[string]memory.Trace
	Spent         []memory.Usage
	Tombs         map[string]string   // keyed hashes of turns that are not recalled or have no text, by id
	Keys          []memory.Key        // for the global owner of a namespace, oldest first
	SignIns       []memory.Session    // likewise
	Audit         []memory.AuditEntry // likewise
}

// Run is the record of an applied run.
type Run struct {
	memory.Receipt
	Kind   string
	Author memory.Author
}

// VectorKey identifies a memory's vector of one model.
type VectorKey struct{ Memory, Model string }

// Clone returns a draft of the shelf. Changing it does not change the shelf.
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

// cloneMap is maps.Clone, but returns a writable map for nil.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// tick returns the time of a write by the owner's clock, which never runs backwards.
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

// ShowsErased reports whether one of these facts, or the link to it, was erased.
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
