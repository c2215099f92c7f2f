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

// EditKind tells how a file was edited.
type EditKind string

// The kinds of edit.
const (
	Added   EditKind = "added"   // a file that Loci did not write
	Edited  EditKind = "edited"  // changed text or front matter
	Moved   EditKind = "moved"   // to another folder or name, perhaps with changed text
	Deleted EditKind = "deleted" // the file is missing
)

// Edit is a person's edit of a file. The caller applies it and answers with [Store.Accept] or
// [Store.Refuse]; until then Loci leaves the file alone. The next scan returns unanswered edits
// again.
type Edit struct {
	Kind   EditKind
	Owner  memory.Owner       // the owner of the file's folder
	Target string             // the memory, in the form of [memory.Image.Target]; "" for an added file without an id
	Path   string             // slash-separated path in the vault; the former path of a deleted file
	From   string             // former path of a moved file
	Across bool               // moved to deleted/ or back
	SHA    string             // sha256 in hex; for a deleted file that of the text last written
	Was    memory.FileContent // Loci's current memory; zero for an added file
	Says   memory.FileContent // the file's content; zero for a deleted file

	// PutBack: the file equals an earlier version by Loci, since a person restored it from a bin or
	// from git. The whole earlier version counts.
	PutBack bool

	// Elsewhere: another machine's Loci wrote the file, and git or a sync tool brought it. Keys
	// that only Loci maintains count too, so that both machines write the same.
	Elsewhere bool

	// Clash is why the edit must be refused: Loci changed the same key meanwhile; "" if it did not.
	Clash string
}

// Run returns the id of the run that applies the edit. It depends only on the edit and the state
// before, so that a crash before Accept does not apply the edit twice.
func (e Edit) Run() string {
	state := thing{FileContent: e.Was}.version()
	return "file-" + hashOf(string(e.Kind) + "\x00" + e.Path + "\x00" + e.From + "\x00" + e.SHA + "\x00" + strconv.FormatInt(state, 10))[:24]
}

// Accept records that an edit was applied, and Loci adds its keys to the file. target is the new
// memory of an added file. [memory.Conflict]: the file changed again; the next scan returns that
// edit.
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
		if text, err := f.read(old.Path); err == nil && old.own(hashOf(text)) { // written before a crash that prevented Accept
			if err := f.root.Remove(old.Path); err != nil {
				return err
			}
		}
		notes = []*record{{Path: old.Path}, next}
	}
	f.due(k)
	return f.index.note(notes...)
}

// acceptDeleted is Accept for a deleted file; the caller holds f.disk. The record keeps the file's
// name for the next write. If the file reappears, the next scan reads it.
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
		if t.erased() { // erased meanwhile: the person's text must not be kept either
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

// shown returns the current content for a memory's file.
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

// answered removes a pending edit; the caller holds f.disk.
func (f *files) answered(e Edit) {
	delete(f.open, openKey(e))
	if e.Kind == Deleted {
		delete(f.missed, e.Path)
	}
}

// openKey returns the key of a pending edit: its memory or, if it has none, its path.
func openKey(e Edit) key {
	if e.Target == "" {
		return key{e.Owner, "\x00" + path.Clean(e.Path)}
	}
	return key{e.Owner, e.Target}
}

// waits reports whether a file must wait for the answer to an edit: an edit of the file, or an
// added file with the same text. It also waits for a missing file that may reappear.
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
