package vault

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// EditKind is a kind of edit.
type EditKind string

// The kinds of edit.
const (
	Added   EditKind = "added"   // a file that Loci did not write
	Edited  EditKind = "edited"  // changed text or front matter
	Moved   EditKind = "moved"   // another folder or name, perhaps with changed text
	Deleted EditKind = "deleted" // the file is missing
)

// Edit is a person's edit of a file. The caller applies it and answers with [Store.Accept] or
// [Store.Refuse]. Before the answer Loci does not write the file, and each scan returns the edit again.
type Edit struct {
	Kind        EditKind
	Owner       memory.Owner       // the owner of the file's folder
	Target      string             // the memory, in the form of [memory.State.Target]; "" for an added file without an id
	Path        string             // slash-separated path in the vault; the former path of a deleted file
	FormerPath  string             // former path of a moved file; "" for other edits
	MovedAcross bool               // whether the file was moved to deleted/ or back
	SHA         string             // sha256 of the file in hex; for a deleted file, of the last written text
	Stored      memory.FileContent // content of the memory in the wrapped store; zero for an added file
	Content     memory.FileContent // the file's content; zero for a deleted file

	// Restored means that the file equals an earlier version that Loci wrote: a person restored the file
	// from a bin or from git. The whole earlier version is applied.
	Restored bool

	// FromOtherMachine means that another machine's Loci wrote the file, and git or a sync tool
	// copied it. Keys that only Loci maintains are applied too, so that both machines agree.
	FromOtherMachine bool

	// Conflict is the reason to refuse the edit: Loci changed the same key meanwhile; "" for none.
	Conflict string
}

// RunID returns the id of the run that applies the edit. The id depends only on the edit and the
// memory's stored version, so that a crash before Accept does not apply the edit twice.
func (e Edit) RunID() string {
	state := fileContent{FileContent: e.Stored}.version()
	return "file-" + hashOf(string(e.Kind) + "\x00" + e.Path + "\x00" + e.FormerPath + "\x00" + e.SHA + "\x00" + strconv.FormatInt(state, 10))[:24]
}

// Accept records that an edit was applied. The next write adds missing keys to the file's front matter. For
// an added file, target is the target of the new memory. If the file was changed again, the error is
// [memory.Conflict], and the next scan returns the newer edit.
func (s *Store) Accept(ctx context.Context, e Edit, target string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	k := key{e.Owner, cmp.Or(e.Target, target)}
	if e.Kind == Deleted {
		return f.acceptDeleted(e, k)
	}
	f.removePending(e)
	defer f.releaseWaiting()
	text, err := f.read(e.Path)
	if err != nil || hashOf(text) != e.SHA {
		return changedAgainError(e)
	}
	t, err := s.currentContent(ctx, k)
	if err != nil {
		return err
	}
	old := f.records.byTarget[k]
	next := &record{
		Path: e.Path, Owner: e.Owner, Target: k.target, SHA: e.SHA, text: text, Version: t.version(),
		Size: int64(len(text)), Dirty: true, Exists: true,
	}
	notes := []*record{next}
	if old != nil && old.Path != e.Path {
		if text, err := f.read(old.Path); err == nil && old.hasHash(hashOf(text)) { // Loci wrote this file, and then a crash prevented Accept
			if err := f.root.Remove(old.Path); err != nil {
				return err
			}
		}
		notes = []*record{{Path: old.Path}, next}
	}
	f.markDirty(k)
	return f.records.update(notes...)
}

// acceptDeleted is Accept for a deleted file; the caller has locked f.disk. The record reserves the
// file's name for the next write. If the file reappears, the next scan reads it.
func (f *fileWriter) acceptDeleted(e Edit, k key) error {
	gone := !f.exists(e.Path)
	if gone {
		f.removePending(e)
		defer f.releaseWaiting()
	}
	if r := f.records.byTarget[k]; r != nil && r.Path == e.Path {
		err := f.records.update(&record{Path: e.Path, Owner: k.owner, Target: k.target, Dirty: gone})
		if err != nil {
			return err
		}
	}
	if !gone {
		return changedAgainError(e)
	}
	return nil
}

// Refuse rejects an edit: the person's file becomes a conflict file, and Loci writes its own file again.
func (s *Store) Refuse(ctx context.Context, e Edit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	f.removePending(e)
	defer f.releaseWaiting()
	k := key{e.Owner, e.Target}
	if e.Kind != Deleted {
		text, err := f.read(e.Path)
		if err != nil || hashOf(text) != e.SHA {
			return changedAgainError(e)
		}
		t, err := s.currentContent(ctx, k)
		if err != nil {
			return err
		}
		if t.isErased() { // erased meanwhile: the person's text must be removed too
			err = f.root.Remove(e.Path)
		} else {
			err = f.makeConflictFile(e.Path)
		}
		if err != nil {
			return err
		}
	}
	f.markDirty(k)
	return f.records.markDirty(f.records.byTarget[k])
}

// currentContent returns the content that a memory's file must have now.
func (s *Store) currentContent(ctx context.Context, k key) (fileContent, error) {
	l := s.files.newLoader(k.owner)
	if _, err := l.load(ctx, []key{k}); err != nil {
		return fileContent{}, fmt.Errorf("read the memories in the files of %s: %w", k.owner, err)
	}
	return l.contents[k.target], nil
}

func changedAgainError(e Edit) error {
	return memory.Errorf(memory.Conflict, "%s was changed again", e.Path)
}

// removePending removes an edit from the unanswered edits; the caller has locked f.disk.
func (f *fileWriter) removePending(e Edit) {
	delete(f.pendingEdits, pendingKey(e))
	if e.Kind == Deleted {
		delete(f.missingSince, e.Path)
	}
}

// pendingKey returns the key of an unanswered edit: its memory or, for a new memory, its path.
func pendingKey(e Edit) key {
	if e.Target == "" {
		return key{e.Owner, "\x00" + path.Clean(e.Path)}
	}
	return key{e.Owner, e.Target}
}

// mustWait reports whether a write must wait: for the answer to an edit of the file or of an added
// file with the same text, or for a missing file that may reappear.
func (f *fileWriter) mustWait(k key, t fileContent) bool {
	if _, own := f.pendingEdits[k]; own {
		return true
	}
	if r := f.records.byTarget[k]; r != nil {
		_, missed := f.missingSince[r.Path]
		return missed
	}
	kind, _, _ := strings.Cut(k.target, ":")
	for _, e := range f.pendingEdits {
		says := fileContent{FileContent: e.Content}
		if e.Kind == Added && e.Owner == k.owner && strings.HasPrefix(says.target(), kind+":") && sameText(says.text(), t.text()) {
			return true
		}
	}
	return false
}
