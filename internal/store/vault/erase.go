package vault

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Eraser = (*Store)(nil)

// erasingFile is there from before something is erased until no file has its words.
const erasingFile = "erasing"

// erasedWords stand in the journal in the place of words that were erased: what is
// replayed has to be there to be erased again.
const erasedWords = "(erased)"

// Erase removes words for good: see [memory.Eraser]. The store within loses them, then
// the journal says so in a line, then every line before loses them as well, and the
// files are written anew, without what a person added to them. A mark in the folder
// says that this is under way, so that the next start goes on with it. What git or a
// backup has of the folder is not reached.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	inner, ok := s.Store.(memory.Eraser)
	if !ok {
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the store within the vault erases nothing")
	}
	s.copying.Lock() // no copy has words in one file that are gone in another
	defer s.copying.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the vault is closed")
	}
	if !owner.Valid() || run.Check(owner) != nil || ctx.Err() != nil {
		return inner.Erase(ctx, owner, run, ids...)
	}
	order := s.orders.get(owner)
	if err := s.introduce(owner, order); err != nil {
		return memory.Receipt{}, err
	}
	if err := s.beginErasing(); err != nil {
		return memory.Receipt{}, err
	}
	if err := s.buryErased(ctx, owner, ids); err != nil {
		return memory.Receipt{}, fmt.Errorf("mark what is erased: %w", err)
	}
	receipt, err := inner.Erase(ctx, owner, run, ids...)
	if err != nil { // they may be gone within all the same
		return memory.Receipt{}, errors.Join(err, s.bringUp(context.WithoutCancel(ctx), owner, order))
	}
	s.opts.failpoint(afterInner)
	ctx = context.WithoutCancel(ctx) // what was begun is finished
	if !receipt.Again {
		if err := s.journalErasure(ctx, owner, run, receipt, order); err != nil {
			return memory.Receipt{}, err
		}
	}
	if err := s.endErasing(ctx); err != nil {
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the words are erased, but may still be in files of the vault; erase again to remove them there: %w", err)
	}
	return receipt, nil
}

// beginErasing leaves the mark.
func (s *Store) beginErasing() error {
	if err := os.WriteFile(s.own(erasingFile), nil, 0o600); err != nil {
		return err
	}
	return disk.SyncFolder(s.own())
}

// journalErasure writes the line of what was erased; nobody else writes meanwhile.
func (s *Store) journalErasure(ctx context.Context, owner memory.Owner, run memory.Run, receipt memory.Receipt, o *order) error {
	b := bodyOfRun(memory.Run{ID: run.ID, Kind: run.Kind, Author: run.Author, Jobs: run.Jobs}, nil)
	if receipt.Changes > 0 {
		changes, err := s.changesOf(ctx, owner, run.ID)
		if err != nil {
			return err
		}
		if err := s.fillErasure(ctx, owner, &b, linesOfChanges(changes)); err != nil {
			return err
		}
	}
	text, err := b.encode()
	if err != nil {
		return err
	}
	t, err := newTicket(owner, receipt.Version, receipt.At, b, text)
	if err != nil {
		return err
	}
	o.begin()
	if o.put(s.journal, t) {
		s.heal(owner, o)
	}
	return t.wait()
}

// changesOf returns the changes of a run, in their order.
func (s *Store) changesOf(ctx context.Context, owner memory.Owner, run string) ([]memory.Change, error) {
	var out []memory.Change
	for q := (memory.ChangeQuery{Run: run, Limit: 500}); ; {
		page, err := s.Changes(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("read what was erased: %w", err)
		}
		out = append(out, page.Changes...)
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Reverse(out)
			return out, nil
		}
	}
}

