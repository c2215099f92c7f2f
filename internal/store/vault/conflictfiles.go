package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// removeBeside removes a person's copies of an erased memory's text: its conflict files, found by
// path, id or name, and the file of an unanswered edit. Files at the given paths are overwritten.
func (l *loader) removeBeside(ctx context.Context, k key, paths ...string) error {
	if l.conflicts == nil {
		sc := &scan{f: l.f, seen: map[string]bool{}}
		if err := sc.walk(ctx); err != nil {
			return fmt.Errorf("look for conflict files: %w", err)
		}
		l.conflicts = map[string]string{}
		for _, name := range sc.report.Conflicts {
			l.conflicts[name] = l.targetOf(name)
		}
	}
	for at, of := range l.conflicts {
		if of != k.target && !slices.Contains(paths, besideOf(at)) {
			continue
		}
		if err := l.f.root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(l.conflicts, at)
	}
	e, waits := l.f.open[k]
	if !waits || e.Kind == Deleted || slices.Contains(paths, e.Path) {
		return nil
	}
	if text, err := l.f.read(e.Path); err != nil || hashOf(text) != e.SHA {
		return nil // the file was removed or replaced: the next scan reports it
	}
	return l.f.root.Remove(e.Path)
}

// targetOf returns the memory of a conflict file, by the id in its text or name.
func (l *loader) targetOf(name string) string {
	p, ok := l.f.s.placeOf(besideOf(name))
	if !ok || p.owner != l.owner {
		return ""
	}
	id, _ := idOfName(p.name)
	if text, err := l.f.read(name); err == nil {
		id = cmp.Or(valueIn(text, "id"), id)
	}
	return p.kind() + id
}

// besideOf returns the path of the file that a conflict file was renamed from.
func besideOf(name string) string {
	base, _, _ := strings.Cut(path.Base(name), conflictMark)
	return path.Join(path.Dir(name), base+".md")
}
