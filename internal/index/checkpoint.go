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

// A checkpoint is written when more than 1/N of the memories have changed since the last
// checkpoint. N is 10 while the program runs, since writing is expensive, and 100 at shutdown,
// since the next start must read all later changes.
const (
	changedRunning = 10
	changedAtEnd   = 100
)

// closeTimeout bounds how long Close writes checkpoints.
const closeTimeout = 5 * time.Second

const (
	checkpointSuffix = ".idx"
	temporarySuffix  = ".tmp"
)

func (ix *Index) checkpointPath(owner memory.Owner) string {
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(ix.opts.Dir, hex.EncodeToString(sum[:])+checkpointSuffix)
}

// isWorthSaving reports whether more than 1/divisor of the memories changed since the checkpoint.
func (ix *Index) worthSaving(sh *shard, parts int) bool {
	if ix.opts.Dir == "" {
		return false
	}
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return len(sh.docs) >= ix.least && sh.steps >= len(sh.docs)/parts
}

// saveInBackground writes a checkpoint concurrently with searches.
func (ix *Index) saveConcurrently(e *entry, sh *shard) {
	err := ix.save(ix.ctx, e, sh)
	ix.mu.Lock()
	e.saving = false
	ix.mu.Unlock()
	if err != nil && ix.ctx.Err() == nil {
		ix.opts.Report(err)
	}
}

func (ix *Index) saveAll() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	ix.mu.Lock()
	var entries []*entry
	for at := ix.recent.Front(); at != nil; at = at.Next() {
		entries = append(entries, at.Value.(*entry))
	}
	ix.mu.Unlock()
	for _, e := range entries {
		if e.shard == nil || !ix.worthSaving(e.shard, changedAtEnd) {
			continue
		}
		if err := ix.save(ctx, e, e.shard); err != nil {
			ix.opts.Report(err)
		}
	}
}

// saveCheckpoint writes a shard's checkpoint unless its owner was dropped or evicted meanwhile.
func (ix *Index) save(ctx context.Context, e *entry, sh *shard) error {
	ix.disk.Lock()
	defer ix.disk.Unlock()
	ix.mu.Lock()
	current := ix.entries[e.owner] == e && e.shard == sh
	ix.mu.Unlock()
	if !current {
		return nil
	}
	sh.mu.RLock()
	f := sh.freeze()
	sh.mu.RUnlock()
	err := ix.write(ctx, e.owner, sh.space.model, f)
	if ctx.Err() == nil { // a failed checkpoint is not retried at once
		sh.mu.Lock()
		sh.steps -= f.steps
		sh.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("write a checkpoint of %s: %w", e.owner, err)
	}
	return nil
}

// writeCheckpoint writes an owner's checkpoint atomically.
func (ix *Index) write(ctx context.Context, owner memory.Owner, model string, f *frozen) (err error) {
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
	h := ix.header(owner, model)
	h.Version = f.version
	if err := errors.Join(encode(ctx, tmp, h, f), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.SyncFolder(ix.opts.Dir)
}

// shardFromCheckpoint returns the owner's shard from its checkpoint and the store's later changes,
// or nil if there is no usable checkpoint. It removes an unusable checkpoint.
func (ix *Index) restore(owner memory.Owner) *shard {
	if ix.opts.Dir == "" {
		return nil
	}
	sh, err := ix.readCheckpoint(owner)
	if err == nil {
		err = ix.relink(sh, owner)
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

func (ix *Index) header(owner memory.Owner, model string) header {
	return header{Owner: owner, Model: model, Language: language(), Offloaded: ix.offloads(owner)}
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
	in := ix.opts.space()
	c, err := decode(ix.ctx, file, info.Size(), ix.header(owner, in.model))
	if err != nil {
		return nil, err
	}
	if in.dims != 0 && c.dims != 0 && c.dims != in.dims {
		return nil, unusablef("its vectors have %d dimensions, but the embedder's have %d", c.dims, in.dims)
	}
	return &shard{contents: *c, space: in}, nil
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
	left, _ := filepath.Glob(filepath.Join(dir, "*"+temporarySuffix)) // the pattern is valid
	for _, path := range left {
		_ = os.Remove(path) // a leftover file only wastes disk space
	}
}
