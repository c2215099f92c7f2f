package vaultsync

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/files"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// Change makes the changes of an edit and returns the target of the memory, and the edit
// with what could not be shared.
func (v *Vault) Change(ctx context.Context, e vaultstore.Edit) (string, vaultstore.Edit, error) {
	if err := v.unshare(ctx, e); err != nil {
		return "", e, err
	}
	if e.Clash != "" {
		return "", e, memory.Errorf(memory.Conflict, "%s", e.Clash)
	}
	edit := v.fileEdit(e)
	if returns(e) { // by now it may be back, with what was said
		now, err := v.engine.Get(ctx, e.Owner, e.Was.Fact.ID)
		if err != nil {
			return "", e, err
		}
		if now.Fact != nil && now.Fact.Status.Live() {
			edit.Was.Fact = now.Fact
		}
	}
	target, err := v.engine.Files.TakeFile(ctx, edit)
	if err != nil {
		return "", e, err
	}
	e, err = v.share(ctx, e, target)
	return target, e, err
}

func (v *Vault) fileEdit(e vaultstore.Edit) files.FileEdit {
	return files.FileEdit{Owner: e.Owner, Key: e.Run(), Was: e.Was, Says: e.Says, PutBack: e.PutBack, Elsewhere: e.Elsewhere, Coming: v.coming[e.Owner], Moved: e.Across}
}

// stillGone leaves out the deletions of files that are there by now, so that nothing is
// forgotten whose file was away for a moment.
func (v *Vault) stillGone(ctx context.Context, edits []vaultstore.Edit) ([]vaultstore.Edit, error) {
	isDeleted := func(e vaultstore.Edit) bool { return e.Kind == vaultstore.Deleted }
	if !slices.ContainsFunc(edits, isDeleted) {
		return edits, nil
	}
	var deleted, rest []vaultstore.Edit
	for _, e := range edits {
		if isDeleted(e) {
			deleted = append(deleted, e)
		} else {
			rest = append(rest, e)
		}
	}
	still, err := v.Store.Gone(ctx, deleted)
	return append(still, rest...), err
}

// returns reports whether an edit is of a forgotten fact whose file is back with the same words.
func returns(e vaultstore.Edit) bool {
	was, says := e.Was.Fact, e.Says.Fact
	return e.Clash == "" && was != nil && says != nil && !was.Status.Live() && says.Status.Live() && strings.TrimSpace(says.Content) == strings.TrimSpace(was.Content)
}

// bringBack takes back, for each owner of whom files are back, what their deletion forgot: the
// facts and what was said. Where that cannot be, each fact is restored by itself.
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
			v.warn("what was forgotten with files that are back does not come with them", "of", owner.Name(), "why", err)
		}
		for _, b := range came {
			if b.Came > 0 {
				v.Log.Info("files of the vault are back, and what their deletion forgot", "of", owner.Name(), "memories", b.Came)
			}
			if b.Left > 0 {
				v.Log.Info("what was said stays forgotten of some files that are back", "of", owner.Name(),
					"see", "loci history --run "+b.Run, "do", "loci undo --change "+b.Run+"/N --yes")
			}
		}
	}
	return nil
}

// forget forgets, for each owner of whom several files are gone, what they were of: facts,
// turns and summaries in one run, entries of the profile and contexts in another, so that
// each is one undo. It returns of whom it did; the others' files are taken one by one, which
// tells what is wrong with which.
func (v *Vault) forget(ctx context.Context, edits []vaultstore.Edit) (map[memory.Owner]bool, error) {
	gone := map[memory.Owner][]vaultstore.Edit{}
	for _, e := range edits {
		if e.Kind == vaultstore.Deleted {
			gone[e.Owner] = append(gone[e.Owner], e)
		}
	}
	together := map[memory.Owner]bool{}
	for owner, edits := range gone {
		if len(edits) < 2 {
			continue
		}
		err := v.forgetAll(ctx, owner, edits)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		together[owner] = err == nil
	}
	return together, nil
}

// deletedTogether is why, in the journal.
const deletedTogether = "its file was deleted, with others"

func (v *Vault) forgetAll(ctx context.Context, owner memory.Owner, edits []vaultstore.Edit) error {
	var ids []string
	var entries []memory.Change
	now := v.engine.Now()
	retire := func(after memory.Image) {
		entries = append(entries, memory.Change{Action: memory.ActionRetire, After: after, Reason: deletedTogether, Author: ByFile})
	}
	for _, e := range edits {
		switch was := e.Was; {
		case was.Fact != nil && was.Fact.Status.Live():
			ids = append(ids, was.Fact.ID)
		case was.Turn != nil && was.Turn.Status == memory.Active:
			ids = append(ids, was.Turn.ID)
		case was.Summary != nil && was.Summary.Status == memory.Active:
			ids = append(ids, was.Summary.ID)
		case was.Profile != nil && was.Profile.Status == memory.Active:
			after := *was.Profile
			after.Status, after.UpdatedAt = memory.Retired, now
			retire(memory.Image{Profile: &after})
		case was.Context != nil && was.Context.Status == memory.Active:
			after := *was.Context
			after.Status, after.UpdatedAt = memory.Retired, now
			retire(memory.Image{Context: &after})
		}
	}
	if len(ids) > 0 {
		if _, err := v.engine.Curate.Forget(ctx, owner, ids, deletedTogether, ByFile); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	run := memory.Run{ID: edits[0].Run() + "-together", Kind: "manual", Author: ByFile}
	_, err := v.engine.Store.Apply(ctx, owner, run, entries...)
	return err
}
