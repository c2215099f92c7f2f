package vaultsync

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/engine/files"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// ApplyEdit applies an edit to memory and returns the target of the changed memory.
func (v *Vault) ApplyEdit(ctx context.Context, e vaultstore.Edit) (string, error) {
	if err := v.unshare(ctx, e); err != nil {
		return "", err
	}
	if e.Conflict != "" {
		return "", memory.Errorf(memory.Conflict, "%s", e.Conflict)
	}
	edit := v.fileEditOf(e)
	if restoresFact(e) { // restoreFacts may have restored the fact and its turns already
		now, err := v.engine.Get(ctx, e.Owner, e.Stored.Fact.ID)
		if err != nil {
			return "", err
		}
		if now.Fact != nil && now.Fact.Status.Live() {
			edit.Stored.Fact = now.Fact
		}
	}
	target, err := v.engine.Files.ApplyEdit(ctx, edit)
	if err != nil {
		return "", err
	}
	return target, v.share(ctx, e, target)
}

func (v *Vault) fileEditOf(e vaultstore.Edit) files.FileEdit {
	return files.FileEdit{Owner: e.Owner, IdempotencyKey: e.RunID(), Stored: e.Stored, Content: e.Content, Restored: e.Restored, FromOtherMachine: e.FromOtherMachine, AddedFactIDs: v.addedFactIDs[e.Owner], MovedAcross: e.MovedAcross}
}

// restoresFact reports whether an edit restores a forgotten fact with unchanged text.
func restoresFact(e vaultstore.Edit) bool {
	stored, content := e.Stored.Fact, e.Content.Fact
	return e.Conflict == "" && stored != nil && content != nil && !stored.Status.Live() && content.Status.Live() && strings.TrimSpace(content.Content) == strings.TrimSpace(stored.Content)
}

// restoreFacts restores the facts of restored files, and the turns that were forgotten with the facts,
// in one call for each owner. After an error, each fact's edit is applied separately later.
func (v *Vault) restoreFacts(ctx context.Context, edits []vaultstore.Edit) error {
	files, key := map[memory.Owner][]files.FileEdit{}, map[memory.Owner]string{}
	for _, e := range edits {
		if restoresFact(e) {
			files[e.Owner], key[e.Owner] = append(files[e.Owner], v.fileEditOf(e)), key[e.Owner]+e.RunID()
		}
	}
	for owner, files := range files {
		results, err := v.engine.Files.RestoreFacts(ctx, owner, files, key[owner])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.warn("the memories of restored vault files cannot be restored together", "of", owner.Name(), "why", err)
		}
		for _, b := range results {
			if b.Restored > 0 {
				v.Log.Info("restored the memories of restored vault files", "of", owner.Name(), "memories", b.Restored)
			}
			if b.NotRestored > 0 {
				v.Log.Info("some facts and turns of restored files stay forgotten", "of", owner.Name(),
					"see", "loci history --run "+b.RunID, "do", "loci undo --change "+b.RunID+"/N --yes")
			}
		}
	}
	return nil
}

// forgetDeleted retires the memories of deleted files in one run for each owner. If a run fails,
// each file has its own run, so that only the failing file is refused.
func (v *Vault) forgetDeleted(ctx context.Context, deletions []vaultstore.Edit) error {
	byOwner := map[memory.Owner][]vaultstore.Edit{}
	for _, e := range deletions {
		byOwner[e.Owner] = append(byOwner[e.Owner], e)
	}
	for owner, edits := range byOwner {
		var fileEdits []files.FileEdit
		for _, e := range edits {
			fileEdits = append(fileEdits, v.fileEditOf(e))
		}
		runErr := v.engine.Files.Forget(ctx, owner, fileEdits)
		for i, e := range edits {
			err := runErr
			if err != nil && len(fileEdits) > 1 {
				err = v.engine.Files.Forget(ctx, owner, fileEdits[i:i+1])
			}
			if err := v.answerEdit(ctx, e, e.Target, err); err != nil {
				return err
			}
		}
	}
	return nil
}
