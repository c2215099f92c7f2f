package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// minCheckpoint is the minimum number of memories for a checkpoint.
const minCheckpoint = 5000

// A checkpoint is written when the number of changes since the last checkpoint is at least the number
// of memories divided by this divisor. While the program runs, fewer writes save time; at shutdown,
// a recent checkpoint spares the next start from reading changes.
const (
	saveDivisorRunning = 10
	saveDivisorAtClose = 100
)

// closeTimeout is the maximum time for which [Index.Close] writes checkpoints.
const closeTimeout = 5 * time.Second

const (
	checkpointSuffix = ".idx"
	temporarySuffix  = ".tmp"
)

func (ix *Index) checkpointPath(owner memory.Owner) string {
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(ix.opts.Dir, hex.EncodeToString(sum[:])+checkpointSuffix)
}

// isWorthSaving reports whether a shard is large enough for a checkpoint, and since its last checkpoint had
// at least as many changes as its number of memories divided by divisor.
func (ix *Index) isWorthSaving(sh *shard, divisor int) bool {
	if ix.opts.Dir == "" {
		return false
	}
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return len(sh.docs) >= ix.checkpointMinimum && sh.unsavedChanges >= len(sh.docs)/divisor
}

func (ix *Index) saveInBackground(e *ownerEntry, sh *shard) {
	err := ix.saveCheckpoint(ix.ctx, e, sh)
	ix.mu.Lock()
	e.saving = false
	ix.mu.Unlock()
	if err != nil && ix.ctx.Err() == nil {
		ix.opts.Report(err)
	}
}

func (ix *Index) saveAllCheckpoints() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	ix.mu.Lock()
	var entries []*ownerEntry
	for at := ix.byRecentUse.Front(); at != nil; at = at.Next() {
		entries = append(entries, at.Value.(*ownerEntry))
	}
	ix.mu.Unlock()
	for _, e := range entries {
		if e.shard == nil || !ix.isWorthSaving(e.shard, saveDivisorAtClose) {
			continue
		}
		if err := ix.saveCheckpoint(ctx, e, e.shard); err != nil {
			ix.opts.Report(err)
		}
	}
}

// saveCheckpoint writes a shard's checkpoint unless the index has dropped, evicted or reloaded its owner.
func (ix *Index) saveCheckpoint(ctx context.Context, e *ownerEntry, sh *shard) error {
	ix.diskMu.Lock()
	defer ix.diskMu.Unlock()
	ix.mu.Lock()
	current := ix.entries[e.owner] == e && e.shard == sh
	ix.mu.Unlock()
	if !current {
		return nil
	}
	sh.mu.RLock()
	f := sh.freeze()
	sh.mu.RUnlock()
	err := ix.writeCheckpoint(ctx, e.owner, sh.vectorSpace.model, f)
	if ctx.Err() == nil { // also after an error, so that the next attempt waits for more changes
		sh.mu.Lock()
		sh.unsavedChanges -= f.unsavedChanges
		sh.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("write a checkpoint of %s: %w", e.owner, err)
	}
	return nil
}

// writeCheckpoint writes an owner's checkpoint atomically.
func (ix *Index) writeCheckpoint(ctx context.Context, owner memory.Owner, model string, f *frozenContents) (err error) {
	if err := os.MkdirAll(ix.opts.Dir, 0o700); err != nil {
		return err
	}
	path := ix.checkpointPath(owner)
	tmp, err := os.CreateTemp(ix.opts.Dir, filepath.Base(path)+".*"+temporarySuffix) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	h := ix.newHeader(owner, model)
	h.Version = f.version
	if err := errors.Join(encodeCheckpoint(ctx, tmp, h, f), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.SyncFolder(ix.opts.Dir)
}

// shardFromCheckpoint returns the owner's shard from its checkpoint and the store's later changes,
// or nil if there is no usable checkpoint. It removes an unusable checkpoint.
func (ix *Index) shardFromCheckpoint(owner memory.Owner) *shard {
	if ix.opts.Dir == "" {
		return nil
	}
	sh, err := ix.readCheckpoint(owner)
	if err == nil {
		err = ix.resumeCheckpoint(sh, owner)
	}
	switch {
	case err == nil:
		return sh
	case errors.Is(err, fs.ErrNotExist) || ix.ctx.Err() != nil:
		return nil
	}
	var damaged *unusableError
	if errors.As(err, &damaged) || errors.Is(err, memory.Gone) {
		err = errors.Join(err, ix.removeCheckpoint(owner))
	}
	ix.opts.Report(fmt.Errorf("read the checkpoint of %s: %w", owner, err))
	return nil
}

func (ix *Index) newHeader(owner memory.Owner, model string) checkpointHeader {
	return checkpointHeader{Owner: owner, Model: model, Language: languageFingerprint(), Offloaded: ix.isOffloaded(owner)}
}

func (ix *Index) readCheckpoint(owner memory.Owner) (*shard, error) {
	file, err := os.Open(ix.checkpointPath(owner))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // closing a file that was only read cannot lose data
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	current := ix.opts.vectorSpace()
	c, err := decodeCheckpoint(ix.ctx, file, info.Size(), ix.newHeader(owner, current.model))
	if err != nil {
		return nil, err
	}
	if current.dims != 0 && c.dims != 0 && c.dims != current.dims {
		return nil, unusablef("the file's vectors have %d dimensions, but the embedder's have %d", c.dims, current.dims)
	}
	return &shard{contents: *c, vectorSpace: current}, nil
}

func (ix *Index) removeCheckpoint(owner memory.Owner) error {
	if ix.opts.Dir == "" {
		return nil
	}
	if err := os.Remove(ix.checkpointPath(owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func removeTemporary(dir string) {
	if dir == "" {
		return
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"+temporarySuffix)) // the only possible error is an invalid pattern
	for _, path := range left {
		_ = os.Remove(path) // a leftover file only wastes disk space
	}
}
