package vault

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Vaults of old kept a journal of their own, a line of JSON for each commit, and their store
// within could be deleted. What such a journal has and the store lacks is replayed once, under
// the times of then. The journal is set aside, and goes with the next erasure.
const (
	journalFile = "journal.jsonl"
	asideFile   = "journal.old-" // a time and .jsonl follow
)

// OldJournals returns the journals that were set aside, by their paths from the vault's top.
func (s *Store) OldJournals() []string {
	var names []string
	for _, pattern := range []string{asideFile + "*", "journal.damaged-*"} {
		found, _ := filepath.Glob(s.own(pattern)) // the pattern is a good one
		for _, name := range found {
			names = append(names, OwnFolder+"/"+filepath.Base(name))
		}
	}
	return names
}

// readOldJournal brings the store within up to the journal of an old vault, sets that aside, and
// reports whether there was one. A journal that is damaged, or of another history, is left at
// that: the files say what is.
func (s *Store) readOldJournal(ctx context.Context) (there bool, err error) {
	name := s.own(journalFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := s.replay(ctx, text); ctx.Err() != nil {
		return true, ctx.Err()
	} else if err != nil {
		s.opts.Log.Error("the vault's old journal cannot be read; what the database lacks is rebuilt from the files, without its history", "err", err)
	}
	for _, hashes := range []string{"buried.jsonl", "key"} { // which the store within has as well
		if err := os.Remove(s.own(hashes)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, os.Rename(name, s.own(asideFile+s.opts.Now().UTC().Format("2006-01-02T15-04-05")+".jsonl"))
}

// replay gives the store within the lines that it lacks.
func (s *Store) replay(ctx context.Context, text []byte) error {
	lines, heads, err := readOldLines(text)
	if err != nil {
		return err
	}
	for owner, version := range s.files.index.Written {
		if heads[owner] < version {
			return fmt.Errorf("it lacks what was written last of %s", owner.Called())
		}
	}
	owners := slices.Sorted(maps.Keys(heads))
	versions, err := s.Store.Versions(ctx, owners)
	if err != nil {
		return err
	}
	done := map[[2]string]bool{} // owner and job
	for _, l := range lines {
		job := l.Done
		if l.Run != nil {
			job = cmp.Or(l.Run.Job, job)
		}
		done[[2]string{string(l.Owner), job}] = job != ""
	}
	lines = slices.DeleteFunc(lines, func(l oldLine) bool {
		i, _ := slices.BinarySearch(owners, l.Owner)
		return l.Run == nil && l.Batch == nil || versions[i] >= max(1, heads[l.Owner]) || l.Version < versions[i] || l.raises() && l.Version == versions[i]
	})
	slices.SortStableFunc(lines, func(a, b oldLine) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), a.At.Compare(b.At)) })
	defer s.clock.replay.Store(nil)
	for i, l := range lines {
		l.Jobs = slices.DeleteFunc(l.Jobs, func(j memory.Job) bool { return done[[2]string{string(l.Owner), j.ID}] })
		s.clock.replay.Store(&l.At)
		receipt, err := s.repeat(ctx, l)
		if err != nil {
			return err
		}
		if !receipt.Again && (receipt.Version != l.Version || !receipt.At.Equal(l.At)) {
			return fmt.Errorf("version %d of %s at %v is %d at %v in the database", l.Version, l.Owner, l.At, receipt.Version, receipt.At)
		}
		s.opts.Progress("reading the old journal", i+1, len(lines))
	}
	return nil
}

// repeat does once more, within, what a line says.
func (s *Store) repeat(ctx context.Context, l oldLine) (memory.Receipt, error) {
	if len(l.Erased) > 0 {
		eraser, ok := s.Store.(memory.Eraser)
		if !ok {
			return memory.Receipt{}, errNotWithin
		}
		var ids []string
		for _, target := range l.Erased {
			_, id, _ := strings.Cut(target, ":")
			ids = append(ids, id)
		}
		return eraser.Erase(ctx, l.Owner, memory.Run{ID: l.Run.ID, Kind: l.Run.Kind, Author: l.Run.Author, Jobs: l.Jobs}, ids...)
	}
	var changes []memory.Change
	for _, c := range l.Changes {
		c.Change.After, c.Change.Base = c.After.image(), c.Base
		changes = append(changes, c.Change)
	}
	// The vector is a sign that there was one: no model has this name.
	var vectors []memory.Vector
	for _, id := range l.Touched {
		vectors = append(vectors, memory.Vector{Memory: id, Model: "replayed", Values: []float32{1}})
	}
	if l.Raises && len(vectors) == 0 {
		vectors = append(vectors, memory.Vector{Memory: "\x00", Model: "replayed", Values: []float32{1}}) // of what nobody has
	}
	if l.Batch == nil {
		run := memory.Run{ID: l.Run.ID, Kind: l.Run.Kind, Author: l.Run.Author, Learned: l.Run.Learned, Jobs: l.Jobs}
		run.Vectors = append(vectors, s.vectors(ctx, wordsOf(changes, nil))...)
		return s.Store.Apply(ctx, l.Owner, run, changes...)
	}
	b := memory.Batch{Conversation: l.Batch.Conversation, Run: l.Batch.Run, Marks: changes, Jobs: l.Jobs}
	for _, t := range l.Batch.Turns {
		t.Turn.Chain, t.Turn.Given = t.Chain, t.Given
		b.Turns = append(b.Turns, t.Turn)
	}
	b.Vectors = append(vectors, s.vectors(ctx, wordsOf(changes, b.Turns))...)
	return s.Store.Append(ctx, l.Owner, b)
}

