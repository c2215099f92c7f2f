package vault

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// compareFile adds an edit for a changed file if the file has new content. It removes the former path
// of a moved file from missing.
func (s *scan) compareFile(c changedFile, missing map[string]*record) {
	k, stored, ok := s.storedContent(c)
	if !ok {
		return
	}
	r := s.f.records.byTarget[k]
	c.parsedPath.owner, c.parsedPath.lastFolder = k.owner, s.f.lastFolder(k)
	if id, ok := factOfShareEntry(k.target); ok {
		s.addError(c.path, fmt.Sprintf("this file has no effect: the file of fact %s lists its recipients under %s", id, recipientsKey))
		return
	}
	if c.isIncomplete(stored) {
		s.addProblem(Problem{c.path, "the file has no text below its front matter; it may be half written", "write the text, or delete the file to forget the memory"})
		return
	}
	l := s.loaders[k.owner]
	merged, err := l.readFile(c.parsedPath, c.text, stored, r)
	if err != nil {
		s.addError(c.path, err)
		return
	}
	e := Edit{
		Kind: Edited, Owner: k.owner, Target: k.target, Path: c.path, SHA: c.sha, Stored: stored.FileContent, Content: merged.content.FileContent,
		Restored: merged.restored, FromOtherMachine: merged.fromOtherMachine, Conflict: merged.conflict,
	}
	if stored == (fileContent{}) {
		if home := l.sharedFactOwners[strings.TrimPrefix(k.target, factTarget)]; home != "" && merged.content.Fact != nil {
			s.addError(c.path, fmt.Sprintf("the file has the id of a fact which %s shares: remove the id to make the file a new memory", home.DisplayName()))
			return
		}
		if merged.content.isFromChat() {
			s.unknownChats = append(s.unknownChats, c.path)
			return
		}
		e.Kind, e.Target = Added, ""
		s.report.Edits = append(s.report.Edits, e)
		return
	}
	if r != nil && r.Path != c.path {
		moved := missing[r.Path] != nil
		switch {
		case moved:
			delete(missing, r.Path)
			e.Kind, e.FormerPath = Moved, r.Path
		case !s.isRestored(c, r):
			s.addError(c.path, fmt.Sprintf("%s has the same id: remove the id to make this file a new memory", r.Path))
			return
		case merged.fromEarlier && !merged.restored: // the person edited an earlier version of the file
			e.Conflict = cmp.Or(merged.conflict, inactiveReason(stored))
		default:
			e.Kind, e.FormerPath = Moved, r.Path
		}
		e.MovedAcross = e.Kind == Moved && c.parsedPath.movedAcross()
	}
	if e.Conflict != "" || hasNewContent(merged.content, stored) {
		s.report.Edits = append(s.report.Edits, e)
	} else {
		s.recordUnchanged(c, k, stored, merged, e)
	}
}

// isIncomplete reports whether a file has front matter but no text, although its memory has text or
// is new: editors and sync tools write the front matter first.
func (c changedFile) isIncomplete(stored fileContent) bool {
	pg := splitFile(c.text)
	if c.parsedPath.folder == "" || !pg.hasFront || strings.TrimSpace(pg.text()) != "" { // a chat's file, whose text is the rules, may have no text
		return false
	}
	return stored == (fileContent{}) || strings.TrimSpace(stored.text()) != ""
}

// reportUnknownChats reports the files of unknown chats as one problem, since a sync tool may bring
// many from another machine.
func (s *scan) reportUnknownChats() {
	if len(s.unknownChats) == 0 {
		return
	}
	reason := "the file belongs to a chat that Loci does not know"
	if n := len(s.unknownChats); n > 1 {
		reason += fmt.Sprintf("; so do %d more files", n-1)
	}
	s.addProblem(Problem{s.unknownChats[0], reason, "write facts of your own into a facts folder; keep files from another machine, since a rebuild of memory from the files reads them"})
}

// recordUnchanged updates the record of a file without new content. A file that lacks keys is marked as dirty.
func (s *scan) recordUnchanged(c changedFile, k key, stored fileContent, merged mergedFile, e Edit) {
	if e.Kind == Moved {
		s.unchangedRecords = append(s.unchangedRecords, &record{Path: e.FormerPath})
	}
	folder, _ := s.f.s.folderAndName(k.owner, stored)
	next := &record{
		Path: c.path, Owner: k.owner, Target: k.target, SHA: c.sha, text: c.text, Version: stored.version(),
		Unlearned: stored.isUnlearned(), HasRelations: stored.relations() != nil, Size: c.fileInfo.Size(), Mtime: c.fileInfo.ModTime().UnixNano(),
	}
	// For a key that only Loci maintains, the latest value counts, whichever machine wrote the value.
	outdated := merged.outdated || folder != path.Dir(c.path) && stored.Summary == nil
	if outdated || c.lacksKeys(merged, stored) { // the next write adds the keys, or moves the file
		next.Dirty, next.Exists = true, true
		s.f.markDirty(k)
	}
	s.unchangedRecords = append(s.unchangedRecords, next)
}

// isRestored reports whether c is a copy in entries/, under the same name, of a forgotten memory's file,
// which is still in deleted/ as r records it.
func (s *scan) isRestored(c changedFile, r *record) bool {
	p, ok := s.f.s.parsePath(r.Path)
	if !ok || !p.deleted || c.parsedPath.deleted || path.Base(c.path) != path.Base(r.Path) {
		return false
	}
	text, err := s.f.read(r.Path)
	return err == nil && r.hasHash(hashOf(text))
}

// hasNewContent reports whether a file has content that Loci lacks, ignoring the keys in lociKeys.
func hasNewContent(content, stored fileContent) bool {
	theirs, ours := keyValuesOf(content), keyValuesOf(stored)
	for key := range theirs {
		if !theirs.equal(ours, key) && !lociKeys[key] {
			return true
		}
	}
	return content.target() != stored.target()
}

// lacksKeys reports whether a file lacks a key that Loci writes, or has an outdated value for it.
func (c changedFile) lacksKeys(merged mergedFile, stored fileContent) bool {
	d, err := readDocument(c.text)
	if err != nil {
		return false
	}
	theirs, ours := keyValuesOf(merged.content), keyValuesOf(stored)
	for key, value := range ours {
		if lociKeys[key] && (merged.fromOtherMachine || key == sourceKey && learnedOnOtherMachine(theirs[key], value)) {
			continue
		}
		if _, has := d.values[key]; key != textKey && (value != "" && !has || !theirs.equal(ours, key)) {
			return true
		}
	}
	return false
}

// lociKeys lists the keys that only Loci maintains.
var lociKeys = map[string]bool{updatedKey: true, sourceKey: true, "trust": true, "model": true, "learned_at": true}

// learnedOnOtherMachine reports whether another machine learned the fact, from turns missing here.
func learnedOnOtherMachine(fileSource, storedSource string) bool {
	return fileSource == string(memory.Extracted) && storedSource == string(memory.FromFile)
}
