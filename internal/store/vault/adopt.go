package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// adoptRun begins the ids of the runs that take over a folder without a journal.
const adoptRun = "vault-adopt-"

// maxRun bounds how many changes or turns go into one commit.
const maxRun = 500

// adopt makes memory of the files of a folder that has no journal. What was when is
// not known any more: only how it stands. User turns that nothing was learned from
// are queued to be learned from. Files that name no id, or that cannot be taken over,
// are left for [Store.Scan] to tell of.
func (s *Store) adopt(ctx context.Context) error {
	byOwner, paths, err := s.readFolder(ctx)
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	total, done := 0, 0
	for _, things := range byOwner {
		total += len(things)
	}
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		things := byOwner[owner]
		if err := s.adoptTurns(ctx, owner, things, paths); err != nil {
			return fmt.Errorf("take over the turns of %s: %w", owner, err)
		}
		if err := s.adoptRest(ctx, owner, things, paths); err != nil {
			return fmt.Errorf("take over the files of %s: %w", owner, err)
		}
		done += len(things)
		s.opts.Progress("taking over files", done, total)
	}
	return s.noteAdopted(paths)
}

// noteAdopted notes which memories the files are of, so that one that is to lie elsewhere, or
// that a person gave a name, is not written a second time. What a file says is still to be looked at.
func (s *Store) noteAdopted(paths map[key]string) error {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	var notes []*record
	for k, at := range paths {
		if _, ok := sharedFact(k.target); ok || f.index.targets[k] != nil {
			continue
		}
		r := &record{Path: at, Owner: k.owner, Target: k.target}
		notes = append(notes, r)
		f.index.put(r)
	}
	return f.index.note(notes...)
}

// readFolder reads all files that say what they are, and returns their paths as well.
func (s *Store) readFolder(ctx context.Context) (map[memory.Owner][]thing, map[key]string, error) {
	f := s.files
	f.disk.Lock()
	defer f.disk.Unlock()
	sc := &scan{f: f, seen: map[string]bool{}}
	if err := sc.walk(ctx); err != nil {
		return nil, nil, err
	}
	if n := len(sc.cloud); n > 0 {
		return nil, nil, memory.Errorf(memory.Unavailable, "%s: %s; let the sync tool fetch the folder first, since memory is made of what is there", sc.cloud[0], inTheCloud(n))
	}
	out := map[memory.Owner][]thing{}
	paths := map[key]string{}
	names := map[memory.Owner]map[string]string{}
	for _, c := range s.tellings(sc.changed) {
		k, t := c.key, c.says
		paths[k] = c.path
		if t.fact != nil {
			if names[k.owner] == nil {
				names[k.owner] = sc.factsByName(k.owner)
			}
			t.relations = among(t.ties(), c.text, names[k.owner])
		}
		out[k.owner] = append(out[k.owner], t)
	}
	return out, paths, nil
}

// telling is a file that says which memory it is of.
type telling struct {
	found
	key  key
	says thing
}

// tellings returns, of each memory that files say, the file that is most likely its own, in
// order of path. The others may be a sync tool's copies; a scan tells of them.
func (s *Store) tellings(files []found) []telling {
	best := map[key]telling{}
	for i, c := range files {
		says, err := c.p.parse(c.text, thing{})
		k := key{c.p.owner, says.target()}
		if _, id, _ := strings.Cut(k.target, ":"); err != nil || c.p.owner == "" || id == "" {
			continue
		}
		t := telling{c, k, says}
		if other, ok := best[k]; !ok || s.likelier(t, other) {
			best[k] = t
		}
		s.opts.Progress("reading files", i+1, len(files))
	}
	return slices.SortedFunc(maps.Values(best), func(a, b telling) int { return strings.Compare(a.path, b.path) })
}

// likelier reports whether one of two files of the same memory is likelier its own: the one
// that is called as Loci calls it, or else the one that was written later, or else the one
// with the plainer name, to which copies add something.
func (s *Store) likelier(one, other telling) bool {
	called := func(t telling) int {
		if _, name := s.place(t.key.owner, t.says); t.p.name == name || t.says.summary != nil && t.p.name == summaryName {
			return 1
		}
		return 0
	}
	return cmp.Or(
		called(one)-called(other), one.says.updatedAt().Compare(other.says.updatedAt()),
		len(other.p.name)-len(one.p.name), strings.Compare(other.path, one.path)) > 0
}

// updatedAt is when a file says that its memory was last written, zero for what has no such time.
func (t thing) updatedAt() time.Time {
	switch {
	case t.fact != nil:
		return t.fact.UpdatedAt
	case t.profile != nil:
		return t.profile.UpdatedAt
	case t.context != nil:
		return t.context.UpdatedAt
	case t.conversation != nil:
		return t.conversation.UpdatedAt
	}
	return time.Time{}
}

