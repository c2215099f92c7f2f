package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// rebuildRunPrefix is the prefix of the ids of runs that rebuild memory from files.
const rebuildRunPrefix = "vault-rebuild-"

// rebuildReason is the reason of the changes of a rebuild.
const rebuildReason = "was in the vault"

// maxChunk limits the changes, turns or ids in one call of the wrapped store.
const maxChunk = 500

// rebuild reads the files of the owners for which includes returns true, and adds the memories that the wrapped
// store lacks. isFull means all owners. Files have no history, so the history starts over. Loci does not learn
// from the turns again. [Store.Scan] will report files without an id and files that cannot be applied. An
// interrupted rebuild is repeated at the next start.
func (s *Store) rebuild(ctx context.Context, includes func(memory.Owner) bool, isFull bool) error {
	x := s.files.records // needs no lock: no other goroutine runs yet
	if err := x.beginRebuild(includes); err != nil {
		return err
	}
	byOwner, paths, err := s.readFolder(ctx, includes)
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	hasContents := false
	for owner, things := range byOwner {
		if byOwner[owner], err = s.missingInStore(ctx, owner, things); err != nil {
			return fmt.Errorf("read the memories of %s: %w", owner, err)
		}
		hasContents = hasContents || len(byOwner[owner]) > 0
	}
	if isFull && hasContents {
		x.rebuild.At = s.opts.Now().UTC()
		if err := x.saveRows(row{rebuildRow, "", x.rebuild}); err != nil {
			return err
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		if err := s.rebuildTurns(ctx, owner, byOwner[owner], paths); err != nil {
			return fmt.Errorf("import the turns of %s: %w", owner, err)
		}
		if err := s.rebuildOtherMemories(ctx, owner, byOwner[owner], paths); err != nil {
			return fmt.Errorf("import the files of %s: %w", owner, err)
		}
	}
	return s.recordPaths(paths)
}

// missingInStore returns the contents that the wrapped store lacks.
func (s *Store) missingInStore(ctx context.Context, owner memory.Owner, contents []fileContent) ([]fileContent, error) {
	versions, err := s.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil || versions[0] == 0 {
		return contents, err
	}
	l := s.files.newLoader(owner)
	var keys []key
	for _, t := range contents {
		keys = append(keys, key{owner, t.target()})
	}
	if err := l.fetchContents(ctx, keys); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(contents, func(t fileContent) bool { return l.contents[t.target()] != (fileContent{}) }), nil
}

// recordPaths records which memory each file contains, so that Loci does not write a second file for a
// memory whose file a person moved or renamed. The next scan compares the files' content.
func (s *Store) recordPaths(paths map[key]string) error {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	var from []*record
	for k, at := range paths {
		if _, ok := factOfShareEntry(k.target); !ok && f.records.byTarget[k] == nil {
			from = append(from, &record{Path: at, Owner: k.owner, Target: k.target})
		}
	}
	return f.records.endRebuild(from)
}

// recordFolder records which memory each file in the folder contains. The next scan compares the
// files' content with the wrapped store.
func (s *Store) recordFolder(ctx context.Context) error {
	_, paths, err := s.readFolder(ctx, func(memory.Owner) bool { return true })
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	return s.recordPaths(paths)
}

// readFolder returns the contents and paths of the files with an id, of owners for which includes returns
// true. Of several files with one id it uses the file with Loci's name or else with the shortest name, since
// copies get longer names; a scan reports the other files.
func (s *Store) readFolder(ctx context.Context, includes func(memory.Owner) bool) (map[memory.Owner][]fileContent, map[key]string, error) {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	sc := &scan{f: f, existingPaths: map[string]bool{}}
	if err := sc.walkFolder(ctx); err != nil {
		return nil, nil, err
	}
	facts := map[memory.Owner]map[string]string{} // ids of facts by file name
	for _, c := range sc.changedFiles {
		if facts[c.parsedPath.owner] == nil {
			facts[c.parsedPath.owner] = map[string]string{}
		}
		if c.parsedPath.folder == "facts" {
			facts[c.parsedPath.owner][c.parsedPath.name] = c.id
		}
	}
	contents, paths := map[key]fileContent{}, map[key]string{}
	for _, c := range sc.changedFiles {
		if c.parsedPath.owner == "" || !includes(c.parsedPath.owner) {
			continue
		}
		d, err := readDocument(c.text)
		if err != nil {
			continue
		}
		says, err := c.parsedPath.interpret(d, fileContent{}, facts[c.parsedPath.owner])
		k := key{c.parsedPath.owner, says.target()}
		if _, id, _ := strings.Cut(k.target, ":"); err != nil || id == "" {
			continue
		}
		_, own := s.folderAndName(k.owner, says)
		other := strings.TrimSuffix(path.Base(paths[k]), ".md")
		if _, there := paths[k]; there && c.parsedPath.name != own && (other == own || len(other) <= len(c.parsedPath.name)) {
			continue
		}
		contents[k], paths[k] = says, c.path
	}
	byOwner := map[memory.Owner][]fileContent{}
	for _, k := range slices.SortedFunc(maps.Keys(paths), func(a, b key) int { return strings.Compare(paths[a], paths[b]) }) {
		byOwner[k.owner] = append(byOwner[k.owner], contents[k])
	}
	return byOwner, paths, nil
}

// rebuildTurns adds the conversations to the wrapped store, with their turns in order.
func (s *Store) rebuildTurns(ctx context.Context, owner memory.Owner, contents []fileContent, paths map[key]string) error {
	conversations := map[string]memory.Conversation{}
	turns := map[string][]memory.Turn{}
	for _, t := range contents {
		switch {
		case t.Conversation != nil:
			conversations[t.Conversation.ID] = *t.Conversation
		case t.Turn != nil:
			if t.isUnlearned() { // do not learn again: the turn's facts are in the folder, or were deleted there
				t.Turn.LearnedAt = memory.Time(s.opts.Now())
			}
			turns[t.Turn.Conversation] = append(turns[t.Turn.Conversation], *t.Turn)
		}
	}
	for id, list := range turns {
		if _, ok := conversations[id]; !ok {
			conversations[id] = memory.Conversation{ID: id, Owner: owner, Project: list[0].Project, Agent: list[0].Agent}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(conversations)) {
		c, list := conversations[id], turns[id]
		slices.SortFunc(list, func(a, b memory.Turn) int {
			return cmp.Or(cmp.Compare(a.Index, b.Index), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		if c.CreatedAt.IsZero() && len(list) > 0 {
			c.CreatedAt, c.UpdatedAt = list[0].CreatedAt, list[len(list)-1].CreatedAt
		}
		add := func(chunk []memory.Turn) error {
			_, err := s.Append(ctx, owner, memory.Batch{Conversation: c, Turns: chunk})
			return err
		}
		skip := func(t memory.Turn, cause error) { s.skipFile(paths, key{owner, turnTarget + t.ID}, cause) }
		if len(list) > 0 {
			if err := addInChunks(list, add, skip); err != nil {
				return err
			}
			continue
		}
		if err := add(nil); isFileError(err) {
			s.skipFile(paths, key{owner, conversationTarget + id}, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// addInChunks adds items in chunks. If a chunk fails, it adds each item separately, and calls skip
// for items that fail.
func addInChunks[T any](items []T, add func([]T) error, skip func(T, error)) error {
	for chunk := range slices.Chunk(items, maxChunk) {
		err := add(chunk)
		if !isFileError(err) {
			if err != nil {
				return err
			}
			continue
		}
		for one := range slices.Chunk(chunk, 1) {
			if err := add(one); isFileError(err) {
				skip(one[0], err)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// isFileError reports whether an error concerns a single file.
func isFileError(err error) bool {
	return errors.Is(err, memory.Duplicate) || errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge)
}

// skipFile skips a file that cannot be applied; [Store.Scan] will report the file.
func (s *Store) skipFile(paths map[key]string, k key, cause error) {
	s.opts.Log.Warn("a file of the vault cannot be imported", "file", LogPath(paths[k]), "error", cause)
	delete(paths, k)
}

// rebuildOtherMemories adds facts, summaries, profile entries, contexts and relations to the wrapped store.
func (s *Store) rebuildOtherMemories(ctx context.Context, owner memory.Owner, contents []fileContent, paths map[key]string) error {
	var changes []memory.Change
	add := func(after memory.State) {
		changes = append(changes, memory.Change{Action: memory.ActionAdd, After: after, Reason: rebuildReason})
	}
	for _, t := range contents {
		if t.Turn == nil && t.Conversation == nil {
			add(t.State())
		}
	}
	for _, t := range contents {
		if t.Shared != nil {
			changes = append(changes, t.shareChange())
		}
	}
	for _, t := range contents {
		for _, r := range t.relations() {
			add(memory.State{Relation: &r})
		}
	}
	apply := func(chunk []memory.Change) error {
		id := rebuildRunPrefix + hashOf(strings.Join(targetsOf(chunk), "\x00"))[:24]
		run := memory.Run{ID: id, Kind: "import", Author: memory.Author{Kind: memory.ByRule, Name: "vault"}, Jobs: shareJobs(owner, id, chunk)}
		_, err := s.Apply(ctx, owner, run, chunk...)
		return err
	}
	return addInChunks(changes, apply, func(c memory.Change, cause error) { s.skipFile(paths, key{owner, c.After.Target()}, cause) })
}
