// Package ownerdata represents one owner's data as a value, [Data], and implements the rules of all
// stores on it: conflicts of runs, the journal, erasure, due jobs, pages of lists. It does no I/O and
// reads no clock.
//
// The reference store, package inmem, has the complete data of each owner in memory. Other stores load
// the parts that an operation needs, call a method, and store the changed parts.
package ownerdata

import (
	"maps"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Data is one owner's data, or a part of it. Methods replace the values in its maps and slices, and never
// modify the values, so that a [Data.Clone] is independent of the original.
type Data struct {
	Version       int64
	LastWrite     time.Time               // time of the last write
	OldestVersion int64                   // oldest version for which Since works; for older versions, Since returns Gone
	ErasedAt      time.Time               // time of the last erasure; older traces are not stored
	TombstoneKey  string                  // key of the hashes in Tombstones
	States        map[string]memory.State // current states by target, except of turns and conversations
	Turns         map[string]memory.Turn
	Conversations map[string]memory.Conversation
	MessageCounts map[string]int  // number of active user and assistant turns, by conversation; if nil, Turns are counted
	Journal       []memory.Change // oldest first
	Runs          map[string]RunRecord
	Vectors       map[VectorKey][]float32
	Jobs          map[string]memory.Job
	Traces        map[string]memory.Trace
	Usage         []memory.Usage
	Tombstones    map[string]string   // keyed hashes of retired or erased turns, by turn id
	Keys          []memory.Key        // API keys of a namespace, for its global owner; oldest first
	Sessions      []memory.Session    // sessions of a namespace, for its global owner; oldest first
	Audit         []memory.AuditEntry // audit record of a namespace, for its global owner; oldest first
}

// RunRecord is the record of an applied run.
type RunRecord struct {
	memory.Receipt
	Kind   string
	Author memory.Author
}

// VectorKey identifies a memory's vector of one model.
type VectorKey struct{ Memory, Model string }

// Clone returns a copy with writable maps. Changing the copy does not change the original.
func (s *Data) Clone() *Data {
	c := *s
	c.States = cloneWritable(s.States)
	c.Turns = cloneWritable(s.Turns)
	c.Conversations = cloneWritable(s.Conversations)
	c.Runs = cloneWritable(s.Runs)
	c.Vectors = cloneWritable(s.Vectors)
	c.Jobs = cloneWritable(s.Jobs)
	c.Traces = cloneWritable(s.Traces)
	c.Tombstones = cloneWritable(s.Tombstones)
	return &c
}

// cloneWritable is maps.Clone, but returns an empty map for nil.
func cloneWritable[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// nextTime sets LastWrite to the time of a new write, later than the last write, and returns the time.
func (s *Data) nextTime(now time.Time) time.Time {
	s.LastWrite = laterTime(memory.Time(now), s.LastWrite.Add(time.Microsecond))
	return s.LastWrite
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// HasErasedFact reports whether one of the facts, or a link to one of them, was erased.
func (s *Data) HasErasedFact(factIDs []string) bool {
	for _, id := range factIDs {
		for _, target := range []string{"fact:" + id, "link:" + id} {
			if i := s.currentState(target); !i.IsZero() && i.Target() == target && i.Status() == memory.Retired && TextOf(i) == "" {
				return true
			}
		}
	}
	return false
}
