package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci/memory"
)

// ErasureSource is a [memory.IndexSource] whose memories other processes can erase. It calls onErase
// with the owner after each erasure by another process, and with "" when it may have missed an erasure.
type ErasureSource interface {
	OnErase(onErase func(memory.Owner))
}

// watchErasures starts to drop owners after erasures by other processes. It also checks for erasures
// since the checkpoints were written.
func (ix *Index) watchErasures() {
	src, ok := ix.src.(ErasureSource)
	if !ok {
		return
	}
	src.OnErase(ix.dropErased)
	ix.background.Go(func() { ix.dropErased("") })
}

// dropErased drops an owner after an erasure. For "" it drops each owner of whom the store has erased
// memories after the version in [Index.followedVersions].
func (ix *Index) dropErased(owner memory.Owner) {
	if owner != "" {
		if err := ix.Drop(owner); err != nil {
			ix.opts.Report(fmt.Errorf("remove the checkpoint of %s: %w", owner, err))
		}
		return
	}
	for owner, version := range ix.followedVersions() {
		if ix.ctx.Err() != nil {
			return
		}
		goesOn := errors.New("the history continues")
		_, err := ix.src.Since(ix.ctx, owner, ix.opts.vectorSpace().model, version, func(memory.IndexItem) error { return goesOn })
		switch {
		case errors.Is(err, memory.Gone):
			ix.dropErased(owner)
		case err != nil && !errors.Is(err, goesOn) && ix.ctx.Err() == nil:
			ix.opts.Report(fmt.Errorf("check %s for erasures: %w", owner, err))
		}
	}
}

// followedVersions returns the versions of all checkpoints and of shards large enough for a checkpoint, by
// owner; the older version if an owner has both.
func (ix *Index) followedVersions() map[memory.Owner]int64 {
	versions := map[memory.Owner]int64{}
	ix.mu.Lock()
	resident := map[memory.Owner]*shard{}
	for owner, e := range ix.entries {
		if e.shard != nil {
			resident[owner] = e.shard
		}
	}
	ix.mu.Unlock()
	for owner, sh := range resident {
		sh.mu.RLock()
		if len(sh.docs) >= ix.checkpointMinimum {
			versions[owner] = sh.version
		}
		sh.mu.RUnlock()
	}
	if ix.opts.Dir == "" {
		return versions
	}
	paths, _ := filepath.Glob(filepath.Join(ix.opts.Dir, "*"+checkpointSuffix)) // the only possible error is an invalid pattern
	for _, path := range paths {
		h, err := readCheckpointHeader(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				ix.opts.Report(fmt.Errorf("read the checkpoint %s: %w", filepath.Base(path), errors.Join(err, os.Remove(path))))
			}
			continue
		}
		if version, ok := versions[h.Owner]; !ok || h.Version < version {
			versions[h.Owner] = h.Version
		}
	}
	return versions
}

func readCheckpointHeader(path string) (checkpointHeader, error) {
	file, err := os.Open(path)
	if err != nil {
		return checkpointHeader{}, err
	}
	defer func() { _ = file.Close() }() // closing a file that was only read cannot lose data
	info, err := file.Stat()
	if err != nil {
		return checkpointHeader{}, err
	}
	d := newDecoder(context.Background(), file, info.Size())
	return d.readHeader(), d.err
}
