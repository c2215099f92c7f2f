package sqlstore

import (
	"sync"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// maxGenerationBytes limits the size of each of the two generations of [memoryCache].
const maxGenerationBytes = 12 << 20

// memoryCache caches memories in two generations. Reading a memory moves it to the young generation; when
// that is full, it replaces the old one. The cache is correct since only this process writes to the file,
// and the writer reports each commit's changes before its callers return.
type memoryCache struct {
	disabled bool       // true with PostgreSQL: the cache stays empty
	mu       sync.Mutex // guards the fields below

	commitCount                    uint64 // incremented at the start and the end of a commit; odd during a commit
	youngGeneration, oldGeneration map[memoryKey]memory.Memory
	youngBytes                     int // estimated bytes of the young generation
}

type memoryKey struct {
	owner memory.Owner
	id    string
}

// lookup returns copies of cached memories by id, the ids that are not cached, and the commit count,
// which the caller passes to add.
func (c *memoryCache) lookup(owner memory.Owner, ids []string) (hits map[string][]memory.Memory, missingIDs []string, commitCount uint64) {
	hits = make(map[string][]memory.Memory, len(ids))
	all := make([]memory.Memory, 0, len(ids))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		key := memoryKey{owner, id}
		m, ok := c.youngGeneration[key]
		if !ok {
			if m, ok = c.oldGeneration[key]; ok {
				c.insertYoung(key, m)
			}
		}
		if !ok {
			missingIDs = append(missingIDs, id)
			continue
		}
		all = append(all, ownerdata.CopyMemory(m))
		hits[id] = all[len(all)-1:]
	}
	return hits, missingIDs, c.commitCount
}

// add caches memories from the database and returns true, unless a commit happened since lookup returned
// commitCount. If it returns true, the memories and the hits of lookup are of one snapshot.
func (c *memoryCache) add(owner memory.Owner, memories map[string][]memory.Memory, commitCount uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disabled || commitCount != c.commitCount || commitCount%2 == 1 {
		return false
	}
	for id, found := range memories {
		if len(found) == 1 {
			c.insertYoung(memoryKey{owner, id}, ownerdata.CopyMemory(found[0]))
		}
	}
	return true
}

// insertYoung adds a memory to the young generation. A full young generation first becomes the old one.
func (c *memoryCache) insertYoung(key memoryKey, m memory.Memory) {
	if c.youngGeneration == nil || c.youngBytes > maxGenerationBytes {
		c.oldGeneration, c.youngGeneration, c.youngBytes = c.youngGeneration, map[memoryKey]memory.Memory{}, 0
	}
	c.youngGeneration[key] = m
	c.youngBytes += memorySize(m)
}

// memorySize estimates a memory's size in the cache in bytes.
func memorySize(m memory.Memory) int {
	const fields = 700
	n := fields + len(m.Content())
	if f := m.Fact; f != nil {
		n += len(f.Metadata) + 40*len(f.Provenance.Turns)
	}
	return n
}

// beginCommit records the start of a commit: from now on, reads may return the commit's changes.
func (c *memoryCache) beginCommit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commitCount++
}

// endCommit records the end of a commit, and drops the changed memories from the cache. If the commit
// failed with err, the stored state is unknown, so endCommit clears the cache.
func (c *memoryCache) endCommit(changed []memoryKey, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commitCount++
	if err != nil {
		c.youngGeneration, c.oldGeneration, c.youngBytes = nil, nil, 0
	}
	for _, key := range changed {
		delete(c.youngGeneration, key)
		delete(c.oldGeneration, key)
	}
}
