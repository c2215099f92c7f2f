package sqlstore

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// maxTail bounds the turns of one owner's [tail], and maxTails the bytes of all.
const (
	maxTail  = 64
	maxTails = 4 << 20
)

// tails are what was said last, by owner, so that an index which follows a chat
// turn by turn need not ask the database. Nobody else writes to the file while it
// is locked, and the writer tells of each commit before its callers are told.
type tails struct {
	mu   sync.Mutex // guards what follows
	of   map[memory.Owner]*tail
	size int // estimated
}

// tail is all that was written after version from, up to the owner's version: turns
// that were added and nothing else.
type tail struct {
	from, version int64
	turns         []said // in order of version and id
}

// said is a turn as it was added. It is written to no more.
type said struct {
	turn    memory.Turn
	vectors []packed
}

// packed is a vector as it is stored.
type packed struct {
	model string
	data  []byte
}

// appended is what a commit did to one owner.
type appended struct {
	owner   memory.Owner
	version int64
	only    bool // nothing but the turns was written
	facts   bool // facts may have changed
	turns   []said
}

// since returns what was written after a version, and the version that this leads
// to; ok is false if only the database knows.
func (t *tails) since(owner memory.Owner, after int64) (turns []said, version int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.of[owner]
	if kept == nil || after < kept.from || after > kept.version {
		return nil, 0, false
	}
	first, _ := slices.BinarySearchFunc(kept.turns, after+1, func(s said, version int64) int { return cmp.Compare(s.turn.Version, version) })
	return slices.Clone(kept.turns[first:]), kept.version, true
}

// committed tells what a transaction wrote, in order. What a failed commit left
// behind, only the database knows.
func (t *tails) committed(writes []appended, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range writes {
		if failed != nil || !w.only || len(w.turns) > maxTail {
			t.forget(w.owner)
			continue
		}
		t.add(w)
	}
	if t.size > maxTails {
		t.of, t.size = nil, 0
	}
}

func (t *tails) add(w appended) {
	if t.of == nil {
		t.of = map[memory.Owner]*tail{}
	}
	kept := t.of[w.owner]
	if kept == nil {
		kept = &tail{from: w.version - 1}
		t.of[w.owner] = kept
		t.size += tailSize
	}
	slices.SortFunc(w.turns, func(a, b said) int { return strings.Compare(a.turn.ID, b.turn.ID) })
	kept.turns, kept.version = append(kept.turns, w.turns...), w.version
	for _, s := range w.turns {
		t.size += s.size()
	}
	gone := 0
	for ; len(kept.turns)-gone > maxTail || gone > 0 && kept.turns[gone].turn.Version == kept.from; gone++ {
		kept.from = kept.turns[gone].turn.Version
		t.size -= kept.turns[gone].size()
	}
	kept.turns = slices.Delete(kept.turns, 0, gone)
}

func (t *tails) forget(owner memory.Owner) {
	kept := t.of[owner]
	if kept == nil {
		return
	}
	delete(t.of, owner)
	t.size -= tailSize
	for _, s := range kept.turns {
		t.size -= s.size()
	}
}

// tailSize is about what a tail takes beside its turns.
const tailSize = 200

// size estimates what a turn takes.
func (s said) size() int {
	const fixed = 600
	n := fixed + len(s.turn.Content)
	for _, v := range s.vectors {
		n += len(v.data)
	}
	return n
}

// item is the turn as an index that uses a model follows it.
func (s said) item(model string) memory.Item {
	i := memory.Item{ID: s.turn.ID, Version: s.turn.Version}
	if i.Removed = s.turn.Status != memory.Active || s.turn.Content == ""; i.Removed {
		return i
	}
	turn := s.turn
	i.Memory = memory.Memory{Turn: &turn}
	for _, v := range s.vectors {
		if v.model == model {
			i.Vector = decodeHalves(v.data)
		}
	}
	return i
}
