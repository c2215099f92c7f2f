package shelf

import (
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Apply makes a run's changes: see [memory.Facts]. After an error some changes may have been made.
func (s *Shelf) Apply(owner memory.Owner, run memory.Run, changes []memory.Change, now time.Time) (memory.Receipt, error) {
	if first, ok := s.Runs[run.ID]; ok {
		first.Again = true
		return first.Receipt, nil
	}
	if err := run.Check(owner, changes...); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		job, err := s.LeasedJob(*run.Lease, now)
		if err != nil {
			return memory.Receipt{}, err
		}
		s.Finish(job, memory.Outcome{Done: true}, now)
	}
	if err := run.Overtaken(s.Version); err != nil {
		return memory.Receipt{}, err
	}
	at := s.tick(now)
	if len(changes)+len(run.Vectors) > 0 {
		s.Version++
	}
	if err := s.change(owner, run.ID, run.Author, changes); err != nil {
		return memory.Receipt{}, err
	}
	for _, id := range run.Learned {
		if t, ok := s.Turns[id]; ok && t.LearnedAt.IsZero() {
			t.LearnedAt = at
			s.Turns[id] = t
		}
	}
	s.embed(run.Vectors)
	s.queue(run.Jobs)
	receipt := memory.Receipt{Run: run.ID, Version: s.Version, At: at, Changes: len(changes)}
	s.Runs[run.ID] = Run{receipt, run.Kind, run.Author}
	return receipt, nil
}

// applyChanges makes changes and journals them, under the current version and time.
func (s *Shelf) change(owner memory.Owner, run string, author memory.Author, changes []memory.Change) error {
	for i, c := range changes {
		before := s.present(c.After.Target())
		if err := s.checkChange(c, before); err != nil {
			return fmt.Errorf("change %d of run %s: %s %s: %w", i+1, run, c.Action, c.After.Target(), err)
		}
		c.After = Stamp(c.After, s.Version)
		s.put(c.After)
		if !before.IsZero() && TextOf(before) != TextOf(c.After) {
			s.forgetVectors(c.After)
		}
		if c.Author == (memory.Author{}) {
			c.Author = author
		}
		c.ID, c.Owner, c.Run = fmt.Sprintf("%s/%d", run, i+1), owner, run
		c.Version, c.At, c.Before = s.Version, s.At, before
		s.Journal = append(s.Journal, c)
	}
	return nil
}

// currentState returns the current state of a target, or the zero State.
func (s *Shelf) present(target string) memory.Image {
	if image, ok := s.Things[target]; ok {
		return image
	}
	kind, id, _ := strings.Cut(target, ":")
	switch kind {
	case "turn":
		if t, ok := s.Turns[id]; ok {
			return turnImage(t)
		}
	case "conversation":
		if c, ok := s.Conversations[id]; ok {
			mark := c.Mark()
			return memory.Image{Conversation: &mark}
		}
	}
	return memory.Image{}
}

func turnImage(t memory.Turn) memory.Image {
	return memory.Image{Turn: &memory.TurnMark{ID: t.ID, Status: t.Status}}
}

func (s *Shelf) put(image memory.Image) {
	switch {
	case image.Turn != nil:
		t := s.Turns[image.Turn.ID]
		if t.Status = image.Turn.Status; t.Status == memory.Retired {
			s.bury(t)
		}
		t.Version = s.Version
		s.Turns[t.ID] = t
	case image.Conversation != nil:
		mark := *image.Conversation
		c := s.Conversations[mark.ID]
		c.Title, c.Contexts, c.Rules, c.Status, c.Version = mark.Title, mark.Contexts, mark.Rules, mark.Status, s.Version
		s.Conversations[c.ID] = c
	default:
		s.Things[image.Target()] = image
	}
}

// checkChange returns an error if a change conflicts with the current state, or adds a duplicate fact.
func (s *Shelf) checkChange(c memory.Change, before memory.Image) error {
	if err := CheckConflict(c, before, s.versionOf(before)); err != nil {
		return err
	}
	if f := c.After.Fact; f != nil && f.Status.Live() {
		return s.judgeDuplicate(*f)
	}
	return nil
}

