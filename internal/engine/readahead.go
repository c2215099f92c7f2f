package engine

import (
	"cmp"
	"container/list"
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

const (
	// readAheadBytes bounds what is read ahead for all chats together, and
	// readAheadShare what of it one may take.
	readAheadBytes = 16 << 20
	readAheadShare = 4 << 20
)

// latestChats holds what the next request of each owner's latest chat will be laid on: a
// client waits for its first word, and the longer the chat the more there is to read. It
// is as the store has it while the owner's version is the one that it was read at. It is
// safe for concurrent use; whoever gets turns from it does not write to them.
type latestChats struct {
	mu    sync.Mutex // guards what follows, and the entries
	of    map[memory.Owner]*list.Element
	order list.List // of *chatAhead, the last used first
	bytes int

	forgotten uint64 // how often something was let go of
}

// chatAhead is one chat's.
type chatAhead struct {
	key     chatKey
	version int64 // of the owner; 0: nothing was read yet
	known   []thread.Candidate
	bytes   int
}

// now is what [latestChats.expect] wants to hear of the time before a chat was read.
func (l *latestChats) now() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forgotten
}

// expect says which chat of its owner's is the latest, and what is known of it, unless
// something was erased since: then it may be in it.
func (l *latestChats) expect(key chatKey, is chatNow, since uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since != l.forgotten {
		is = chatNow{}
	}
	if l.of == nil {
		l.of = map[memory.Owner]*list.Element{}
	}
	el, ok := l.of[key.owner]
	if !ok {
		el = l.order.PushFront(&chatAhead{bytes: entryBytes})
		l.of[key.owner] = el
		l.bytes += entryBytes
	}
	l.order.MoveToFront(el)
	a := el.Value.(*chatAhead)
	if is.version != 0 {
		l.fill(a, is.version, []thread.Candidate{is.known})
	} else if a.key != key {
		l.fill(a, 0, nil)
	}
	a.key = key
	l.evict()
}

// entryBytes is about what an entry takes that has nothing in it.
const entryBytes = 256

// expected returns the owner's latest chat and the version that it was read at; nil where
// there is none.
func (l *latestChats) expected(owner memory.Owner) (a *chatAhead, key chatKey, version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	el, ok := l.of[owner]
	if !ok {
		return nil, chatKey{}, 0
	}
	a = el.Value.(*chatAhead)
	return a, a.key, a.version
}

// put keeps what was read for a chat, unless another is expected by now, or something was
// erased since: then it may be in it.
func (l *latestChats) put(a *chatAhead, key chatKey, version int64, known []thread.Candidate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el, ok := l.of[key.owner]; !ok || el.Value.(*chatAhead) != a || a.key != key || a.version > version {
		return
	}
	l.fill(a, version, known)
	l.evict()
}

func (l *latestChats) fill(a *chatAhead, version int64, known []thread.Candidate) {
	size := entryBytes
	for i := range known {
		size += turnsSize(known[i].Turns)
	}
	if size > readAheadShare {
		size, version, known = entryBytes, 0, nil
	}
	l.bytes += size - a.bytes
	a.version, a.known, a.bytes = version, known, size
}

// turnsSize is about what turns take.
func turnsSize(turns []memory.Turn) (bytes int) {
	const fields = 640 // of a turn: its ids and the rest of it
	for i := range turns {
		bytes += fields + len(turns[i].Content)
	}
	return bytes
}

// evict lets go of the chats used the longest ago until the rest have room.
func (l *latestChats) evict() {
	for l.bytes > readAheadBytes {
		l.remove(l.order.Back())
	}
}

func (l *latestChats) remove(el *list.Element) {
	a := l.order.Remove(el).(*chatAhead)
	delete(l.of, a.key.owner)
	l.bytes -= a.bytes
}

// get returns what was read for a chat, if that was at this version.
func (l *latestChats) get(key chatKey, version int64) (known []thread.Candidate, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	el, ok := l.of[key.owner]
	if !ok {
		return nil, false
	}
	a := el.Value.(*chatAhead)
	if a.key != key || a.version != version || version == 0 {
		return nil, false
	}
	l.order.MoveToFront(el)
	return a.known, true
}

// chatNow is a conversation as the store had it at a version of its owner, 0 where that
// is not known. Nobody writes to its turns.
type chatNow struct {
	version int64
	known   thread.Candidate
}

