package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// erasingFile is there from before something is erased until no file has its words.
const erasingFile = "erasing"

// Erase removes words for good: see [memory.Eraser]. The store within loses them, then the
// files are written again, without what a person added to them. A mark in the folder says that
// this is under way, so that the next start goes on with it. What git or a backup has of the
// folder is not reached.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	s.copying.Lock() // no copy has words in one file that are gone in another
	defer s.copying.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return memory.Receipt{}, errClosed
	}
	if !owner.Valid() || run.Check(owner) != nil || ctx.Err() != nil {
		return s.Store.Erase(ctx, owner, run, ids...)
	}
	if err := s.beginErasing(); err != nil {
		return memory.Receipt{}, err
	}
	targets, err := s.targetsOfIDs(ctx, owner, run.ID, ids)
	if err != nil {
		return memory.Receipt{}, err
	}
	receipt, err := s.Store.Erase(ctx, owner, run, ids...)
	s.files.committed(owner, receipt, targets, err)
	if err != nil { // they may be gone within all the same
		return memory.Receipt{}, err
	}
	s.opts.failpoint(afterCommit)
	if receipt.Again { // the last attempt may have left files
		for _, t := range targets {
			s.files.due(key{owner, t})
		}
	}
	if err := s.endErasing(context.WithoutCancel(ctx)); err != nil { // what was begun is finished
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

// targetsOfIDs are the things whose files may have words of what a run erases. The
// conversations of turns are among them, for their titles.
func (s *Store) targetsOfIDs(ctx context.Context, owner memory.Owner, run string, ids []string) ([]string, error) {
	found, err := s.Get(ctx, owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read what is to be erased: %w", err)
	}
	targets := map[string]bool{}
	addTargets(targets, found)
	for _, id := range ids {
		for _, kind := range []string{profileTarget, contextTarget, conversationTarget} {
			targets[kind+id] = true
		}
		targets[profileTarget+memory.ErasedKey(run, id)] = true
	}
	return slices.Collect(maps.Keys(targets)), nil
}

// endErasing removes words from the files, and then the mark.
func (s *Store) endErasing(ctx context.Context) error {
	if err := s.Settle(ctx); err != nil {
		return err
	}
	s.files.disk.Lock() // records have the paths of files that are gone, with the keys of profile entries
	err := s.files.index.compact()
	s.files.disk.Unlock()
	if err != nil {
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

// EraseTraces removes all traces of an owner, which the store within has alone: see
// [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	s.copying.Lock() // a copy waits here, and not where it stops who writes
	defer s.copying.Unlock()
	return s.Store.EraseTraces(ctx, owner)
}

// EraseTracesOf removes the traces that show one of the facts.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	s.copying.Lock() // a copy waits here, and not where it stops who writes
	defer s.copying.Unlock()
	return s.Store.EraseTracesOf(ctx, namespace, facts...)
}
