package sqlstore

import (
	"sync"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// maxGenerationBytes limits the size of each of the two generations of [memoryCache].
const maxCached = 12 << 20

// memoryCache caches recently read memories, since searches often read the same memories. Only this
// process writes to the locked file, and the writer reports each commit's changes before the callers
// return.
type memoryCache struct {
	off bool       // the cache stays empty
	mu  sync.Mutex // guards the fields below

	commits    uint64 // incremented at the start and the end of a commit; odd during a commit
	young, old map[memoryKey]memory.Memory
	size       int // estimated bytes of the young generation
}

type memoryKey struct {
	owner memory.Owner
	id    string
}

// lookup returns copies of cached memories by id, the missing ids, and the commit count, which the
// caller passes to add.
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

// add caches memories from the database, unless a commit happened since lookup returned commitCount.
// It returns true if none happened: then the memories and lookup's hits are of one snapshot.
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

// insertYoung adds a memory to the young generation. A full young generation replaces the old one.
func (c *memoryCache) keep(key memoryKey, m memory.Memory) {
	if c.young == nil || c.size > maxCached {
		c.old, c.young, c.size = c.young, map[memoryKey]memory.Memory{}, 0
	}
	c.young[key] = m
	c.size += sizeOf(m)
}

// memorySize estimates a memory's size in the cache.
func sizeOf(m memory.Memory) int {
	const fields = 700
	n := fields + len(m.Content())
	if f := m.Fact; f != nil {
		n += len(f.Metadata) + 40*len(f.Provenance.Turns)
	}
	return n
}

// beginCommit records that a commit begins, after which a read may return its changes.
func (c *memoryCache) committing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits++
}

// endCommit records the end of a commit, and drops the changed memories. If the commit failed, the
// stored state is unknown, so endCommit clears the cache.
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