// fillErasure lets a line say what was erased, instead of changes.
func (s *Store) fillErasure(ctx context.Context, owner memory.Owner, b *body, changes []changeLine) error {
	b.Changes, b.Raises = nil, true
	var turns []string
	for _, c := range changes {
		i := c.After.image()
		b.Erased = append(b.Erased, i.Target())
		if i.Turn != nil {
			turns = append(turns, i.Turn.ID)
		}
	}
	b.Titles = map[string][]string{}
	found, err := s.Get(ctx, owner, turns...)
	if err != nil {
		return fmt.Errorf("read whose turns were erased: %w", err)
	}
	var ids []string
	for _, m := range found {
		if m.Turn != nil && !slices.Contains(ids, m.Turn.Conversation) {
			ids = append(ids, m.Turn.Conversation)
		}
	}
	for piece := range slices.Chunk(ids, maxRun) {
		page, err := s.Conversations(ctx, owner, memory.ConversationQuery{IDs: piece, Limit: maxRun})
		if err != nil {
			return fmt.Errorf("read whose turns were erased: %w", err)
		}
		for _, c := range page.Conversations {
			if c.Title == "" {
				b.Untitled = append(b.Untitled, c.ID)
			}
			if b.Titles[c.ID], err = s.titlesOf(ctx, owner, c); err != nil {
				return fmt.Errorf("read the titles of %s: %w", c.ID, err)
			}
		}
	}
	return nil
}