// readOldLines reads the lines of a journal and the versions that it ends at. Half a line at the
// end is of a write that nobody was told of.
func readOldLines(text []byte) (lines []oldLine, heads map[memory.Owner]int64, err error) {
	heads = map[memory.Owner]int64{}
	for n := 1; ; n++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return lines, heads, nil
		}
		text = rest
		var l oldLine
		err := json.Unmarshal(one, &l)
		switch {
		case err != nil && len(rest) == 0:
			return lines, heads, nil
		case err != nil:
			return nil, nil, fmt.Errorf("line %d: %w", n, err)
		case !l.Owner.Valid():
			return nil, nil, fmt.Errorf("line %d: invalid owner %q", n, l.Owner)
		case l.raises() && l.Version > heads[l.Owner]+1:
			return nil, nil, fmt.Errorf("lines are missing before line %d", n)
		}
		heads[l.Owner] = max(heads[l.Owner], l.Version)
		lines = append(lines, l)
	}
}

// oldLine is a line of an old journal. Exactly one of Run and Batch is set, or none.
type oldLine struct {
	Owner   memory.Owner `json:"owner"`
	Version int64        `json:"version"` // the owner's, after it
	At      time.Time    `json:"at"`
	Run     *struct {
		ID      string        `json:"id"`
		Kind    string        `json:"kind"`
		Author  memory.Author `json:"author"`
		Learned []string      `json:"learned"`
		Job     string        `json:"job"` // that it completed
	} `json:"run"`
	Batch *struct {
		Conversation memory.Conversation `json:"conversation"`
		Turns        []struct {
			memory.Turn
			Chain string `json:"chain"`
			Given string `json:"given"`
		} `json:"turns"`
		Run string `json:"run"`
	} `json:"batch"`
	Changes []struct {
		memory.Change          // but for its images
		Before        struct{} `json:"before"`
		After         oldImage `json:"after"`
		Base          int64    `json:"base"`
	} `json:"changes"`
	Jobs    []memory.Job `json:"jobs"`
	Touched []string     `json:"touched"` // memories that got a vector and nothing else
	Raises  bool         `json:"raises"`  // a run without changes that raised the version
	Done    string       `json:"done"`    // a job that no run completed and that needs no doing
	Erased  []string     `json:"erased"`  // targets, of a run that erases
}

// raises reports whether the line raised its owner's version.
func (l *oldLine) raises() bool {
	return l.Batch != nil || len(l.Changes) > 0 || len(l.Erased) > 0 || l.Raises
}

// oldImage is a [memory.Image] with what its own JSON leaves out.
type oldImage struct {
	Fact *oldFact `json:"fact"`
	Link *struct {
		memory.Link
		Fact oldFact `json:"fact"`
	} `json:"link"`
	Profile      *memory.ProfileEntry     `json:"profile"`
	Relation     *memory.Relation         `json:"relation"`
	Summary      *memory.Summary          `json:"summary"`
	Turn         *memory.TurnMark         `json:"turn"`
	Context      *memory.Context          `json:"context"`
	Conversation *memory.ConversationMark `json:"conversation"`
}

type oldFact struct {
	memory.Fact
	Hash string `json:"hash"`
}

func (f *oldFact) fact() *memory.Fact {
	if f == nil {
		return nil
	}
	f.Fact.Hash = f.Hash
	return &f.Fact
}

func (i oldImage) image() memory.Image {
	out := memory.Image{
		Fact: i.Fact.fact(), Profile: i.Profile, Relation: i.Relation, Summary: i.Summary, Turn: i.Turn, Context: i.Context, Conversation: i.Conversation,
	}
	if i.Link != nil {
		i.Link.Link.Fact = *i.Link.Fact.fact()
		out.Link = &i.Link.Link
	}
	return out
}
