package sqlstore

import "github.com/loci-memory/loci/memory"

// maxLoaded bounds the bytes that one load leaves in [memoryCache]: half a generation, so that
// a user who has very much does not push out everybody else.
const maxLoaded = maxRecent / 2

// load is what is read to follow an owner, on its way into [memoryCache]: whoever's index is
// made asks for the same turns next. A nil load takes nothing in.
type load struct {
	r     *memoryCache
	owner memory.Owner

	read  []loaded // the last of it
	first int      // of read that is wanted still
	size  int      // of those

	void    bool                   // what the commits since wrote is not known; guarded by r.mu
	changed map[memoryKey]struct{} // by commits since; guarded by r.mu
}

// loaded is a turn that was read.
type loaded struct {
	key  memoryKey
	kept kept
}

// load begins to take in what is about to be read of an owner. [load.end] must be called.
func (r *memoryCache) load(owner memory.Owner) *load {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begin(owner)
}

// begin is load for who holds the lock.
func (r *memoryCache) begin(owner memory.Owner) *load {
	if r.off {
		return nil
	}
	l := &load{r: r, owner: owner, changed: map[memoryKey]struct{}{}}
	if r.loads == nil {
		r.loads = map[*load]struct{}{}
	}
	r.loads[l] = struct{}{}
	return l
}

// add takes in what was read; of very much the last stays. It may be called again with
// the same.
func (l *load) add(m memory.Memory) {
	if l == nil || m.Turn == nil {
		return
	}
	one := loaded{memoryKey{l.owner, m.Turn.ID}, kept{turn: packTurn(m.Turn)}}
	l.read = append(l.read, one)
	for l.size += one.kept.size(one.key); l.size > maxLoaded; l.first++ {
		gone := &l.read[l.first]
		l.size -= gone.kept.size(gone.key)
		*gone = loaded{}
	}
}

// end keeps what was read and not changed since, if it was read whole.
func (l *load) end(whole bool) {
	if l == nil {
		return
	}
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.end(l, whole)
}

// end is [load.end] for who holds the lock. What a commit changes that is under way is not
// kept: it may be as it will be, beside what is known as it was.
func (r *memoryCache) end(l *load, whole bool) {
	delete(r.loads, l)
	if !whole || l.void {
		return
	}
	for _, one := range l.read[l.first:] {
		_, changed := l.changed[one.key]
		_, changing := r.underWay[one.key]
		if !changed && !changing {
			r.keep(one.key, one.kept)
		}
	}
}

// committed tells a load what a commit changed that may have come after it was read.
func (l *load) committed(changed map[memoryKey]struct{}, failed error) {
	if failed != nil {
		l.void = true
		return
	}
	for key := range changed {
		if key.owner == l.owner {
			l.changed[key] = struct{}{}
		}
	}
}
