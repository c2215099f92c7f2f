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
// [Store.Refuse]. Before the answer Loci does not write the file, and each scan returns the edit
// again.
type Edit struct {
	Kind   EditKind
	Owner  memory.Owner       // the owner of the file's folder
	Target string             // the memory, in the form of [memory.Image.Target]; "" for an added file without an id
	Path   string             // slash-separated path in the vault; the former path of a deleted file
	From   string             // former path of a moved file; "" for other edits
	Across bool               // whether the file was moved to deleted/ or back
	SHA    string             // sha256 of the file in hex; for a deleted file, of the last written text
	Was    memory.FileContent // Loci's current memory; zero for an added file
	Says   memory.FileContent // the file's content; zero for a deleted file

	// Restored means that the file equals an earlier version by Loci: a person restored it from a
	// bin or from git. The whole earlier version is applied.
	PutBack bool

	// FromOtherMachine means that another machine's Loci wrote the file, and git or a sync tool
	// copied it. Keys that only Loci maintains are applied too, so that both machines agree.
	Elsewhere bool

	// Conflict is the reason to refuse the edit: Loci changed the same key meanwhile; "" for none.
	Clash string
}

// RunID returns the id of the run that applies the edit. It depends only on the edit and the
// previous state, so that a crash before Accept does not apply the edit twice.
func (e Edit) Run() string {
	state := thing{FileContent: e.Was}.version()
	return "file-" + hashOf(string(e.Kind) + "\x00" + e.Path + "\x00" + e.From + "\x00" + e.SHA + "\x00" + strconv.FormatInt(state, 10))[:24]
}

// Accept records that an edit was applied, and lets Loci add its keys to the file. target is the new
// memory of an added file. The error is [memory.Conflict] if the file was changed again; the next
// scan returns the newer edit.
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
	f.answered(e)
	defer f.release()
	text, err := f.read(e.Path)
	if err != nil || hashOf(text) != e.SHA {
		return changedAgain(e)
	}
	t, err := s.shown(ctx, k)
	if err != nil {
		return err
	}
	old := f.index.targets[k]
	next := &record{
		Path: e.Path, Owner: e.Owner, Target: k.target, SHA: e.SHA, text: text, Version: t.version(),
		Size: int64(len(text)), Due: true, There: true,
	}
	notes := []*record{next}
	if old != nil && old.Path != e.Path {
		if text, err := f.read(old.Path); err == nil && old.own(hashOf(text)) { // written by Loci before a crash prevented Accept
			if err := f.root.Remove(old.Path); err != nil {
				return err
			}
		}
		notes = []*record{{Path: old.Path}, next}
	}
	f.due(k)
	return f.index.note(notes...)
}

// acceptDeleted is Accept for a deleted file; the caller has locked f.disk. The record reserves the
// file's name for the next write. If the file reappears, the next scan reads it.
func (f *files) acceptDeleted(e Edit, k key) error {
	gone := !f.there(e.Path)
	if gone {
		f.answered(e)
		defer f.release()
	}
	if r := f.index.targets[k]; r != nil && r.Path == e.Path {
		err := f.index.note(&record{Path: e.Path, Owner: k.owner, Target: k.target, Due: gone})
		if err != nil {
			return err
		}
	}
	if !gone {
		return changedAgain(e)
	}
	return nil
}

// Refuse rejects an edit: the person's file becomes a conflict file, and Loci writes its own file
// again.
func (s *Store) Refuse(ctx context.Context, e Edit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	f.answered(e)
	defer f.release()
	k := key{e.Owner, e.Target}
	if e.Kind != Deleted {
		text, err := f.read(e.Path)
		if err != nil || hashOf(text) != e.SHA {
			return changedAgain(e)
		}
		t, err := s.shown(ctx, k)
		if err != nil {
			return err
		}
		if t.erased() { // erased meanwhile: the person's text must be removed too
			err = f.root.Remove(e.Path)
		} else {
			err = f.aside(e.Path)
		}
		if err != nil {
			return err
		}
	}
	f.due(k)
	return f.index.noteDue(f.index.targets[k])
}

// currentContent returns the current content for a memory's file.
func (s *Store) shown(ctx context.Context, k key) (thing, error) {
	l := s.files.loader(k.owner)
	if _, err := l.load(ctx, []key{k}); err != nil {
		return thing{}, fmt.Errorf("read the memories in the files of %s: %w", k.owner, err)
	}
	return l.things[k.target], nil
}

func changedAgain(e Edit) error {
	return memory.Errorf(memory.Conflict, "%s was changed again", e.Path)
}

// removePending removes an edit from the unanswered edits; the caller has locked f.disk.
func (f *files) answered(e Edit) {
	delete(f.open, openKey(e))
	if e.Kind == Deleted {
		delete(f.missed, e.Path)
	}
}

// pendingKey returns the key of an unanswered edit: its memory or, for a new memory, its path.
func openKey(e Edit) key {
	if e.Target == "" {
		return key{e.Owner, "\x00" + path.Clean(e.Path)}
	}
	return key{e.Owner, e.Target}
}

// mustWait reports whether a write must wait: for the answer to an edit of the file or of an added
// file with the same text, or for a missing file that may reappear.
func (f *files) waits(k key, t thing) bool {
	if _, own := f.open[k]; own {
		return true
	}
	if r := f.index.targets[k]; r != nil {
		_, missed := f.missed[r.Path]
		return missed
	}
	kind, _, _ := strings.Cut(k.target, ":")
	for _, e := range f.open {
		says := thing{FileContent: e.Says}
		if e.Kind == Added && e.Owner == k.owner && strings.HasPrefix(says.target(), kind+":") && sameWords(says.words(), t.words()) {
			return true
		}
	}
	return false
}