// CheckConflict returns a Conflict if the target changed after c was planned. current is the
// target's state, zero if it does not exist, with its version.
func CheckConflict(c memory.Change, before memory.Image, version int64) error {
	there := !before.IsZero()
	switch {
	case c.Action == memory.ActionAdd && there:
		return memory.Errorf(memory.Conflict, "the target exists already")
	case c.Action == memory.ActionLink && before.Status() == memory.Active:
		return memory.Errorf(memory.Conflict, "the fact is linked already")
	case c.Action != memory.ActionAdd && c.Action != memory.ActionLink && !there:
		return memory.Errorf(memory.Conflict, "the target does not exist")
	case c.Base != 0 && c.Base != version:
		return memory.Errorf(memory.Conflict, "the change was planned for version %d, but the target is at version %d", c.Base, version)
	case (c.Action == memory.ActionReplace || c.Action == memory.ActionReinforce) && before.Fact != nil && !before.Status().Live():
		return memory.Errorf(memory.Conflict, "the fact is %s", before.Status())
	}
	return nil
}

func (s *Shelf) judgeDuplicate(f memory.Fact) error {
	for _, image := range s.Things {
		g := image.Fact
		if g != nil && g.ID != f.ID && g.Status.Live() && g.Scope == f.Scope && g.Hash == f.Hash {
			return memory.Errorf(memory.Duplicate, "fact %s says the same", g.ID)
		}
	}
	return nil
}

func (s *Shelf) versionOf(image memory.Image) int64 {
	switch {
	case image.Turn != nil:
		return s.Turns[image.Turn.ID].Version
	case image.Conversation != nil:
		return s.Conversations[image.Conversation.ID].Version
	}
	return VersionOf(image)
}

// VersionOf returns the version in a state, or 0 for a turn or conversation.
func VersionOf(image memory.Image) int64 {
	if at := versionIn(image); at != nil {
		return *at
	}
	return 0
}

// versionField returns a pointer to the version in a state, or nil for a turn or conversation.
func versionIn(image memory.Image) *int64 {
	switch {
	case image.Fact != nil:
		return &image.Fact.Version
	case image.Link != nil:
		return &image.Link.Version
	case image.Profile != nil:
		return &image.Profile.Version
	case image.Relation != nil:
		return &image.Relation.Version
	case image.Summary != nil:
		return &image.Summary.Version
	case image.Context != nil:
		return &image.Context.Version
	}
	return nil
}

// WithVersion returns a copy of a state with a version, and with its times rounded to microseconds.
func Stamp(image memory.Image, version int64) memory.Image {
	image = copyImage(image)
	if at := versionIn(image); at != nil {
		*at = version
	}
	return image
}

// TextOf returns the text in a state, or "" for a turn or relation, whose state has none.
func TextOf(image memory.Image) string {
	switch {
	case image.Fact != nil:
		return image.Fact.Content
	case image.Link != nil:
		return image.Link.Fact.Content
	case image.Summary != nil:
		return image.Summary.Text
	case image.Context != nil:
		return image.Context.Title + image.Context.Content
	case image.Conversation != nil:
		return image.Conversation.Title + image.Conversation.Rules
	case image.Profile != nil:
		return image.Profile.Value
	}
	return ""
}

// MemoryID returns the id of the fact or summary in a state, or "" for a state of another kind.
func MemoryID(image memory.Image) string {
	switch {
	case image.Fact != nil:
		return image.Fact.ID
	case image.Link != nil:
		return image.Link.Fact.ID
	case image.Summary != nil:
		return image.Summary.ID
	}
	return ""
}

func (s *Shelf) forgetVectors(image memory.Image) {
	for key := range s.Vectors {
		if key.Memory == MemoryID(image) {
			delete(s.Vectors, key)
		}
	}
}

// putVectors stores vectors of existing memories, and raises their versions, so that Since returns
// these memories again.
func (s *Shelf) embed(vectors []memory.Vector) {
	for _, v := range vectors {
		if !s.touch(v.Memory) {
			continue
		}
		s.Vectors[VectorKey{v.Memory, v.Model}] = append([]float32(nil), v.Values...)
	}
}

// raiseVersion sets a memory's version to the owner's, and reports whether the memory exists.
func (s *Shelf) touch(id string) bool {
	if t, ok := s.Turns[id]; ok {
		t.Version = s.Version
		s.Turns[id] = t
		return true
	}
	for target, image := range s.Things {
		if MemoryID(image) == id {
			s.Things[target] = Stamp(image, s.Version)
			return true
		}
	}
	return false
}