// adoptTurns appends conversations as they were: a batch ends where what follows
// was said at another time, so that the order of what is said stays.
func (s *Store) adoptTurns(ctx context.Context, owner memory.Owner, things []thing, paths map[key]string) error {
	conversations := map[string]memory.Conversation{}
	turns := map[string][]memory.Turn{}
	for _, t := range things {
		switch {
		case t.conversation != nil:
			conversations[t.conversation.ID] = *t.conversation
		case t.turn != nil:
			turns[t.turn.Conversation] = append(turns[t.turn.Conversation], *t.turn)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(turns)) {
		said := turns[id]
		slices.SortFunc(said, func(a, b memory.Turn) int {
			return cmp.Or(cmp.Compare(a.Index, b.Index), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		c, ok := conversations[id]
		if !ok {
			c = memory.Conversation{ID: id, Owner: owner, Project: said[0].Project, Agent: said[0].Agent}
			c.CreatedAt, c.UpdatedAt = said[0].CreatedAt, said[len(said)-1].CreatedAt
		}
		delete(conversations, id)
		for piece := range slices.Chunk(said, maxRun) {
			b := memory.Batch{Conversation: c, Turns: piece, Jobs: s.learnJobs(piece)}
			b.Vectors = s.vectors(ctx, wordsOf(nil, piece))
			if err := s.adoptBatch(ctx, owner, b, paths); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(conversations)) {
		if err := s.adoptBatch(ctx, owner, memory.Batch{Conversation: conversations[id]}, paths); err != nil {
			return err
		}
	}
	return nil
}

// adoptBatch appends a batch. If its turns cannot stand together each is tried by itself; of
// those that fail the paths are dropped.
func (s *Store) adoptBatch(ctx context.Context, owner memory.Owner, b memory.Batch, paths map[key]string) error {
	_, err := s.Append(ctx, owner, b)
	if !refusesFile(err) {
		return err
	}
	if len(b.Turns) > 1 {
		for _, t := range b.Turns {
			one := memory.Batch{Conversation: b.Conversation, Turns: []memory.Turn{t}, Jobs: s.learnJobs([]memory.Turn{t})}
			one.Vectors = s.vectors(ctx, wordsOf(nil, one.Turns))
			if err := s.adoptBatch(ctx, owner, one, paths); err != nil {
				return err
			}
		}
		return nil
	}
	target := conversationTarget + b.Conversation.ID
	if len(b.Turns) == 1 {
		target = turnTarget + b.Turns[0].ID
	}
	s.leaveFile(paths, key{owner, target}, err)
	return nil
}

// refusesFile reports whether an error is about what one file says.
func refusesFile(err error) bool {
	return errors.Is(err, memory.Duplicate) || errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge)
}

// leaveFile leaves a file that cannot be taken over for [Store.Scan] to tell of.
func (s *Store) leaveFile(paths map[key]string, k key, why error) {
	s.opts.Log.Warn("a file of the vault is not taken over", "file", LogPath(paths[k]), "error", why)
	delete(paths, k)
}

// learnJobs are the jobs that learn from turns which nothing was learned from.
func (s *Store) learnJobs(turns []memory.Turn) []memory.Job {
	var open []memory.Turn
	for _, t := range turns {
		if t.Role == memory.RoleUser && t.Status == memory.Active && t.LearnedAt.IsZero() && !t.NoLearn && t.Content != "" {
			open = append(open, t)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if s.opts.Jobs != nil {
		return s.opts.Jobs(open)
	}
	var jobs []memory.Job
	for _, t := range open {
		jobs = append(jobs, memory.Job{
			ID: "learn-" + t.ID, Owner: t.Owner, Kind: memory.JobLearn, Conversation: t.Conversation, Turns: []string{t.ID},
		})
	}
	return jobs
}

// adoptRest adds facts, summaries, profile entries, contexts and relations, many at a time. If some of
// them cannot stand together each is tried by itself; of those that fail the paths are dropped.
func (s *Store) adoptRest(ctx context.Context, owner memory.Owner, things []thing, paths map[key]string) error {
	var changes []memory.Change
	for _, t := range things {
		if i := (memory.Image{Fact: t.fact, Summary: t.summary, Profile: t.profile, Context: t.context}); !i.IsZero() {
			changes = append(changes, memory.Change{Action: memory.ActionAdd, After: i, Reason: "was in the vault"})
		}
	}
	changes, err := withShares(changes, things)
	if err != nil {
		return err
	}
	for _, t := range things {
		for _, r := range t.ties() {
			changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Relation: &r}, Reason: "was in the vault"})
		}
	}
	n := 0
	for piece := range slices.Chunk(changes, maxRun) {
		n++
		err := s.adoptRun(ctx, owner, n, piece)
		if !refusesFile(err) {
			if err != nil {
				return err
			}
			continue
		}
		for _, c := range piece {
			n++
			err := s.adoptRun(ctx, owner, n, []memory.Change{c})
			if refusesFile(err) {
				s.leaveFile(paths, key{owner, c.After.Target()}, err)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) adoptRun(ctx context.Context, owner memory.Owner, n int, changes []memory.Change) error {
	run := memory.Run{ID: fmt.Sprintf("%s%d", adoptRun, n), Kind: "import", Author: memory.Author{Kind: memory.ByRule, Name: "vault"}}
	run.Vectors, run.Jobs = s.vectors(ctx, wordsOf(changes, nil)), shareJobs(owner, run.ID, changes)
	_, err := s.Apply(ctx, owner, run, changes...)
	return err
}
