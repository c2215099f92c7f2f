package vaultsync

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/engine/files"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// ApplyEdit applies an edit and returns the target of the changed memory.
func (v *Vault) Change(ctx context.Context, e vaultstore.Edit) (string, error) {
	if err := v.unshare(ctx, e); err != nil {
		return "", err
	}
	if e.Clash != "" {
		return "", memory.Errorf(memory.Conflict, "%s", e.Clash)
	}
	edit := v.fileEdit(e)
	if returns(e) { // the fact may have been restored already, with its turns
		now, err := v.engine.Get(ctx, e.Owner, e.Was.Fact.ID)
		if err != nil {
			return "", err
		}
		if now.Fact != nil && now.Fact.Status.Live() {
			edit.Was.Fact = now.Fact
		}
	}
	target, err := v.engine.Files.TakeFile(ctx, edit)
	if err != nil {
		return "", err
	}
	return target, v.share(ctx, e, target)
}

func (v *Vault) fileEdit(e vaultstore.Edit) files.FileEdit {
	return files.FileEdit{Owner: e.Owner, Key: e.Run(), Was: e.Was, Says: e.Says, PutBack: e.PutBack, Elsewhere: e.Elsewhere, Coming: v.coming[e.Owner], Moved: e.Across}
}

// restoresFact reports whether an edit restores a forgotten fact with unchanged text.
func returns(e vaultstore.Edit) bool {
	was, says := e.Was.Fact, e.Says.Fact
	return e.Clash == "" && was != nil && says != nil && !was.Status.Live() && says.Status.Live() && strings.TrimSpace(says.Content) == strings.TrimSpace(was.Content)
}

// restoreFacts restores the facts of restored files, and the turns that were forgotten with the
// facts, for each owner at once. If it fails, each fact's edit is applied separately later.
func (v *Vault) bringBack(ctx context.Context, edits []vaultstore.Edit) error {
	files, key := map[memory.Owner][]files.FileEdit{}, map[memory.Owner]string{}
	for _, e := range edits {
		if returns(e) {
			files[e.Owner], key[e.Owner] = append(files[e.Owner], v.fileEdit(e)), key[e.Owner]+e.Run()
		}
	}
	for owner, files := range files {
		came, err := v.engine.Files.BringBack(ctx, owner, files, key[owner])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.warn("restoring the memories of restored files failed", "of", owner.Name(), "why", err)
		}
		for _, b := range came {
			if b.Came > 0 {
				v.Log.Info("restored the memories of restored vault files", "of", owner.Name(), "memories", b.Came)
			}
			if b.Left > 0 {
				v.Log.Info("some facts and turns of restored files stay forgotten", "of", owner.Name(),
					"see", "loci history --run "+b.Run, "do", "loci undo --change "+b.Run+"/N --yes")
			}
		}
	}
	return nil
}

// forgetDeleted retires the memories of deleted files in one run for each owner. If a run fails,
// each file has its own run, so that only the failing file is refused.
func (v *Vault) forget(ctx context.Context, deleted []vaultstore.Edit) error {
	gone := map[memory.Owner][]vaultstore.Edit{}
	for _, e := range deleted {
		gone[e.Owner] = append(gone[e.Owner], e)
	}
	for owner, edits := range gone {
		var all []files.FileEdit
		for _, e := range edits {
			all = append(all, v.fileEdit(e))
		}
		together := v.engine.Files.Forget(ctx, owner, all)
		for i, e := range edits {
			err := together
			if err != nil && len(all) > 1 {
				err = v.engine.Files.Forget(ctx, owner, all[i:i+1])
			}
			if err := v.answer(ctx, e, e.Target, err); err != nil {
				return err
			}
		}
	}
	return nil
}
