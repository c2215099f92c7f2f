package vault

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// compareFile adds an edit for a changed file if the file has new content.
func (s *scan) compareOne(c found, gone map[string]*record) {
	k, base, ok := s.whose(c)
	if !ok {
		return
	}
	r := s.f.index.targets[k]
	c.p.owner, c.p.was = k.owner, s.f.before(k)
	if id, ok := sharedFact(k.target); ok {
		s.problem(c.path, fmt.Sprintf("this file has no effect: the file of fact %s lists its recipients under %s", id, sharedKey))
		return
	}
	if c.wordless(base) {
		s.tell(Problem{c.path, "the file has no text below its front matter; it may be half written", "write the text, or delete the file to forget the memory"})
		return
	}
	l := s.loaders[k.owner]
	got, err := l.readFile(c.p, c.text, base, r)
	if err != nil {
		s.problem(c.path, err)
		return
	}
	e := Edit{
		Kind: Edited, Owner: k.owner, Target: k.target, Path: c.path, SHA: c.sha, Was: base.FileContent, Says: got.says.FileContent,
		PutBack: got.putBack, Elsewhere: got.later, Clash: got.clash,
	}
	if base == (thing{}) {
		if home := l.factOwners[strings.TrimPrefix(k.target, factTarget)]; home != "" && got.says.Fact != nil {
			s.problem(c.path, fmt.Sprintf("its id is that of a fact which %s shares: remove the id to make the file a new memory", home.Called()))
			return
		}
		if got.says.ofChat() {
			s.unheard = append(s.unheard, c.path)
			return
		}
		e.Kind, e.Target = Added, ""
		s.report.Edits = append(s.report.Edits, e)
		return
	}
	if r != nil && r.Path != c.path {
		moved := gone[r.Path] != nil
		switch {
		case moved:
			delete(gone, r.Path)
			e.Kind, e.From = Moved, r.Path
		case !s.putBack(c, r):
			s.problem(c.path, fmt.Sprintf("%s has the same id: remove the id to make this file a new memory", r.Path))
			return
		case got.earlier && !got.putBack: // saved from an editor that had opened an earlier version
			e.Clash = cmp.Or(got.clash, ended(base))
		default:
			e.Kind, e.From = Moved, r.Path
		}
		e.Across = e.Kind == Moved && c.p.across()
	}
	if e.Clash != "" || adds(got.says, base) {
		s.report.Edits = append(s.report.Edits, e)
	} else {
		s.adopt(c, k, base, got, e)
	}
}

// isIncomplete reports whether a file has front matter but no text, although its memory has text or
// is new: editors and sync tools write the front matter first.
func (c found) wordless(stored thing) bool {
	pg := split(c.text)
	if c.p.folder == "" || !pg.has || strings.TrimSpace(pg.words()) != "" { // a chat may have no rules
		return false
	}
	return stored == (thing{}) || strings.TrimSpace(stored.words()) != ""
}

// reportUnknownChats reports the files of unknown chats as one problem, since a sync tool may bring
// many from another machine.
func (s *scan) tellUnheard() {
	if len(s.unheard) == 0 {
		return
	}
	why := "the file belongs to a chat that Loci does not know"
	if n := len(s.unheard); n > 1 {
		why += fmt.Sprintf("; so do %d more files", n-1)
	}
	s.tell(Problem{s.unheard[0], why, "write notes of your own into a facts folder; leave another machine's files: a rebuild of memory from the files reads them"})
}

// recordUnchanged records a file without new content. If the file lacks keys, it will be rewritten.
func (s *scan) adopt(c found, k key, stored thing, got reading, e Edit) {
	if e.Kind == Moved {
		s.adopted = append(s.adopted, &record{Path: e.From})
	}
	folder, _ := s.f.s.place(k.owner, stored)
	next := &record{
		Path: c.path, Owner: k.owner, Target: k.target, SHA: c.sha, text: c.text, Version: stored.version(),
		Open: stored.open(), Related: stored.relations() != nil, Size: c.info.Size(), Mtime: c.info.ModTime().UnixNano(),
	}
	// Of Loci's own keys the latest value is used, whether this or another machine wrote it.
	behind := got.behind || folder != path.Dir(c.path) && stored.Summary == nil
	if behind || c.lacks(got, stored) { // the next write adds the keys, or moves the file
		next.Due, next.There = true, true
		s.f.due(k)
	}
	s.adopted = append(s.adopted, next)
}

// isRestored reports whether a person restored the file of a forgotten memory under the same name,
// while the memory's own file is still in deleted/.
func (s *scan) putBack(c found, r *record) bool {
	p, ok := s.f.s.placeOf(r.Path)
	if !ok || !p.deleted || c.p.deleted || path.Base(c.path) != path.Base(r.Path) {
		return false
	}
	text, err := s.f.read(r.Path)
	return err == nil && r.own(hashOf(text))
}

// hasNewContent reports whether a file has content that Loci lacks, ignoring the keys in lociKeys.
func adds(says, stored thing) bool {
	theirs, ours := statementOf(says), statementOf(stored)
	for key := range theirs {
		if !theirs.same(ours, key) && !kept[key] {
			return true
		}
	}
	return says.target() != stored.target()
}

// lacksKeys reports whether a file lacks a key that Loci writes, or has an outdated value for it.
func (c found) lacks(got reading, stored thing) bool {
	d, err := readDocument(c.text)
	if err != nil {
		return false
	}
	theirs, ours := statementOf(got.says), statementOf(stored)
	for key, value := range ours {
		if kept[key] && (got.later || key == sourceKey && learnedElsewhere(theirs[key], value)) {
			continue
		}
		if _, has := d.values[key]; key != theWords && (value != "" && !has || !theirs.same(ours, key)) {
			return true
		}
	}
	return false
}

// lociKeys lists the keys that only Loci maintains.
var kept = map[string]bool{updatedKey: true, sourceKey: true, "trust": true, "model": true, "learned_at": true}

// learnedOnOtherMachine reports whether another machine learned the fact, from turns missing here.
func learnedElsewhere(says, stored string) bool {
	return says == string(memory.Extracted) && stored == string(memory.FromFile)
}
