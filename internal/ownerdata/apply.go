package ownerdata

import (
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Apply makes a run's changes: see [memory.Facts]. After an error the data may be half changed.
func (s *Data) Apply(owner memory.Owner, run memory.Run, changes []memory.Change, now time.Time) (memory.Receipt, error) {
	if earlier, ok := s.Runs[run.ID]; ok {
		earlier.Again = true
		return earlier.Receipt, nil
	}
	if err := run.Check(owner, changes...); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		job, err := s.LeasedJob(*run.Lease, now)
		if err != nil {
			return memory.Receipt{}, err
		}
		s.FinishAttempt(job, memory.Outcome{Done: true}, now)
	}
	if err := run.CheckBase(s.Version); err != nil {
		return memory.Receipt{}, err
	}
	at := s.nextTime(now)
	if len(changes)+len(run.Vectors) > 0 {
		s.Version++
	}
	if err := s.applyChanges(owner, run.ID, run.Author, changes); err != nil {
		return memory.Receipt{}, err
	}
	for _, id := range run.Learned {
		if t, ok := s.Turns[id]; ok && t.LearnedAt.IsZero() {
			t.LearnedAt = at
			s.Turns[id] = t
		}
	}
	s.putVectors(run.Vectors)
	s.enqueueJobs(run.Jobs)
	receipt := memory.Receipt{Run: run.ID, Version: s.Version, At: at, Changes: len(changes)}
	s.Runs[run.ID] = RunRecord{receipt, run.Kind, run.Author}
	return receipt, nil
}

// applyChanges applies the changes of a run and adds them to the journal, with s.Version and s.LastWrite.
func (s *Data) applyChanges(owner memory.Owner, runID string, author memory.Author, changes []memory.Change) error {
	for i, c := range changes {
		before := s.currentState(c.After.Target())
		if err := s.checkChange(c, before); err != nil {
			return fmt.Errorf("change %d of run %s: %s %s: %w", i+1, runID, c.Action, c.After.Target(), err)
		}
		c.After = WithVersion(c.After, s.Version)
		s.putState(c.After)
		if !before.IsZero() && TextOf(before) != TextOf(c.After) {
			s.deleteVectors(c.After)
		}
		if c.Author == (memory.Author{}) {
			c.Author = author
		}
		c.ID, c.Owner, c.Run = fmt.Sprintf("%s/%d", runID, i+1), owner, runID
		c.Version, c.At, c.Before = s.Version, s.LastWrite, before
		s.Journal = append(s.Journal, c)
	}
	return nil
}

// currentState returns the current state of a target, or the zero State.
func (s *Data) currentState(target string) memory.State {
	if state, ok := s.States[target]; ok {
		return state
	}
	kind, id, _ := strings.Cut(target, ":")
	switch kind {
	case "turn":
		if t, ok := s.Turns[id]; ok {
			return turnState(t)
		}
	case "conversation":
		if c, ok := s.Conversations[id]; ok {
			mark := c.State()
			return memory.State{Conversation: &mark}
		}
	}
	return memory.State{}
}

func turnState(t memory.Turn) memory.State {
	return memory.State{Turn: &memory.TurnState{ID: t.ID, Status: t.Status}}
}

func (s *Data) putState(state memory.State) {
	switch {
	case state.Turn != nil:
		t := s.Turns[state.Turn.ID]
		if t.Status = state.Turn.Status; t.Status == memory.Retired {
			s.addTombstone(t)
		}
		t.Version = s.Version
		s.Turns[t.ID] = t
	case state.Conversation != nil:
		mark := *state.Conversation
		c := s.Conversations[mark.ID]
		c.Title, c.Contexts, c.Rules, c.Status, c.Version = mark.Title, mark.Contexts, mark.Rules, mark.Status, s.Version
		s.Conversations[c.ID] = c
	default:
		s.States[state.Target()] = state
	}
}

// checkChange returns an error if a change conflicts with the current state, or adds a duplicate fact.
func (s *Data) checkChange(c memory.Change, current memory.State) error {
	if err := CheckConflict(c, current, s.versionOf(current)); err != nil {
		return err
	}
	if f := c.After.Fact; f != nil && f.Status.Live() {
		return s.checkDuplicate(*f)
	}
	return nil
}

