package sqlstore

import (
	"sync"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// maxCached bounds the bytes of one generation of [memoryCache]; there are two.
const maxCached = 12 << 20

// memoryCache has memories that were read not long ago, as they are: recall comes back to the
// same ones. Nobody else writes to the file while it is locked, and the writer says what a
// commit changed before its callers are told.
type memoryCache struct {
	off bool       // it learns nothing
	mu  sync.Mutex // guards what follows

	commits    uint64 // how often a commit began or ended: while one is under way it is odd
	young, old map[memoryKey]memory.Memory
	size       int // of young
}

type memoryKey struct {
	owner memory.Owner
	id    string
}

// find returns copies of what is known, by id, and the ids that are not. commits is the
// epoch to pass to learn.
func (c *memoryCache) find(owner memory.Owner, ids []string) (found map[string][]memory.Memory, missing []string, commits uint64) {
	found = make(map[string][]memory.Memory, len(ids))
	all := make([]memory.Memory, 0, len(ids))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		key := memoryKey{owner, id}
		m, ok := c.young[key]
		if !ok {
			if m, ok = c.old[key]; ok {
				c.keep(key, m)
			}
		}
		if !ok {
			missing = append(missing, id)
			continue
		}
		all = append(all, shelf.CopyMemory(m))
		found[id] = all[len(all)-1:]
	}
	return found, missing, c.commits
}

// learn keeps what was read from the database, unless there was a commit since the epoch. It
// reports whether there was none, so that what find found is of the same moment.
func (c *memoryCache) learn(owner memory.Owner, read map[string][]memory.Memory, commits uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || commits != c.commits || commits%2 == 1 {
		return false
	}
	for id, found := range read {
		if len(found) == 1 {
			c.keep(memoryKey{owner, id}, shelf.CopyMemory(found[0]))
		}
	}
	return true
}

// keep puts a memory among the young, and lets those be old once they are many.
func (c *memoryCache) keep(key memoryKey, m memory.Memory) {
	if c.young == nil || c.size > maxCached {
		c.old, c.young, c.size = c.young, map[memoryKey]memory.Memory{}, 0
	}
	c.young[key] = m
	c.size += sizeOf(m)
}

// sizeOf estimates what a memory takes in the cache.
func sizeOf(m memory.Memory) int {
	const fields = 700
	n := fields + len(m.Content())
	if f := m.Fact; f != nil {
		n += len(f.Metadata) + 40*len(f.Provenance.Turns)
	}
	return n
}

// committing says that a commit begins: from now on the database may answer what it changes.
func (c *memoryCache) committing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits++
}

// committed says that a commit ended, and what it changed. What a failed one left behind,
// only the database knows.
func (c *memoryCache) committed(changed []memoryKey, failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits++
	if failed != nil {
		c.young, c.old, c.size = nil, nil, 0
	}
	for _, key := range changed {
		delete(c.young, key)
		delete(c.old, key)
	}
}