// after returns the conversation once a batch was appended to it, as the store's receipt
// says ([memory.Log]): not known, unless the batch came next and adds turns alone.
func (s chatNow) after(b memory.Batch, r memory.Receipt, most int) chatNow {
	if s.version == 0 || r.Version != s.version+1 || r.Again || len(b.Marks) > 0 {
		return chatNow{}
	}
	c := s.known
	known := make(map[string]bool, len(c.Turns))
	for i := range c.Turns {
		known[c.Turns[i].ID] = true
	}
	c.Turns = slices.Concat(c.Turns, b.Turns)
	for i := len(s.known.Turns); i < len(c.Turns); i++ {
		t := &c.Turns[i]
		if t.Status != memory.Active || known[t.ID] {
			return chatNow{}
		}
		t.RecordedAt, t.Version = r.At, r.Version
		if t.Role == memory.RoleUser || t.Role == memory.RoleAssistant {
			c.Conversation.MessageCount++
		}
	}
	slices.SortFunc(c.Turns, func(a, b memory.Turn) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID)) })
	c.Turns = c.Turns[max(0, len(c.Turns)-most):]
	if c.Conversation.Title == "" && c.Conversation.Version == 0 {
		c.Conversation.Title = b.Conversation.Title
	}
	if b.Conversation.UpdatedAt.After(c.Conversation.UpdatedAt) {
		c.Conversation.UpdatedAt = b.Conversation.UpdatedAt
	}
	return chatNow{r.Version, c}
}

// forget lets go of what is held of an owner, of all of them without one.
func (l *latestChats) forget(owner memory.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten++
	for el := l.order.Front(); el != nil; {
		next := el.Next()
		if owner == "" || el.Value.(*chatAhead).key.owner == owner {
			l.remove(el)
		}
		el = next
	}
}

// readAhead reads what the next request of the owner's latest chat will be laid on, unless
// that is known already. Without it the request reads that itself.
func (e *Engine) readAhead(ctx context.Context, owner memory.Owner) error {
	a, key, known := e.latest.expected(owner)
	if a == nil {
		return nil
	}
	version, err := e.version(ctx, owner)
	if err != nil || version == known {
		return err
	}
	cands, err := e.onto(ctx, key)
	if err != nil || len(cands) == shortlist { // there may be more
		return err
	}
	e.latest.put(a, key, version, cands) // if it was written between, nobody asks for that version
	return nil
}

// ahead returns what a chat's request is laid on, and the version of which it is, 0 where
// that was not read ahead or is not so any more.
func (e *Engine) ahead(ctx context.Context, key chatKey) (cands []thread.Candidate, version int64) {
	if a, expected, _ := e.latest.expected(key.owner); a == nil || expected != key {
		return nil, 0
	}
	version, err := e.version(ctx, key.owner)
	if err != nil {
		return nil, 0
	}
	cands, ok := e.latest.get(key, version)
	if !ok {
		return nil, 0
	}
	return cands, version
}

// readBack has what a run taught, and the turns that it was learned from, read by a store
// that remembers them then: what was said and learned last is soon asked for.
func (e *Engine) readBack(ctx context.Context, owner memory.Owner, turns []string, changes []memory.Change) {
	if !e.opts.AtHand {
		return
	}
	ids := slices.Clone(turns)
	for _, c := range changes {
		if c.After.Fact != nil {
			ids = append(ids, c.After.Fact.ID)
		}
	}
	if _, err := e.Store.Get(ctx, owner, ids...); err != nil {
		e.Log.Debug("what was learned was not read back", "user", owner.Name(), "err", err)
	}
}

// readAtOnce is how many memories are read ahead at a time: about a millisecond.
const readAtOnce = 128

// Loaded has memories that a search may find now read before one does, while nobody waits
// for memory: a store that is at hand remembers what it was asked for. It is what an index
// is told by. Of owners who are loaded at once one is enough.
func (e *Engine) Loaded(ctx context.Context, owner memory.Owner, ids []string) {
	if !e.loading.TryLock() {
		return
	}
	defer e.loading.Unlock()
	for some := range slices.Chunk(ids, readAtOnce) {
		e.lull.wait(ctx)
		if _, err := e.Store.Get(ctx, owner, some...); err != nil {
			return // who asks reads it, or is told why not
		}
	}
}
