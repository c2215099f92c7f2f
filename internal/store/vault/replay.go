package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// begin reads the journal and makes the store within, the journal and the list of
// files that are due agree.
func (s *Store) begin(ctx context.Context) error {
	if err := s.leaveDamagedJournal(ctx); err != nil {
		return err
	}
	size, err := s.readHeads()
	if err != nil {
		return err
	}
	if s.journal, err = openJournal(s.own(journalFile), size, s.opts.failpoint, s.files.journalled); err != nil {
		return err
	}
	if err := disk.SyncFolder(s.own()); err != nil {
		return err
	}
	for _, owner := range append(s.opts.Owners, s.opts.Home) {
		s.orders.get(owner)
	}
	owners := s.orders.owners()
	versions, err := s.Store.Versions(ctx, owners)
	if err != nil {
		return fmt.Errorf("ask the store within for its versions: %w", err)
	}
	crashed, err := s.marked()
	if err != nil {
		return err
	}
	behind := map[memory.Owner]int64{}
	empty := size == 0
	for i, owner := range owners {
		o := s.orders.get(owner)
		switch {
		case versions[i] > o.head, versions[i] == o.head && crashed:
			empty = empty && versions[i] == 0
			if err := s.bringUp(ctx, owner, o); err != nil {
				return fmt.Errorf("bring the journal of %s up to the database: %w", owner, err)
			}
		case versions[i] < o.head:
			behind[owner] = versions[i]
		}
		if versions[i] == 0 && o.head == 0 && !o.at.IsZero() {
			behind[owner] = 0 // runs that changed nothing, but queued jobs: done again they are no-ops
		} else if versions[i] == o.head && o.tail > 0 {
			lacks, err := s.lacksMarks(ctx, owner, o.tail-1)
			if err != nil {
				return fmt.Errorf("look for turns of %s that were learned from: %w", owner, err)
			}
			if lacks {
				behind[owner] = versions[i]
			}
		}
	}
	if s.erasing() {
		if err := s.blankJournal(); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
		if info, err := os.Stat(s.own(journalFile)); err == nil && len(behind) > 0 {
			size = info.Size()
		}
	}
	if err := s.replay(ctx, behind, size); err != nil {
		return err
	}
	if empty {
		if err := s.files.forgetRecords(); err != nil {
			return err
		}
		return s.adopt(ctx)
	}
	return nil
}

// lacksMarks reports whether the store within does not know that turns were learned from
// which the journal names from a byte on: it was put back from a copy that is older by
// that alone.
func (s *Store) lacksMarks(ctx context.Context, owner memory.Owner, from int64) (bool, error) {
	var turns []string
	_, err := readJournal(s.own(journalFile), from, func(e entry, _, _ int64) error {
		if e.Owner == owner && e.Run != nil {
			turns = append(turns, e.Run.Learned...)
		}
		return nil
	})
	if err != nil || len(turns) == 0 {
		return false, err
	}
	found, err := s.Store.Get(ctx, owner, turns...)
	return slices.ContainsFunc(found, func(m memory.Memory) bool { return m.Turn != nil && m.Turn.LearnedAt.IsZero() }), err
}

// marked leaves a sign that the vault is open, and reports whether the last one to
// open it left its own.
func (s *Store) marked() (bool, error) {
	_, err := os.Stat(s.own(openFile))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	return false, os.WriteFile(s.own(openFile), nil, 0o600)
}

// readHeads learns from the journal where each owner stands and which files are
// due, beginning where the snapshot of the files ends, and returns the size of
// what is whole.
func (s *Store) readHeads() (int64, error) {
	path := s.own(journalFile)
	from := s.files.index.Journal
	if info, err := os.Stat(path); err != nil || info.Size() < from {
		from = 0
	}
	if from == 0 {
		clear(s.files.index.Heads)
	}
	heads := map[memory.Owner]head{}
	for owner, h := range s.files.index.Heads {
		s.orders.get(owner).known = true
		heads[owner] = h
	}
	size, err := readJournal(path, from, func(e entry, begin, end int64) error {
		s.orders.get(e.Owner).known = true
		heads[e.Owner] = heads[e.Owner].next(e.Version, e.At, e.commits(), e.raises(), begin)
		s.files.due(e.Owner, e.targets(), begin)
		return nil
	})
	for owner, h := range heads {
		o := s.orders.get(owner)
		o.head, o.at, o.tail = h.Version, h.At, h.Tail
		s.files.noteHead(owner, h)
	}
	if err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	s.files.journalledTo(size)
	return size, nil
}

// ref is where in the journal an entry lies.
type ref struct {
	at      time.Time
	offset  int64
	length  int
	owner   memory.Owner
	version int64
}

// replay gives the store within what the journal has beyond the versions that it
// is at, under the owners' times of then.
func (s *Store) replay(ctx context.Context, behind map[memory.Owner]int64, size int64) error {
	if len(behind) == 0 {
		return nil
	}
	path := s.own(journalFile)
	var refs []ref
	done := map[[2]string]bool{} // owner and job
	_, err := readJournal(path, 0, func(e entry, begin, end int64) error {
		if begin >= size {
			return nil // brought up just now
		}
		job := e.Done
		if e.Run != nil {
			job = cmp.Or(e.Run.Job, job)
		}
		if job != "" {
			done[[2]string{string(e.Owner), job}] = true
		}
		version, ok := behind[e.Owner]
		if !ok || e.Run == nil && e.Batch == nil || e.Version < version || e.raises() && e.Version == version {
			return nil
		}
		refs = append(refs, ref{e.At, begin, int(end - begin), e.Owner, e.Version})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	slices.SortStableFunc(refs, func(a, b ref) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), a.at.Compare(b.at))
	})
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	defer s.clock.replay.Store(nil)
	for i, r := range refs {
		e, err := readLine(f, r.offset, r.length)
		if err != nil {
			return fmt.Errorf("read the journal at byte %d: %w", r.offset, err)
		}
		e.Jobs = slices.DeleteFunc(e.Jobs, func(j memory.Job) bool { return done[[2]string{string(e.Owner), j.ID}] })
		if err := s.again(ctx, e); err != nil {
			return fmt.Errorf("replay the journal's line at byte %d: %w", r.offset, err)
		}
		s.opts.Progress("replaying the journal", i+1, len(refs))
	}
	return nil
}

