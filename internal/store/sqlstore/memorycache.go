package sqlstore

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// maxRecent bounds the bytes of one generation of [memoryCache]; there are two.
const maxRecent = 12 << 20

// memoryCache has memories that were read not long ago, as they stand: recall comes
// back to the same ones, and to those that an index was just made of. Nobody else
// writes to the file while it is locked, and the writer says what each commit changes
// before its callers are told. So what is found here is what the database would answer
// to somebody who asks now.
type memoryCache struct {
	off bool       // they learn nothing
	mu  sync.Mutex // guards what follows

	// underWay is what a commit changes that is under way: what the database answers of
	// that may be newer than what is here.
	underWay   map[memoryKey]struct{}
	young, old generation
	size       int                // of young
	loads      map[*load]struct{} // under way
}

type generation map[memoryKey]kept

type memoryKey struct {
	owner memory.Owner
	id    string
}

// find returns copies of what is known, by id, and the ids that are not; for those a load
// begins, which learn ends.
func (r *memoryCache) find(owner memory.Owner, ids []string) (found map[string][]memory.Memory, missing []string, l *load) {
	known := make([]kept, len(ids))
	r.mu.Lock()
	for i, id := range ids {
		key := memoryKey{owner, id}
		k, ok := r.young[key]
		if !ok {
			if k, ok = r.old[key]; !ok {
				missing = append(missing, id)
				continue
			}
			r.keep(key, k)
		}
		known[i] = k
	}
	if len(missing) > 0 {
		l = r.begin(owner)
	}
	r.mu.Unlock()
	found = make(map[string][]memory.Memory, len(ids)-len(missing))
	all := make([]memory.Memory, 0, len(ids))
	for i, id := range ids {
		start := len(all)
		if all = known[i].appendTo(all, owner); len(all) > start {
			found[id] = all[start:len(all):len(all)]
		}
	}
	return found, missing, l
}

// learn keeps what was read from the database for the ids that find missed, and reports
// whether all that was asked for is of the same moment: that no commit came in between
// which changed any of it.
func (r *memoryCache) learn(l *load, ids []string, read map[string][]memory.Memory) bool {
	if l == nil {
		return false
	}
	for id, memories := range read {
		l.read = append(l.read, loaded{memoryKey{l.owner, id}, keptOf(memories)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(l, true)
	return !l.void && !slices.ContainsFunc(ids, func(id string) bool {
		key := memoryKey{l.owner, id}
		_, changed := l.changed[key]
		_, changing := r.underWay[key]
		return changed || changing
	})
}

// keep puts memories among the young, and lets those be old once they are many.
func (r *memoryCache) keep(key memoryKey, k kept) {
	if r.young == nil || r.size > maxRecent {
		r.old, r.young, r.size = r.young, generation{}, 0
	}
	if k.turn != "" {
		u := unpacker(k.turn)
		key.id = u.text() // which takes no room of its own
	}
	r.young[key] = k
	r.size += k.size(key)
}

// committing tells that a commit begins, and what it changes.
func (r *memoryCache) committing(changes map[memoryKey]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay = changes
}

// committed tells that a commit ended, and what it changed. What a failed one left behind,
// only the database knows.
func (r *memoryCache) committed(changed map[memoryKey]struct{}, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay = nil
	for l := range r.loads {
		l.committed(changed, failed)
	}
	if failed != nil {
		r.young, r.old, r.size = nil, nil, 0
		return
	}
	for key := range changed {
		delete(r.young, key)
		delete(r.old, key)
	}
}
