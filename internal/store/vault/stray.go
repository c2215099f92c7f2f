package vault

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// misplaced notes a Markdown file that lies in a folder of Loci's, or at the top of the
// vault, where nobody reads it.
func (s *scan) misplaced(name string, d fs.DirEntry) {
	if d.Type().IsRegular() && s.f.s.stray(name) {
		s.strays = append(s.strays, name)
	}
}

// markdownEnds are how the names of Markdown files end.
var markdownEnds = []string{".md", ".markdown", ".mdown"}

// aboutFolder are files that tell of the folder in which they lie, in many a repository.
var aboutFolder = []string{"readme", "license", "licence", "changelog", "contributing", "agents", "claude"}

// stray reports whether a path that is no place of Loci's is of a Markdown file that a
// person may believe to be read. Folders of a person's own are not looked at.
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

// tellStrays tells where strays belong. The memory whose file one is is not deleted, nor is
// that of a file which was moved and cannot be read.
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

// fileThatStrayed is the path that a file had which lies at another one now, by the id that it
// says or that its name ends in; "" if it was no memory's.
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

// belongs says where a stray is to go, so that it is read.
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
