package vault

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// misplaced notes a Markdown file in one of Loci's folders that is not read there.
func (s *scan) misplaced(name string, d fs.DirEntry) {
	if d.Type().IsRegular() && s.f.s.stray(name) {
		s.strays = append(s.strays, name)
	}
}

// markdownEnds are the endings of Markdown files.
var markdownEnds = []string{".md", ".markdown", ".mdown"}

// aboutFolder are files that describe a folder or repository.
var aboutFolder = []string{"readme", "license", "licence", "changelog", "contributing", "agents", "claude"}

// stray reports whether a person may expect Loci to read the Markdown file at a path. Folders of
// their own do not count.
func (s *Store) stray(name string) bool {
	end := path.Ext(name)
	stem := strings.ToLower(strings.TrimSuffix(path.Base(name), end))
	if !slices.Contains(markdownEnds, strings.ToLower(end)) || strings.Contains(name, conflictMark) || slices.Contains(aboutFolder, stem) {
		return false
	}
	_, rest := s.ownerOf(strings.Split(name, "/"))
	return len(rest) == 1 || slices.Contains(ownFolders, rest[0])
}

// ownFolders are those at the top of a vault, and the first two at the top of an owner's.
var ownFolders = []string{"entries", amongDeleted, "users", "pools", "everyone", "namespaces"}

// tellStrays says where strays belong. Memories whose files strayed, or cannot be read, are not
// deleted.
func (s *scan) tellStrays(gone map[string]*record) {
	for _, name := range s.unread {
		delete(gone, s.fileThatStrayed(name, gone))
	}
	for _, name := range s.strays {
		if at := s.fileThatStrayed(name, gone); at != "" {
			s.problem(name, "Loci reads no files here: move it back to "+at)
			delete(gone, at)
			continue
		}
		s.problem(name, "Loci reads no files here"+s.f.s.belongs(name))
	}
}

// fileThatStrayed returns the earlier path of a file that was moved, by its id; "" for none.
func (s *scan) fileThatStrayed(name string, gone map[string]*record) string {
	id := ""
	if text, err := s.f.read(name); err == nil {
		id = valueIn(text, "id")
	}
	if id == "" {
		id, _ = idOfName(strings.TrimSuffix(path.Base(name), path.Ext(name)))
	}
	owner, _ := s.f.s.ownerOf(strings.Split(name, "/"))
	best := ""
	for _, at := range slices.Sorted(maps.Keys(gone)) { // several may have one id, of several owners
		r := gone[at]
		_, known, _ := strings.Cut(r.Target, ":")
		if known != id || id == "" || best != "" && (s.f.index.paths[best].Owner == owner || r.Owner != owner) {
			continue
		}
		best = at
	}
	return best
}

// belongs says where a stray has to be to be read.
func (s *Store) belongs(name string) string {
	if at := strings.TrimSuffix(name, path.Ext(name)) + ".md"; at != name {
		if _, ok := s.placeOf(at); ok {
			return ": call it " + at
		}
	}
	parts := strings.Split(name, "/")
	_, rest := s.ownerOf(parts)
	folder := path.Join(parts[:len(parts)-len(rest)]...)
	file := strings.TrimSuffix(rest[len(rest)-1], path.Ext(name)) + ".md"
	global := path.Join(folder, "entries", globalFolder, "facts", file)
	if len(rest) > 1 && rest[0] == amongDeleted {
		rest = rest[1:]
	}
	switch rest[0] {
	case "users", "pools", "everyone", "namespaces":
		return fmt.Sprintf(": facts of a user lie in users/NAME/entries/%s/facts", globalFolder)
	}
	if len(rest) < 3 || rest[0] != "entries" || rest[1] == globalFolder {
		return ": to have it learned move it to " + global
	}
	chat := rest[1]
	if _, ok := unescape(chat); !ok {
		chat = escape(chat)
	}
	return fmt.Sprintf(": to have it learned move it to %s, for that chat alone, or to %s", path.Join(folder, "entries", chat, "facts", file), global)
}
