package vault

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// removeBeside removes what a person wrote of a memory that is erased: its conflict files, found by
// path, id or name, and the file of an unanswered edit. Those at paths are written over.
func (l *loader) removeBeside(k key, paths ...string) error {
	if l.beside == nil {
		if err := l.readBeside(); err != nil {
			return fmt.Errorf("look for conflict files: %w", err)
		}
	}
	for at, of := range l.beside {
		if of != k.target && !slices.Contains(paths, besideOf(at)) {
			continue
		}
		if err := l.f.root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(l.beside, at)
	}
	e, waits := l.f.open[k]
	if !waits || e.Kind == Deleted || slices.Contains(paths, e.Path) {
		return nil
	}
	if text, err := l.f.read(e.Path); err != nil || hashOf(text) != e.SHA {
		return nil // it went, or is another one by now: the next scan tells
	}
	return l.f.root.Remove(e.Path)
}

// readBeside finds the conflict files of an owner and their memories.
func (l *loader) readBeside() error {
	l.beside = map[string]string{}
	for _, folder := range []string{amongKept, path.Join(amongDeleted, amongKept)} {
		err := fs.WalkDir(l.f.root.FS(), path.Join(l.f.s.ownerFolder(l.owner), folder), func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case strings.Contains(d.Name(), conflictMark) && !d.IsDir():
				l.beside[name] = l.targetOf(name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// targetOf is the memory of a conflict file, by the id in its text or name.
func (l *loader) targetOf(name string) string {
	p, ok := l.f.s.placeOf(besideOf(name))
	if !ok {
		return ""
	}
	id, _ := idOfName(p.name)
	if text, err := l.f.read(name); err == nil {
		id = cmp.Or(valueIn(text, "id"), id)
	}
	return p.kind() + id
}

// besideOf is the path of the file that a conflict file was made of.
func besideOf(name string) string {
	base, _, _ := strings.Cut(path.Base(name), conflictMark)
	return path.Join(path.Dir(name), base+".md")
}
