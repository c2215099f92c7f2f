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
const rebuildRun = "vault-rebuild-"

// rebuildReason is the reason of the changes of a rebuild.
const wasInVault = "was in the vault"

// maxChunk limits the changes, turns or ids in one call of the wrapped store.
const maxRun = 500

// rebuild adds memories from files if the wrapped store lacks the memories, for the owners that the
// function includes selects. Files have no history, so the history starts over. All turns count as
// learned. [Store.Scan] will report files without an id and files that cannot be applied. An
// interrupted rebuild is repeated at the next start.
func (s *Store) rebuild(ctx context.Context, of func(memory.Owner) bool, all bool) error {
	x := s.files.index // no other goroutine writes yet
	if err := x.beginRebuild(of); err != nil {
		return err
	}
	byOwner, paths, err := s.readFolder(ctx, of)
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	some := false
	for owner, things := range byOwner {
		if byOwner[owner], err = s.lacking(ctx, owner, things); err != nil {
			return fmt.Errorf("read the memories of %s: %w", owner, err)
		}
		some = some || len(byOwner[owner]) > 0
	}
	if all && some {
		x.rebuild.At = s.opts.Now().UTC()
		if err := x.save(row{rebuildRow, "", x.rebuild}); err != nil {
			return err
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		if err := s.rebuildTurns(ctx, owner, byOwner[owner], paths); err != nil {
			return fmt.Errorf("import the turns of %s: %w", owner, err)
		}
		if err := s.rebuildRest(ctx, owner, byOwner[owner], paths); err != nil {
			return fmt.Errorf("import the files of %s: %w", owner, err)
		}
	}
	return s.noteRebuilt(paths)
}

// missingInStore returns the contents that the wrapped store lacks.
func (s *Store) lacking(ctx context.Context, owner memory.Owner, things []thing) ([]thing, error) {
	versions, err := s.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil || versions[0] == 0 {
		return things, err
	}
	l := s.files.loader(owner)
	var keys []key
	for _, t := range things {
		keys = append(keys, key{owner, t.target()})
	}
	if err := l.get(ctx, keys); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(things, func(t thing) bool { return l.things[t.target()] != (thing{}) }), nil
}

// recordPaths records the files' memories, so that Loci does not write a second file for a file that
// a person moved or renamed. The next scan compares the files' content.
func (s *Store) noteRebuilt(paths map[key]string) error {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	var from []*record
	for k, at := range paths {
		if _, ok := sharedFact(k.target); !ok && f.index.targets[k] == nil {
			from = append(from, &record{Path: at, Owner: k.owner, Target: k.target})
		}
	}
	return f.index.endRebuild(from)
}

// recordFolder records the memories of files without records. The next scan compares the files'
// content with the wrapped store.
func (s *Store) noteFolder(ctx context.Context) error {
	_, paths, err := s.readFolder(ctx, func(memory.Owner) bool { return true })
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	return s.noteRebuilt(paths)
}

// readFolder reads the files with an id of some owners, and returns their contents and paths. Of
// several files with the same id it uses the file with Loci's name or else with the shortest name,
// since copies get longer names; a scan reports the other files.
func (s *Store) readFolder(ctx context.Context, of func(memory.Owner) bool) (map[memory.Owner][]thing, map[key]string, error) {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	sc := &scan{f: f, seen: map[string]bool{}}
	if err := sc.walk(ctx); err != nil {
		return nil, nil, err
	}
	facts := map[memory.Owner]map[string]string{} // ids of facts by file name
	for _, c := range sc.changed {
		if facts[c.p.owner] == nil {
			facts[c.p.owner] = map[string]string{}
		}
		if c.p.folder == "facts" {
			facts[c.p.owner][c.p.name] = c.id
		}
	}
	things, paths := map[key]thing{}, map[key]string{}
	for _, c := range sc.changed {
		if c.p.owner == "" || !of(c.p.owner) {
			continue
		}
		d, err := readDocument(c.text)
		if err != nil {
			continue
		}
		says, err := c.p.read(d, thing{}, facts[c.p.owner])
		k := key{c.p.owner, says.target()}
		if _, id, _ := strings.Cut(k.target, ":"); err != nil || id == "" {
			continue
		}
		_, own := s.place(k.owner, says)
		other := strings.TrimSuffix(path.Base(paths[k]), ".md")
		if _, there := paths[k]; there && c.p.name != own && (other == own || len(other) <= len(c.p.name)) {
			continue
		}
		things[k], paths[k] = says, c.path
	}
	byOwner := map[memory.Owner][]thing{}
	for _, k := range slices.SortedFunc(maps.Keys(paths), func(a, b key) int { return strings.Compare(paths[a], paths[b]) }) {
		byOwner[k.owner] = append(byOwner[k.owner], things[k])
	}
	return byOwner, paths, nil
}

// rebuildTurns appends the conversations with their turns in order.
func (s *Store) rebuildTurns(ctx context.Context, owner memory.Owner, things []thing, paths map[key]string) error {
	conversations := map[string]memory.Conversation{}
	turns := map[string][]memory.Turn{}
	for _, t := range things {
		switch {
		case t.Conversation != nil:
			conversations[t.Conversation.ID] = *t.Conversation
		case t.Turn != nil:
			if t.open() { // facts learned from the turn are in the folder, or were deleted there
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
		add := func(some []memory.Turn) error {
			_, err := s.Append(ctx, owner, memory.Batch{Conversation: c, Turns: some})
			return err
		}
		leave := func(t memory.Turn, why error) { s.leaveFile(paths, key{owner, turnTarget + t.ID}, why) }
		if len(list) > 0 {
			if err := piecewise(list, add, leave); err != nil {
				return err
			}
			continue
		}
		if err := add(nil); refusesFile(err) {
			s.leaveFile(paths, key{owner, conversationTarget + id}, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// addInChunks adds items in chunks. If a chunk fails, it adds each item separately, and calls skip
// for items that fail.
func piecewise[T any](all []T, add func([]T) error, leave func(T, error)) error {
	for some := range slices.Chunk(all, maxRun) {
		err := add(some)
		if !refusesFile(err) {
			if err != nil {
				return err
			}
			continue
		}
		for one := range slices.Chunk(some, 1) {
			if err := add(one); refusesFile(err) {
				leave(one[0], err)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// isFileError reports whether an error concerns a single file.
func refusesFile(err error) bool {
	return errors.Is(err, memory.Duplicate) || errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge)
}

// skipFile skips a file that cannot be applied; [Store.Scan] will report the file.
func (s *Store) leaveFile(paths map[key]string, k key, why error) {
	s.opts.Log.Warn("a file of the vault cannot be imported", "file", LogPath(paths[k]), "error", why)
	delete(paths, k)
}

// rebuildRest adds facts, summaries, profile entries, contexts and relations.
func (s *Store) rebuildRest(ctx context.Context, owner memory.Owner, things []thing, paths map[key]string) error {
	var changes []memory.Change
	add := func(after memory.Image) {
		changes = append(changes, memory.Change{Action: memory.ActionAdd, After: after, Reason: wasInVault})
	}
	for _, t := range things {
		if t.Turn == nil && t.Conversation == nil {
			add(t.Image())
		}
	}
	for _, t := range things {
		if t.Shared != nil {
			changes = append(changes, t.shareChange())
		}
	}
	for _, t := range things {
		for _, r := range t.relations() {
			add(memory.Image{Relation: &r})
		}
	}
	apply := func(some []memory.Change) error {
		id := rebuildRun + hashOf(strings.Join(targetsOf(some), "\x00"))[:24]
		run := memory.Run{ID: id, Kind: "import", Author: memory.Author{Kind: memory.ByRule, Name: "vault"}, Jobs: shareJobs(owner, id, some)}
		_, err := s.Apply(ctx, owner, run, some...)
		return err
	}
	return piecewise(changes, apply, func(c memory.Change, why error) { s.leaveFile(paths, key{owner, c.After.Target()}, why) })
}
