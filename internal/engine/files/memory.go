package files

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// EditFiles calls edit with the files of an owner's memory tool, by path, and stores the changes that edit
// makes in one run. A moved file keeps its ID; a file without an ID is new. After a conflict it starts again.
func (e *Files) EditFiles(ctx context.Context, owner memory.Owner, edit func(files map[string]memory.Context) error, author memory.Author) error {
	release, err := e.ConversationLocks.Lock(ctx, owner, core.FilesRoot)
	if err != nil {
		return err
	}
	defer release()
	return core.RetryOnConflict(ctx, func() error {
		contexts, err := e.Store.Contexts(ctx, owner, memory.At{})
		if err != nil {
			return err
		}
		files, oldFiles := map[string]memory.Context{}, map[string]memory.Context{}
		for _, c := range contexts {
			if first, taken := files[c.Title]; core.IsFile(c) && (!taken || c.CreatedAt.Before(first.CreatedAt)) {
				files[c.Title] = c
			}
		}
		for _, c := range files {
			oldFiles[c.ID] = c
		}
		if err := edit(files); err != nil {
			return err
		}
		changes, err := e.fileChanges(owner, oldFiles, files)
		if err != nil || len(changes) == 0 {
			return err
		}
		_, err = e.Store.Apply(memory.ForWrite(ctx), owner, memory.Run{ID: core.NewID(), Kind: "manual", Author: author}, changes...)
		return err
	})
}

// fileChanges returns the changes that turn oldFiles, by id, into newFiles, by path.
func (e *Files) fileChanges(owner memory.Owner, oldFiles, newFiles map[string]memory.Context) ([]memory.Change, error) {
	const reason = "written by the memory tool"
	var out []memory.Change
	now := e.Time()
	for path, next := range newFiles {
		old, exists := oldFiles[next.ID]
		delete(oldFiles, next.ID)
		next.Title = path
		if exists && next == old {
			continue
		}
		if err := e.checkFile(next); err != nil {
			return nil, err
		}
		change := memory.Change{Action: memory.ActionUpdate, Base: old.Version, Reason: reason}
		if !exists {
			next.ID, next.Owner, next.Status, next.CreatedAt = core.NewID(), owner, memory.Active, now
			change.Action = memory.ActionAdd
		}
		next.UpdatedAt = now
		change.After = memory.State{Context: &next}
		out = append(out, change)
	}
	for _, gone := range oldFiles {
		base := gone.Version
		gone.Status, gone.UpdatedAt = memory.Retired, now
		out = append(out, memory.Change{Action: memory.ActionRetire, After: memory.State{Context: &gone}, Base: base, Reason: reason})
	}
	return out, nil
}

// checkFile returns an error for a path or content that a context cannot have.
func (e *Files) checkFile(c memory.Context) error {
	switch {
	case len(c.Title) > curate.MaxTitleBytes:
		return memory.Errorf(memory.TooLarge, "the path has %d bytes; the limit is %d", len(c.Title), curate.MaxTitleBytes)
	case !utf8.ValidString(c.Title) || strings.ContainsFunc(c.Title, unicode.IsControl):
		return memory.Errorf(memory.Invalid, "the path is not valid UTF-8 or has control characters")
	}
	_, err := e.CheckText("the file", c.Content)
	return err
}