// again does once more, within, what an entry says.
func (s *Store) again(ctx context.Context, e entry) error {
	s.clock.replay.Store(&e.At)
	receipt, err := s.repeat(ctx, e)
	if err != nil {
		return err
	}
	if e.recovered() && receipt.Version == e.Version {
		return nil // what the store within has under another id, and which changes nothing there
	}
	if !receipt.Again && (receipt.Version != e.Version || !receipt.At.Equal(e.At)) {
		return memory.Errorf(memory.Conflict, "the database is of another history: version %d of %s at %v is %d at %v there; move the database away to have it built anew",
			e.Version, e.Owner, e.At, receipt.Version, receipt.At)
	}
	return nil
}

func (s *Store) repeat(ctx context.Context, e entry) (memory.Receipt, error) {
	if len(e.Erased) > 0 {
		eraser, ok := s.Store.(memory.Eraser)
		if !ok {
			return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the store within erases nothing")
		}
		return eraser.Erase(ctx, e.Owner, memory.Run{ID: e.Run.ID, Kind: e.Run.Kind, Author: e.Run.Author, Jobs: e.Jobs}, e.erasedIDs()...)
	}
	// The vector is a sign that there was one: no model has this name.
	vectors := make([]memory.Vector, 0, len(e.Touched))
	for _, id := range e.Touched {
		vectors = append(vectors, memory.Vector{Memory: id, Model: "replayed", Values: []float32{1}})
	}
	vectors = append(vectors, s.vectors(ctx, e.words())...)
	if e.Batch != nil {
		b := memory.Batch{
			Conversation: e.Batch.Conversation, Run: e.Batch.Run, Marks: e.changes(), Vectors: vectors, Jobs: e.Jobs,
		}
		for _, t := range e.Batch.Turns {
			b.Turns = append(b.Turns, t.turn())
		}
		return s.Store.Append(ctx, e.Owner, b)
	}
	if e.Raises && len(vectors) == 0 {
		vectors = []memory.Vector{{Memory: "\x00", Model: "replayed", Values: []float32{1}}} // of what nobody has
	}
	run := memory.Run{
		ID: e.Run.ID, Kind: e.Run.Kind, Author: e.Run.Author, Learned: e.Run.Learned, Vectors: vectors, Jobs: e.Jobs,
	}
	return s.Store.Apply(ctx, e.Owner, run, e.changes()...)
}

// newTicket puts a line together.
func newTicket(owner memory.Owner, version int64, at time.Time, b body, text []byte) (*ticket, error) {
	out, err := line(owner, version, at, text)
	if err != nil {
		return nil, err
	}
	return &ticket{
		text: out, owner: owner, version: version, at: at, raises: b.raises(), commits: b.commits(), targets: b.targets(), synced: make(chan struct{}),
	}, nil
}

// heal brings lines that wait for one that will never come into the journal,
// after those that the store within knows instead: a call failed within, though
// what it wrote is there.
func (s *Store) heal(owner memory.Owner, o *order) {
	err := s.bringUp(context.Background(), owner, o)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && !o.stuck() {
		return
	}
	for _, t := range o.early {
		t.err = errors.Join(memory.Errorf(memory.Unavailable, "the vault's journal lacks what came before; start again"), err)
		close(t.synced)
	}
	o.early = nil
}

// bringUp puts into the journal what the store within has beyond it.
func (s *Store) bringUp(ctx context.Context, owner memory.Owner, o *order) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	entries, err := s.beyond(ctx, owner, o.head, o.at)
	if err != nil {
		return err
	}
	known := map[int64]bool{}
	for _, t := range o.early {
		known[t.version] = known[t.version] || t.raises
	}
	for i, e := range entries {
		if e.raises() && known[e.Version] {
			continue
		}
		if isErasure(e.Changes) {
			author := e.Changes[0].Author
			if err := s.fillErasure(ctx, owner, &e.body, e.Changes); err != nil {
				return err
			}
			e.Run.Kind, e.Run.Author = "erase", author
		}
		text, err := e.encode()
		if err != nil {
			return err
		}
		t, err := newTicket(owner, e.Version, e.At, e.body, text)
		if err != nil {
			return err
		}
		o.early = append(o.early, t)
		s.opts.Progress("bringing the journal up", i+1, len(entries))
	}
	slices.SortStableFunc(o.early, func(a, b *ticket) int { return a.at.Compare(b.at) })
	waiting := slices.Clone(o.early)
	o.known = true
	o.follow(s.journal)
	for _, t := range waiting {
		if slices.Contains(o.early, t) {
			return fmt.Errorf("version %d of %s is missing in the database too", o.head+1, owner)
		}
		if err := t.wait(); err != nil {
			return err
		}
	}
	return nil
}
