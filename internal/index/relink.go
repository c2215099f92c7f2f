package index

import "github.com/loci-memory/loci/memory"

// newest are the ids that came with the newest version an index has seen. A store
// that was put back to an older state and went on from there has other ones at
// that version: so a checkpoint of the lost history is told from one of the
// store's own.
type newest struct {
	version int64
	ids     []key
}

// maxNewest bounds what is kept of a version, and what has to be looked at again.
const maxNewest = 1000

func (w *newest) add(version int64, id string) {
	if version == 0 {
		return // of a snapshot, which follows nothing
	}
	if version > w.version {
		w.version, w.ids = version, w.ids[:0]
	}
	if len(w.ids) <= maxNewest {
		k, _ := keyOf(id)
		w.ids = append(w.ids, k)
	}
}

// relink lets a shard from a checkpoint follow the store, from one version before
// its newest on. It fails as [memory.Gone] if the store does not go on from there.
func (ix *Index) relink(sh *shard, owner memory.Owner) error {
	after := sh.version
	check := len(sh.newest.ids) > 0 && len(sh.newest.ids) <= maxNewest && sh.newest.version > 1
	if check {
		after = sh.newest.version - 1
	}
	missing := map[key]bool{}
	for _, k := range sh.newest.ids {
		missing[k] = true
	}
	var items batch
	strange := false
	version, err := ix.src.Since(ix.ctx, owner, sh.space.model, after, func(item memory.Item) error {
		k, _ := keyOf(item.ID)
		known := item.Removed || item.Version > sh.version || item.Version == sh.newest.version && missing[k]
		strange = strange || !known
		delete(missing, k)
		if item.Version > sh.version {
			items = append(items, step{Item: item})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if check && (strange || len(missing) > 0) || version < sh.version {
		return memory.Errorf(memory.Gone, "the checkpoint is of another history than the store")
	}
	items.flush(&sh.contents)
	sh.version = version
	return nil
}
