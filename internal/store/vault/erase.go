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

// erasingFile exists from the start of an erasure until the text is removed from all files.
const erasingFile = "erasing"

// Erase removes text permanently: see [memory.Eraser]. The wrapped store removes the text, then the
// files are rewritten without a person's additions. After a crash, a marker file makes the next
// start continue. Copies in git or backups stay.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	s.copyMu.Lock() // waits for a copy, so that no copy has only a part of the erasure
	defer s.copyMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return memory.Receipt{}, errClosed
	}
	if !owner.Valid() || run.Check(owner) != nil || ctx.Err() != nil {
		return s.Store.Erase(ctx, owner, run, ids...)
	}
	if err := s.beginErasure(); err != nil {
		return memory.Receipt{}, err
	}
	targets, err := s.targetsForErasure(ctx, owner, run.ID, ids)
	if err != nil {
		return memory.Receipt{}, err
	}
	receipt, err := s.Store.Erase(ctx, owner, run, ids...)
	s.files.markCommitted(owner, receipt, targets, err)
	if err != nil { // the wrapped store may have erased the text despite the error
		return memory.Receipt{}, err
	}
	s.opts.failpoint(afterCommit)
	if receipt.Again { // files may still contain the text after an earlier attempt
		for _, t := range targets {
			s.files.markDirty(key{owner, t})
		}
	}
	if err := s.finishErasure(context.WithoutCancel(ctx)); err != nil { // complete the erasure even if the caller gives up
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the text is erased, but may still be in files of the vault; repeat the erasure to remove it there: %w", err)
	}
	return receipt, nil
}

// beginErasure creates the marker file.
func (s *Store) beginErasure() error {
	if err := os.WriteFile(s.ownPath(erasingFile), nil, 0o600); err != nil {
		return err
	}
	return disk.SyncFolder(s.ownPath())
}

// targetsForErasure returns the targets whose files may contain the text of the memories with these ids,
// including the conversations of turns, since a title may quote a turn.
func (s *Store) targetsForErasure(ctx context.Context, owner memory.Owner, runID string, ids []string) ([]string, error) {
	memories, err := s.Get(ctx, owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the memories to erase: %w", err)
	}
	targets := map[string]bool{}
	addTargets(targets, memories)
	for _, id := range ids {
		for _, kind := range []string{profileTarget, contextTarget, conversationTarget} {
			targets[kind+id] = true
		}
		targets[profileTarget+memory.ErasedKey(runID, id)] = true
	}
	return slices.Collect(maps.Keys(targets)), nil
}

// finishErasure removes erased text from the files, and then the marker file.
func (s *Store) finishErasure(ctx context.Context) error {
	if err := s.Flush(ctx); err != nil {
		return err
	}
	s.files.disk.Lock() // compact removes deleted records, whose paths may contain keys of profile entries
	err := s.files.records.compact()
	s.files.disk.Unlock()
	if err != nil {
		return err
	}
	if err := os.Remove(s.ownPath(erasingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.SyncFolder(s.ownPath())
}

// isErasing reports whether the marker file exists.
func (s *Store) isErasing() bool {
	_, err := os.Lstat(s.ownPath(erasingFile))
	return err == nil
}

// EraseTraces removes all traces of an owner; only the wrapped store has traces: see [memory.Eraser].
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	s.copyMu.Lock() // waits for a copy, without blocking writers
	defer s.copyMu.Unlock()
	return s.Store.EraseTraces(ctx, owner)
}

// EraseTracesOf removes the traces that show one of the facts.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	s.copyMu.Lock() // waits for a copy, without blocking writers
	defer s.copyMu.Unlock()
	return s.Store.EraseTracesOf(ctx, namespace, facts...)
}