// CheckConflict returns a Conflict if the target changed after c was planned. current is the target's
// current state (zero if the target does not exist), and currentVersion is its version.
func CheckConflict(c memory.Change, current memory.State, currentVersion int64) error {
	exists := !current.IsZero()
	switch {
	case c.Action == memory.ActionAdd && exists:
		return memory.Errorf(memory.Conflict, "the target exists already")
	case c.Action == memory.ActionLink && current.Status() == memory.Active:
		return memory.Errorf(memory.Conflict, "the fact is linked already")
	case c.Action != memory.ActionAdd && c.Action != memory.ActionLink && !exists:
		return memory.Errorf(memory.Conflict, "the target does not exist")
	case c.Base != 0 && c.Base != currentVersion:
		return memory.Errorf(memory.Conflict, "the change was planned for version %d, but the target is at version %d", c.Base, currentVersion)
	case (c.Action == memory.ActionReplace || c.Action == memory.ActionReinforce) && current.Fact != nil && !current.Status().Live():
		return memory.Errorf(memory.Conflict, "the fact is %s", current.Status())
	}
	return nil
}

func (s *Data) checkDuplicate(f memory.Fact) error {
	for _, state := range s.States {
		g := state.Fact
		if g != nil && g.ID != f.ID && g.Status.Live() && g.Scope == f.Scope && g.Hash == f.Hash {
			return memory.Errorf(memory.Duplicate, "fact %s has the same text", g.ID)
		}
	}
	return nil
}

func (s *Data) versionOf(state memory.State) int64 {
	switch {
	case state.Turn != nil:
		return s.Turns[state.Turn.ID].Version
	case state.Conversation != nil:
		return s.Conversations[state.Conversation.ID].Version
	}
	return VersionOf(state)
}

// VersionOf returns the version in a state, or 0 for a turn or conversation.
func VersionOf(state memory.State) int64 {
	if version := versionField(state); version != nil {
		return *version
	}
	return 0
}

// versionField returns a pointer to the version in a state, or nil for a turn or conversation.
func versionField(state memory.State) *int64 {
	switch {
	case state.Fact != nil:
		return &state.Fact.Version
	case state.Link != nil:
		return &state.Link.Version
	case state.Profile != nil:
		return &state.Profile.Version
	case state.Relation != nil:
		return &state.Relation.Version
	case state.Summary != nil:
		return &state.Summary.Version
	case state.Context != nil:
		return &state.Context.Version
	}
	return nil
}

// WithVersion returns a copy of a state with a version, and with its times rounded to microseconds.
func WithVersion(state memory.State, version int64) memory.State {
	state = copyState(state)
	if field := versionField(state); field != nil {
		*field = version
	}
	return state
}

// TextOf returns the text in a state, "" for a turn or relation, whose states have no text.
func TextOf(state memory.State) string {
	switch {
	case state.Fact != nil:
		return state.Fact.Content
	case state.Link != nil:
		return state.Link.Fact.Content
	case state.Summary != nil:
		return state.Summary.Text
	case state.Context != nil:
		return state.Context.Title + state.Context.Content
	case state.Conversation != nil:
		return state.Conversation.Title + state.Conversation.Rules
	case state.Profile != nil:
		return state.Profile.Value
	}
	return ""
}

// MemoryID returns the id of the fact or summary in a state, or "" for a state of another kind.
func MemoryID(state memory.State) string {
	switch {
	case state.Fact != nil:
		return state.Fact.ID
	case state.Link != nil:
		return state.Link.Fact.ID
	case state.Summary != nil:
		return state.Summary.ID
	}
	return ""
}

func (s *Data) deleteVectors(state memory.State) {
	for key := range s.Vectors {
		if key.Memory == MemoryID(state) {
			delete(s.Vectors, key)
		}
	}
}

// putVectors stores vectors of existing memories. It raises the memories' versions, so that Since returns
// the memories again.
func (s *Data) putVectors(vectors []memory.Vector) {
	for _, v := range vectors {
		if !s.raiseVersion(v.Memory) {
			continue
		}
		s.Vectors[VectorKey{v.Memory, v.Model}] = append([]float32(nil), v.Values...)
	}
}

// raiseVersion sets a memory's version to s.Version, and reports whether the memory exists.
func (s *Data) raiseVersion(id string) bool {
	if t, ok := s.Turns[id]; ok {
		t.Version = s.Version
		s.Turns[id] = t
		return true
	}
	for target, state := range s.States {
		if MemoryID(state) == id {
			s.States[target] = WithVersion(state, s.Version)
			return true
		}
	}
	return false
}
