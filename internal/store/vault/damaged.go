package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// damagedJournal is what the name of a journal begins with that could not be read and was
// set aside.
const damagedJournal = "journal.damaged-"

// DamagedJournals returns the journals that could not be read and were set aside, by their
// paths from the vault's top. Erasures do not reach them.
func (s *Store) DamagedJournals() []string {
	names, _ := filepath.Glob(s.own(damagedJournal + "*")) // the pattern is a good one
	for i, name := range names {
		names[i] = ownFolder + "/" + filepath.Base(name)
	}
	return names
}

// leaveDamagedJournal sets the journal aside if the store within cannot be brought up by
// it. Then a store within that is empty is made of the files, and another one is what the
// journal begins with anew.
func (s *Store) leaveDamagedJournal(ctx context.Context) error {
	known := maps.Clone(s.files.index.Heads)
	others := append(slices.Clone(s.opts.Owners), s.opts.Home)
	for k := range s.files.index.targets {
		others = append(others, k.owner)
	}
	for _, owner := range others {
		if _, ok := known[owner]; !ok {
			known[owner] = head{}
		}
	}
	owners := slices.Sorted(maps.Keys(known))
	versions, err := s.Store.Versions(ctx, owners)
	if err != nil {
		return fmt.Errorf("ask the store within for its versions: %w", err)
	}
	empty := !slices.ContainsFunc(versions, func(v int64) bool { return v > 0 })
	fault := s.journalFault(known, empty)
	if fault == nil {
		return nil
	}
	for i, owner := range owners {
		if !empty && versions[i] < known[owner].Version {
			return memory.Errorf(memory.Unavailable, "the journal is damaged, and the database is older than the files: move the database away, and memory is made of the files: %w", fault)
		}
	}
	s.opts.Log.Error("the vault's journal cannot be read and is set aside; memory is made of the files and the database, and what it was before is not known any more", "err", fault)
	aside := s.own(damagedJournal + s.opts.Now().UTC().Format("2006-01-02T15-04-05") + ".jsonl")
	if err := os.Rename(s.own(journalFile), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, owner := range owners { // the new journal does not name them yet
		s.orders.get(owner)
	}
	s.files.forgetJournal()
	return nil
}

// journalFault is why the journal does not tell what the store within needs of it, nil if it
// does. An empty store needs all of it: no line may be missing, nor what the files are of.
func (s *Store) journalFault(known map[memory.Owner]head, empty bool) error {
	from := s.files.index.Journal
	info, err := os.Stat(s.own(journalFile))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // whoever reads it says so
	case err != nil && from == 0:
		return nil // there was none yet
	case empty || err != nil || info.Size() < from:
		from = 0
	}
	heads := map[memory.Owner]int64{}
	named := map[key]bool{}
	size, err := readJournal(s.own(journalFile), from, func(e entry, begin, _ int64) error {
		if empty && e.raises() && e.Version > heads[e.Owner]+1 {
			return fmt.Errorf("lines are missing before byte %d", begin)
		}
		heads[e.Owner] = max(heads[e.Owner], e.Version)
		for _, target := range e.targets() {
			named[key{e.Owner, target}] = true
		}
		return nil
	})
	if err != nil || !empty {
		return err
	}
	if size < s.files.index.Journal {
		return fmt.Errorf("it ends at byte %d of %d", size, s.files.index.Journal)
	}
	for owner, h := range known {
		if heads[owner] < h.Version {
			return fmt.Errorf("it lacks what was written last of %s", owner.Called())
		}
	}
	for k, r := range s.files.index.targets {
		kind, _, _ := strings.Cut(k.target, ":")
		if memoryTarget := kind + ":"; !named[k] && (memoryTarget == factTarget || memoryTarget == turnTarget || memoryTarget == summaryTarget) {
			return fmt.Errorf("it does not name the memory of %s", r.Path)
		}
	}
	return nil
}

// forgetJournal forgets which part of the journal is in the files.
func (f *files) forgetJournal() {
	f.index.Journal = 0
	clear(f.index.Heads)
}

// forgetRecords forgets what was written to the files, so that each is read as a person's.
// Nothing has been written yet.
func (f *files) forgetRecords() error {
	f.disk.Lock()
	defer f.disk.Unlock()
	clear(f.index.paths)
	clear(f.index.targets)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = nil
	clear(f.queued)
	return f.index.save(f.s.own(indexFile))
}
