package sqlstore

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// maxRecent bounds the bytes of one generation of [recent]; there are two.
const maxRecent = 4 << 20

// recent are memories that were read not long ago, as they stand: recall comes
// back to the same ones. Nobody else writes to the file while it is locked, and
// the writer says what each commit changes before its callers are told. So what
// is found here is what the database would answer to somebody who asks now.
type recent struct {
	mu sync.Mutex // guards what follows

	// commits is odd while one is under way: then what the database answers may be
	// newer than what is here.
	commits    uint64
	young, old generation
	size       int // of young
}

type generation map[memoryKey][]memory.Memory

type memoryKey struct {
	owner memory.Owner
	id    string
}

// find returns copies of what is known, by id, and the ids that are not. commits is
// what [recent.learn] wants to hear.
func (r *recent) find(owner memory.Owner, ids []string) (found map[string][]memory.Memory, missing []string, commits uint64) {
	found = make(map[string][]memory.Memory, len(ids))
	r.mu.Lock()
	for _, id := range ids {
		key := memoryKey{owner, id}
		known, ok := r.young[key]
		if !ok {
			if known, ok = r.old[key]; !ok {
				missing = append(missing, id)
				continue
			}
			r.keep(key, known)
		}
		found[id] = known
	}
	commits = r.commits
	r.mu.Unlock()
	for id, known := range found { // nobody writes to what is kept
		found[id] = copyMemories(known)
	}
	return found, missing, commits
}

// learn keeps what was read from the database for the ids that find missed, and
// reports whether both are of the same moment: that no commit came in between.
func (r *recent) learn(owner memory.Owner, read map[string][]memory.Memory, commits uint64) bool {
	kept := make(map[string][]memory.Memory, len(read))
	for id, memories := range read {
		kept[id] = copyMemories(memories)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if commits != r.commits || commits%2 == 1 {
		return false
	}
	for id, memories := range kept {
		r.keep(memoryKey{owner, id}, memories)
	}
	return true
}

// keep puts memories among the young, and lets those be old once they are many.
func (r *recent) keep(key memoryKey, memories []memory.Memory) {
	if r.young == nil || r.size > maxRecent {
		r.old, r.young, r.size = r.young, generation{}, 0
	}
	r.young[key] = memories
	r.size += sizeOf(key, memories)
}

// committing tells that a commit begins.
func (r *recent) committing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits++
}

// committed tells that a commit ended and what it changed. What a failed one left
// behind, only the database knows.
func (r *recent) committed(changed map[memoryKey]struct{}, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits++
	if failed != nil {
		r.young, r.old, r.size = nil, nil, 0
		return
	}
	for key := range changed {
		delete(r.young, key)
		delete(r.old, key)
	}
}

// sizeOf estimates what memories take.
func sizeOf(key memoryKey, memories []memory.Memory) int {
	const fixed = 600 // of a fact's or a turn's fields
	n := len(key.owner) + len(key.id)
	for _, m := range memories {
		n += fixed + len(m.Content())
		if f := m.Fact; f != nil {
			n += len(f.Metadata) + 40*len(f.Provenance.Turns)
		}
	}
	return n
}

// copyMemories returns copies that share nothing that can be written to.
func copyMemories(in []memory.Memory) []memory.Memory {
	out := make([]memory.Memory, len(in))
	for i, m := range in {
		switch {
		case m.Link != nil:
			l := *m.Link
			l.Fact = copyFact(l.Fact)
			out[i] = memory.Memory{Fact: &l.Fact, Link: &l}
		case m.Fact != nil:
			f := copyFact(*m.Fact)
			out[i] = memory.Memory{Fact: &f}
		case m.Turn != nil:
			t := *m.Turn
			out[i] = memory.Memory{Turn: &t}
		case m.Summary != nil:
			s := *m.Summary
			out[i] = memory.Memory{Summary: &s}
		}
	}
	return out
}

func copyFact(f memory.Fact) memory.Fact {
	f.Tags, f.Metadata, f.Provenance.Turns = slices.Clone(f.Tags), slices.Clone(f.Metadata), slices.Clone(f.Provenance.Turns)
	if f.Provenance.Quote != nil {
		quote := *f.Provenance.Quote
		f.Provenance.Quote = &quote
	}
	return f
}
