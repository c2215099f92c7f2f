package sqlstore

import (
	"maps"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// maxHeads bounds how many owners' versions are kept, at some 100 bytes each.
const maxHeads = 1 << 16

// versionCache has versions of owners as the last commit left them, so that a recall need
// not ask the database: nobody else writes to the file while it is locked. The
// writer tells of each commit before its callers are told; so whoever begins to
// read after an acknowledged write finds its version or a later one.
type versionCache struct {
	off     bool         // they learn nothing
	mu      sync.RWMutex // guards both
	of      map[memory.Owner]int64
	commits uint64 // that were told of
}

// find reads the owners' versions into versions and reports whether all are known.
// Otherwise commits is what [versionCache.learn] wants to hear.
func (h *versionCache) find(owners []memory.Owner, versions []int64) (commits uint64, all bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for i, o := range owners {
		v, ok := h.of[o]
		if !ok {
			return h.commits, false
		}
		versions[i] = v
	}
	return h.commits, true
}

// learn keeps what was read from the database, unless there was a commit since the
// caller asked: it may be older than that.
func (h *versionCache) learn(owners []memory.Owner, versions []int64, commits uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off || commits != h.commits {
		return
	}
	h.makeRoom(len(owners))
	for i, o := range owners {
		h.of[o] = versions[i]
	}
}

// committed tells of the versions that a transaction raised. What a failed commit
// left behind, only the database knows.
func (h *versionCache) committed(raised map[memory.Owner]int64, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commits++
	h.makeRoom(len(raised))
	if failed == nil {
		maps.Copy(h.of, raised)
		return
	}
	for o := range raised {
		delete(h.of, o)
	}
}

// makeRoom forgets all when there would be too many: those who are there come
// back one by one.
func (h *versionCache) makeRoom(more int) {
	if h.of == nil || len(h.of)+more > maxHeads {
		h.of = make(map[memory.Owner]int64, more)
	}
}
