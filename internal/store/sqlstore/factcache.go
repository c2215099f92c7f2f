package sqlstore

import (
	"maps"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// Bounds of what is kept: bytes of all owners; pinned facts, turns and facts of one.
const (
	maxSettled       = 4 << 20
	maxSettledPinned = 64
	maxSettledTurns  = 4096
	maxSettledFacts  = 64 // superseded, to be kept of all turns
	maxSettledBefore = 1024
)

// factCache has what every chat asks about an owner's facts, which what is said in the
// meantime does not change: the pinned ones, the profile, what took the place of those that
// a turn taught, and what one took the place of. Nobody else writes to the file while it is locked, and
// the writer says whose facts each commit changes before its callers are told.
type factCache struct {
	off     bool       // nothing is learned
	mu      sync.Mutex // guards what follows
	commits uint64     // that changed facts
	of      map[memory.Owner]*ownerFacts
	size    int // estimated
}

// ownerFacts are one owner's. They are written to no more, but for next and before.
type ownerFacts struct {
	pinned  *[]memory.Memory
	profile *[]memory.ProfileEntry
	next    map[string][]string // ids of the facts in the place of those that a turn taught
	all     bool                // next has every turn of which there are any
	many    bool                // there are too many for that
	before  map[string]kept     // facts that one took the place of
}

// find calls with what is known of an owner, if anything is. commits is what
// [factCache.learn] wants to hear.
func (s *factCache) find(owner memory.Owner, with func(*ownerFacts)) (commits uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.of[owner]; f != nil {
		with(f)
	}
	return s.commits
}

// learn lets with keep what was read from the database and say what it takes, unless
// there was a commit since the caller asked.
func (s *factCache) learn(owner memory.Owner, commits uint64, with func(*ownerFacts) (size int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off || commits != s.commits {
		return
	}
	if s.of == nil || s.size > maxSettled {
		s.of, s.size = map[memory.Owner]*ownerFacts{}, 0
	}
	f := s.of[owner]
	if f == nil {
		f = &ownerFacts{}
		s.of[owner] = f
		s.size += settledSize
	}
	s.size += with(f)
}

// written is what a commit did to one owner.
type written struct {
	owner memory.Owner
	facts bool // facts may have changed
}

// settledSize is about what an owner takes beside what is kept.
const settledSize = 200

// committed tells what a transaction wrote. What a failed commit left behind, only
// the database knows.
func (s *factCache) committed(writes []written, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		if failed != nil || w.facts {
			s.commits++
			delete(s.of, w.owner) // size is what all took since it was empty
		}
	}
}

// pinnedFacts returns copies of what [Store.List] says to {Pinned: true}.
func (s *factCache) pinnedFacts(owner memory.Owner) (found []memory.Memory, known bool, commits uint64) {
	commits = s.find(owner, func(f *ownerFacts) {
		if f.pinned != nil {
			found, known = *f.pinned, true
		}
	})
	return copyMemories(found), known, commits
}

func (s *factCache) learnPinned(owner memory.Owner, found []memory.Memory, commits uint64) {
	if len(found) > maxSettledPinned {
		return
	}
	kept := copyMemories(found)
	s.learn(owner, commits, func(f *ownerFacts) int {
		f.pinned = &kept
		return keptOf(kept).size(memoryKey{})
	})
}

// profileOf returns a copy of what [Store.Profile] says of the present.
func (s *factCache) profileOf(owner memory.Owner) (entries []memory.ProfileEntry, known bool, commits uint64) {
	commits = s.find(owner, func(f *ownerFacts) {
		if f.profile != nil {
			entries, known = slices.Clone(*f.profile), true
		}
	})
	return entries, known, commits
}

func (s *factCache) learnProfile(owner memory.Owner, entries []memory.ProfileEntry, commits uint64) {
	kept, size := slices.Clone(entries), 0
	for _, e := range kept {
		size += 200 + len(e.Key) + len(e.Value)
	}
	s.learn(owner, commits, func(f *ownerFacts) int { f.profile = &kept; return size })
}

// supersededBy returns what [Store.SupersededBy] says, if that is known of all turns.
func (s *factCache) supersededBy(owner memory.Owner, turns []string) (next map[string][]string, known bool, commits uint64) {
	commits = s.find(owner, func(f *ownerFacts) {
		next = map[string][]string{}
		for _, turn := range turns {
			ids, ok := f.next[turn]
			if !ok && !f.all {
				return
			}
			if len(ids) > 0 {
				next[turn] = slices.Clone(ids)
			}
		}
		known = true
	})
	return next, known, commits
}

// few reports whether an owner may have so few superseded facts that all are kept.
func (s *factCache) few(owner memory.Owner) bool {
	many := s.off
	s.find(owner, func(f *ownerFacts) { many = many || f.many })
	return !many
}

// learnAll keeps next of all turns.
func (s *factCache) learnAll(owner memory.Owner, next map[string][]string, commits uint64) {
	size := 0
	for _, ids := range next {
		size += 150 + 50*len(ids)
	}
	s.learn(owner, commits, func(f *ownerFacts) int {
		f.next, f.all = next, true
		return size
	})
}

// learnNext keeps next of some turns, of an owner who has more superseded facts than are
// kept.
func (s *factCache) learnNext(owner memory.Owner, turns []string, next map[string][]string, commits uint64) {
	kept, size := map[string][]string{}, 0
	for _, turn := range turns {
		kept[turn] = slices.Clone(next[turn])
		size += 150 + 50*len(next[turn])
	}
	s.learn(owner, commits, func(f *ownerFacts) int {
		if f.next == nil || len(f.next) > maxSettledTurns {
			f.next = map[string][]string{}
		}
		f.many = true
		maps.Copy(f.next, kept)
		return size
	})
}

// predecessors returns copies of what [Store.Predecessors] says, if that is known of all
// facts.
func (s *factCache) predecessors(owner memory.Owner, ids []string) (before map[string][]memory.Fact, known bool, commits uint64) {
	commits = s.find(owner, func(f *ownerFacts) {
		before = map[string][]memory.Fact{}
		for _, id := range ids {
			of, ok := f.before[id]
			if !ok {
				return
			}
			for _, m := range of.appendTo(nil, owner) {
				before[id] = append(before[id], *m.Fact)
			}
		}
		known = true
	})
	return before, known, commits
}

func (s *factCache) learnBefore(owner memory.Owner, ids []string, before map[string][]memory.Fact, commits uint64) {
	known, size := map[string]kept{}, 0
	for _, id := range ids {
		var facts []memory.Memory
		for i := range before[id] {
			facts = append(facts, memory.Memory{Fact: &before[id][i]})
		}
		known[id] = keptOf(facts)
		size += 150 + known[id].size(memoryKey{})
	}
	s.learn(owner, commits, func(f *ownerFacts) int {
		if f.before == nil || len(f.before) > maxSettledBefore {
			f.before = map[string]kept{}
		}
		maps.Copy(f.before, known)
		return size
	})
}