// titlesOf are all titles that a conversation has or had, as far as they are kept.
func (s *Store) titlesOf(ctx context.Context, owner memory.Owner, c memory.Conversation) ([]string, error) {
	titles := []string{c.Title}
	for q := (memory.ChangeQuery{Target: conversationTarget + c.ID, Limit: 500}); ; {
		page, err := s.Changes(ctx, owner, q)
		if err != nil {
			return nil, err
		}
		for _, change := range page.Changes {
			if was := change.Before.Conversation; was != nil {
				titles = append(titles, was.Title)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Sort(titles)
			return slices.Compact(titles), nil
		}
	}
}

// isErasure reports whether changes that the store within shows are of an Erase.
func isErasure(changes []changeLine) bool {
	return slices.ContainsFunc(changes, func(c changeLine) bool { return c.Action == memory.ActionErase })
}

// erasedIDs are the ids of what an entry erases.
func (b body) erasedIDs() []string {
	var ids []string
	for _, target := range b.Erased {
		_, id, _ := strings.Cut(target, ":")
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// endErasing removes words from the journal and the files, and then the mark.
func (s *Store) endErasing(ctx context.Context) error {
	if err := s.blankJournal(); err != nil {
		return err
	}
	if err := s.Settle(ctx); err != nil {
		return err
	}
	if err := s.files.forgetPaths(); err != nil {
		return err
	}
	if err := os.Remove(s.own(erasingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.SyncFolder(s.own())
}

// erasing reports whether the mark is there.
func (s *Store) erasing() bool {
	_, err := os.Lstat(s.own(erasingFile))
	return err == nil
}

// erasure is what the journal says was erased of an owner, and before which byte.
type erasure struct {
	targets  map[string]int64
	ids      map[string]int64
	untitled map[string]int64 // conversations
	titles   map[string]titlesLeft
	runs     []string // that erased profile entries
	last     int64    // where the last line of an erasure begins: no model's reason before it stays
}

// erasedKey returns the key that a profile entry of a line that begins at a byte has, if it
// was erased later.
func (w *erasure) erasedKey(key string, begin int64) (string, bool) {
	for _, run := range w.runs {
		left := memory.ErasedKey(run, key)
		if at, ok := w.targets[profileTarget+left]; ok && begin < at {
			return left, true
		}
	}
	return "", false
}

// titlesLeft are those of a conversation's titles that stay, of all before a byte.
type titlesLeft struct {
	before int64
	titles []string
}

// takes reports whether a title in a line that begins at a byte goes.
func (l titlesLeft) takes(title string, begin int64) bool {
	return title != "" && begin < l.before && !slices.Contains(l.titles, title)
}

// blankJournal writes the journal anew without the words of what it says was erased.
// Lines stay as many, and in their order. Nobody writes a line meanwhile. The files of
// what was erased are due again.
func (s *Store) blankJournal() error {
	name := s.own(journalFile)
	gone := map[memory.Owner]*erasure{}
	size, err := readJournal(name, 0, func(e entry, begin, _ int64) error {
		if len(e.Erased) == 0 {
			return nil
		}
		was := gone[e.Owner]
		if was == nil {
			was = &erasure{targets: map[string]int64{}, ids: map[string]int64{}, untitled: map[string]int64{}, titles: map[string]titlesLeft{}}
			gone[e.Owner] = was
		}
		was.last = begin
		for _, target := range e.Erased {
			was.targets[target] = begin
			if strings.HasPrefix(target, profileTarget) && e.Run != nil && !slices.Contains(was.runs, e.Run.ID) {
				was.runs = append(was.runs, e.Run.ID)
			}
		}
		for _, id := range e.erasedIDs() {
			was.ids[id] = begin
		}
		for _, id := range e.Untitled {
			was.untitled[id] = begin
		}
		for id, titles := range e.Titles {
			was.titles[id] = titlesLeft{begin, titles}
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	// Bytes are counted otherwise from now on: until the next snapshot, from the start.
	f.fromStart()
	f.index.Journal = 0
	if err := f.index.save(s.own(indexFile)); err != nil {
		return err
	}
	if err := copyBlanked(name, name+".tmp", size, gone); err != nil {
		return fmt.Errorf("write the journal anew: %w", err)
	}
	s.opts.failpoint(beforeJournal)
	if size, err = s.journal.replace(name+".tmp", name); err != nil {
		return err
	}
	s.opts.failpoint(afterJournal)
	f.journalledTo(size)
	for owner, was := range gone {
		for target := range was.targets {
			f.due(owner, []string{target}, 0)
		}
	}
	for k := range f.index.targets { // files of profile entries whose keys are gone
		key, ok := strings.CutPrefix(k.target, profileTarget)
		if was := gone[k.owner]; ok && was != nil {
			if left, gone := was.erasedKey(key, -1); gone && left != key {
				f.due(k.owner, []string{k.target}, 0)
			}
		}
	}
	return disk.SyncFolder(s.own())
}

// forgetPaths writes the list of files anew, so that it and its log have no path of a file
// that is gone: those of profile entries have their keys.
func (f *files) forgetPaths() error {
	f.disk.Lock()
	defer f.disk.Unlock()
	return f.snapshot()
}

// fromStart lets what is due count from the first line; f.disk is held.
func (f *files) fromStart() {
	for i := range f.parked {
		f.parked[i].from = 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.queue {
		f.queue[i].from = 0
	}
	for owner, h := range f.heads {
		h.Tail = min(h.Tail, 1)
		f.heads[owner] = h
	}
}

// copyBlanked copies the first size bytes of a journal without words that were erased.
func copyBlanked(from, to string, size int64, gone map[memory.Owner]*erasure) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	r, w := bufio.NewReaderSize(in, 1<<16), bufio.NewWriterSize(out, 1<<16)
	for at := int64(0); at < size && err == nil; {
		var text []byte
		if text, err = r.ReadBytes('\n'); err != nil {
			break
		}
		begin := at
		at += int64(len(text))
		if text, err = blankLine(text, begin, gone); err == nil {
			_, err = w.Write(text)
		}
	}
	return errors.Join(err, w.Flush(), out.Sync(), out.Close())
}

// blankLine returns the line that begins at a byte without words that were erased.
func blankLine(text []byte, begin int64, gone map[memory.Owner]*erasure) ([]byte, error) {
	e, err := readEntry(bytes.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	was := gone[e.Owner]
	if was == nil || !was.blank(&e.body, begin) {
		return text, nil
	}
	inner, err := e.encode()
	if err != nil {
		return nil, err
	}
	return line(e.Owner, e.Version, e.At, inner)
}

// blank takes the words out of a line that begins at a byte, and reports whether
// there were any.
func (w *erasure) blank(b *body, begin int64) (changed bool) {
	before := func(of map[string]int64, key string) bool {
		at, ok := of[key]
		return ok && begin < at
	}
	for i := range b.Changes {
		c := &b.Changes[i]
		target := c.After.image().Target()
		if p := c.After.Profile; p != nil {
			if left, ok := w.erasedKey(p.Key, begin); ok {
				entry := *p
				entry.Key, target = left, profileTarget+left
				c.After.Profile = &entry
			}
		}
		if before(w.targets, target) {
			c.After, changed = lineOfImage(c.After.image().Erased("")), true // a profile entry has its key by now
			c.After.mark()
		}
		if c.Reason != "" && begin < w.last && b.authorOf(*c).Kind == memory.ByModel {
			c.Reason, changed = "", true
		}
		if before(w.targets, target) || before(w.ids, c.OldID) || before(w.ids, c.NewID) {
			c.Reason, changed = "", true
		}
		if m := c.After.Conversation; m != nil && w.titles[m.ID].takes(m.Title, begin) {
			untitled := *m
			untitled.Title = ""
			c.After.Conversation, changed = &untitled, true
		}
	}
	for i := range b.Jobs {
		changed = changed || b.Jobs[i].Error != ""
		b.Jobs[i].Error = ""
	}
	if b.Batch == nil {
		return changed
	}
	c := &b.Batch.Conversation
	if c.Title != "" && before(w.untitled, c.ID) || w.titles[c.ID].takes(c.Title, begin) {
		c.Title, changed = "", true
	}
	if before(w.targets, conversationTarget+c.ID) && c.Title+c.Rules+c.Project+c.Agent != "" {
		c.Title, c.Rules, c.Project, c.Agent, changed = "", "", "", "", true
	}
	for i := range b.Batch.Turns { // one that comes again, after it was erased, is one that is there
		t := &b.Batch.Turns[i]
		if _, ok := w.targets[turnTarget+t.ID]; ok && t.Content != "" {
			t.Content, t.Project, t.Agent, changed = erasedWords, "", "", true
		}
	}
	return changed
}

// authorOf returns who made a change of a line.
func (b *body) authorOf(c changeLine) memory.Author {
	if c.Author == (memory.Author{}) && b.Run != nil {
		return b.Run.Author
	}
	return c.Author
}

// mark gives an image words that can be erased, and a fact a hash that no other has.
func (l *imageLine) mark() {
	switch {
	case l.Fact != nil:
		l.Fact.Content, l.Fact.Hash = erasedWords, "erased:"+l.Fact.ID
	case l.Link != nil:
		l.Link.Fact.Content, l.Link.Fact.Hash = erasedWords, "erased:"+l.Link.Fact.ID
	case l.Summary != nil:
		text := *l.Summary
		text.Text = erasedWords
		l.Summary = &text
	case l.Context != nil:
		text := *l.Context
		text.Content = erasedWords
		l.Context = &text
	case l.Conversation != nil:
		text := *l.Conversation
		text.Rules = erasedWords
		l.Conversation = &text
	case l.Profile != nil:
		text := *l.Profile
		text.Value = erasedWords
		l.Profile = &text
	}
}

// replace lets another file be the journal, and returns its size. Nothing may be
// pending.
func (j *journal) replace(from, name string) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.file.Close() // some systems rename nothing that is open
	if err == nil {
		err = os.Rename(from, name)
	}
	f, openErr := os.OpenFile(name, os.O_RDWR, 0o600)
	if openErr != nil {
		j.err = openErr
		return 0, errors.Join(err, openErr)
	}
	j.file = f
	size, seekErr := f.Seek(0, 2)
	j.size, j.err = size, seekErr
	return size, errors.Join(err, seekErr)
}

// erased reports whether nothing is left of a thing but its id and its times.
func (t thing) erased() bool {
	switch {
	case t.fact != nil:
		return t.fact.Content == "" && t.fact.Status == memory.Retired
	case t.turn != nil:
		return t.turn.Content == "" && t.turn.NoLearn && t.turn.Status == memory.Retired
	case t.summary != nil:
		return t.summary.Text == "" && t.summary.Status == memory.Retired
	case t.context != nil:
		return t.context.Title+t.context.Content == "" && t.context.Status == memory.Retired
	case t.conversation != nil:
		return t.conversation.Title+t.conversation.Rules == "" && t.conversation.Status == memory.Retired
	case t.profile != nil:
		return t.profile.Value == "" && t.profile.Status == memory.Retired
	}
	return false
}
