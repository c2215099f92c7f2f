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

// EditKind is what a person did to a file.
type EditKind string

// The kinds of edit.
const (
	Added   EditKind = "added"   // a file that Loci did not write
	Edited  EditKind = "edited"  // other words or front matter
	Moved   EditKind = "moved"   // to another folder or name; its words may be others too
	Deleted EditKind = "deleted" // it is gone
)

// Edit is what a person did to a file. The caller applies it and answers with [Store.Accept] or
// [Store.Refuse]; until then Loci leaves the file alone. Unanswered edits come with the next scan.
type Edit struct {
	Kind   EditKind
	Owner  memory.Owner       // whose folder it is in
	Target string             // the memory's, as [memory.Image.Target] writes it; of an added file without an id ""
	Path   string             // from the vault's top, with slashes; of a deleted file where it was
	From   string             // where a moved file was
	Across bool               // it was moved from what holds to what is deleted, or back
	SHA    string             // sha256 of the file, in hex; of a deleted file as Loci wrote it
	Was    memory.FileContent // what Loci knows of the memory now; zero for an added one
	Says   memory.FileContent // what the file says; zero for a deleted one

	// PutBack: the file is what Loci wrote there earlier, byte for byte, and counts as that state:
	// a person took it out of a bin, or out of git.
	PutBack bool

	// Elsewhere: another machine's Loci wrote the file, and git or a sync tool brought it. What Loci
	// keeps count of is as it says, too: so both write the same.
	Elsewhere bool

	// Clash says why the edit is to be refused: Loci changed the same meanwhile. "" if it did not.
	Clash string
}

// Run is an id for the run that applies the edit. It is the same for the same edit of the same
// state, so that a crash before Accept applies nothing twice.
func (e Edit) Run() string {
	state := thing{FileContent: e.Was}.version()
	return "file-" + hashOf(string(e.Kind) + "\x00" + e.Path + "\x00" + e.From + "\x00" + e.SHA + "\x00" + strconv.FormatInt(state, 10))[:24]
}

// Accept records that an edit was applied. Its file is written again with what Loci adds. target
// is the memory of an added file. [memory.Conflict]: the file changed again; the next scan says how.
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
		if text, err := f.read(old.Path); err == nil && old.own(hashOf(text)) { // written before a crash, for want of this answer
			if err := f.root.Remove(old.Path); err != nil {
				return err
			}
		}
		notes = []*record{{Path: old.Path}, next}
	}
	f.due(k)
	return f.index.note(notes...)
}

// acceptDeleted is Accept of a deleted file; f.disk is held. The record keeps its name for where Loci
// writes it next. If the file is back, the next scan reads it.
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

// Refuse rejects an edit: the person's file is kept as a conflict file, and Loci writes its own again.
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
		if t.erased() { // maybe since the edit was given out: its words are to be nowhere
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

// shown is what the file of a memory is to show now.
func (s *Store) shown(ctx context.Context, k key) (thing, error) {
	l := s.files.loader(k.owner)
	if _, err := l.load(ctx, []key{k}); err != nil {
		return thing{}, fmt.Errorf("read what the files of %s show: %w", k.owner, err)
	}
	return l.things[k.target], nil
}

func changedAgain(e Edit) error {
	return memory.Errorf(memory.Conflict, "%s was changed again", e.Path)
}

// answered ends the wait for an edit; f.disk is held.
func (f *files) answered(e Edit) {
	delete(f.open, openKey(e))
	if e.Kind == Deleted {
		delete(f.missed, e.Path)
	}
}

// openKey is the key of a pending edit: its memory or, without one, its path.
func openKey(e Edit) key {
	if e.Target == "" {
		return key{e.Owner, "\x00" + path.Clean(e.Path)}
	}
	return key{e.Owner, e.Target}
}

// waits reports whether a file waits for the answer to an edit: its own, or that of an added file
// with the same words. A missing file that may come back waits, too.
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
