package index

import "github.com/loci-memory/loci/memory"

// newestVersion holds the ids of the items in the newest version that an index has read. If the store
// was since restored from a backup, it has other items at that version, and a checkpoint is not used.
type newestVersion struct {
	version int64
	ids     []idKey
}

// maxCheckedIDs is the largest number of ids that are checked; a version with more items is not checked.
const maxCheckedIDs = 1000

func (w *newestVersion) addID(version int64, id string) {
	if version == 0 {
		return // items of a [Snapshot] have no version
	}
	if version > w.version {
		w.version, w.ids = version, w.ids[:0]
	}
	if len(w.ids) <= maxCheckedIDs {
		k, _ := keyOf(id)
		w.ids = append(w.ids, k)
	}
}

// resumeCheckpoint updates a shard from a checkpoint to the store's version. It returns [memory.Gone] if
// the store has other items at the shard's newest version.
func (ix *Index) resumeCheckpoint(sh *shard, owner memory.Owner) error {
	after := sh.version
	canCheck := len(sh.newest.ids) > 0 && len(sh.newest.ids) <= maxCheckedIDs && sh.newest.version > 1
	if canCheck {
		after = sh.newest.version - 1
	}
	missing := map[idKey]bool{}
	for _, k := range sh.newest.ids {
		missing[k] = true
	}
	var items batch
	hasUnexpected := false
	version, err := ix.src.Since(ix.ctx, owner, sh.vectorSpace.model, after, func(item memory.IndexItem) error {
		k, _ := keyOf(item.ID)
		expected := item.Removed || item.Version > sh.version || item.Version == sh.newest.version && missing[k]
		hasUnexpected = hasUnexpected || !expected
		delete(missing, k)
		if item.Version > sh.version {
			items = append(items, itemChange{IndexItem: item})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if canCheck && (hasUnexpected || len(missing) > 0) || version < sh.version {
		return memory.Errorf(memory.Gone, "the checkpoint and the store have different histories")
	}
	items.flush(&sh.contents)
	sh.version = version
	return nil
}
