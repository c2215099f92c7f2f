// Package shelf is what one owner has, as values, and the rules by which it changes and is
// read: what a run conflicts with, what it journals, what an erasure leaves, which job is due,
// how a list is cut into pages. It does no I/O, and knows no clock.
//
// The reference store, package inmem, holds an owner's whole [Shelf]. A store on a server reads
// those parts that a write may look at, lets the shelf make the write, and keeps what that changed;
// so it reads, too. What a method looks at is said there.
package shelf

import (
	"maps"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Shelf is all that one owner has, or a part of it. What its maps and slices hold is never written
// to, only exchanged, so that a [Shelf.Clone] is a draft.
type Shelf struct {
	Version       int64
	At            time.Time               // of the last write
	Horizon       int64                   // Since from before it is Gone
	Erased        time.Time               // traces of before are not kept
	Secret        string                  // the key of the hashes in Tombs
	Things        map[string]memory.Image // what is, by target; all but turns and conversations
	Turns         map[string]memory.Turn
	Conversations map[string]memory.Conversation
	Messages      map[string]int  // how many active user and assistant turns a conversation has; nil: Turns are counted
	Journal       []memory.Change // oldest first
	Runs          map[string]Run
	Vectors       map[VectorKey][]float32
	Jobs          map[string]memory.Job
	Traces        map[string]memory.Trace
	Spent         []memory.Usage
	Tombs         map[string]string   // of turns that are out of recall, or kept without words: a hash of them, by id
	Keys          []memory.Key        // of a global owner's namespace, the oldest first
	SignIns       []memory.Session    // the same
	Audit         []memory.AuditEntry // the same
}

// Run is what is recorded of a run that was applied.
type Run struct {
	memory.Receipt
	Kind   string
	Author memory.Author
}

// VectorKey names the embedding of a memory by a model.
type VectorKey struct{ Memory, Model string }

// Clone returns a draft of the shelf: to write to it leaves the shelf as it is.
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

// cloneMap is maps.Clone but for a nil map, which becomes one to write to.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// tick takes the time of a write from the owner's clock.
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

// ShowsErased reports whether one of these facts, or a link to it, is erased.
func (s *Shelf) ShowsErased(facts []string) bool {
	for _, id := range facts {
		for _, target := range []string{"fact:" + id, "link:" + id} {
			if i := s.present(target); !i.IsZero() && i.Target() == target && i.Status() == memory.Retired && Words(i) == "" {
				return true
			}
		}
	}
	return false
}
