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

// removeCopies removes a person's copies of an erased memory's text: conflict files, found by
// path, id or name, and the file of an unanswered edit. paths are the memory's own files, which the
// caller overwrites.
func (l *loader) removeCopies(ctx context.Context, k key, paths ...string) error {
	if l.conflicts == nil {
		sc := &scan{f: l.f, existingPaths: map[string]bool{}}
		if err := sc.walkFolder(ctx); err != nil {
			return fmt.Errorf("look for conflict files: %w", err)
		}
		l.conflicts = map[string]string{}
		for _, name := range sc.report.ConflictFiles {
			l.conflicts[name] = l.targetOf(name)
		}
	}
	for at, target := range l.conflicts {
		if target != k.target && !slices.Contains(paths, originalPath(at)) {
			continue
		}
		if err := l.f.root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(l.conflicts, at)
	}
	e, waits := l.f.pendingEdits[k]
	if !waits || e.Kind == Deleted || slices.Contains(paths, e.Path) {
		return nil
	}
	if text, err := l.f.read(e.Path); err != nil || hashOf(text) != e.SHA {
		return nil // the file was removed or replaced: the next scan reports it
	}
	return l.f.root.Remove(e.Path)
}

// targetOf returns the target of a conflict file, from the id in its text or name; "" if the file is in
// another owner's folder.
func (l *loader) targetOf(name string) string {
	p, ok := l.f.s.parsePath(originalPath(name))
	if !ok || p.owner != l.owner {
		return ""
	}
	id, _ := idInName(p.name)
	if text, err := l.f.read(name); err == nil {
		id = cmp.Or(frontValue(text, "id"), id)
	}
	return p.targetPrefix() + id
}

// originalPath returns the path of the file that was renamed to a conflict file.
func originalPath(name string) string {
	base, _, _ := strings.Cut(path.Base(name), conflictMark)
	return path.Join(path.Dir(name), base+".md")
}
