package ownerdata

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Erase removes text permanently: see [memory.Eraser]. After an error the data is unchanged.
func (s *Data) Erase(owner memory.Owner, run memory.Run, ids []string, now time.Time) (memory.Receipt, error) {
	if earlier, ok := s.Runs[run.ID]; ok {
		earlier.Again = true
		return earlier.Receipt, nil
	}
	if err := run.Check(owner); err != nil {
		return memory.Receipt{}, err
	}
	states := s.erasableStates(ids)
	at := s.nextTime(now)
	s.Journal = slices.Clone(s.Journal)
	if len(states) > 0 {
		s.Version++
		s.OldestVersion, s.ErasedAt, s.Traces = s.Version, at, map[string]memory.Trace{}
		for id, j := range s.Jobs {
			j.Error = ""
			s.Jobs[id] = j
		}
	}
	erased := map[string]bool{} // ids and targets of the erased states
	for i, before := range states {
		after := s.eraseState(before, run.ID)
		erased[before.Target()] = true
		_, id, _ := strings.Cut(before.Target(), ":")
		erased[id] = true
		s.deleteVectors(after)
		s.Journal = append(s.Journal, memory.Change{
			Action: memory.ActionErase, After: after, Author: run.Author, Owner: owner, Run: run.ID,
			ID: fmt.Sprintf("%s/%d", run.ID, i+1), Version: s.Version, At: at, Before: before.Erased(run.ID),
		})
	}
	for i, c := range s.Journal {
		if erased[c.After.Target()] || erased[c.OldID] || erased[c.NewID] || len(states) > 0 && c.Author.Kind == memory.ByModel {
			c.Reason = ""
		}
		if erased[c.After.Target()] {
			c.Before, c.After = c.Before.Erased(run.ID), c.After.Erased(run.ID)
		}
		s.Journal[i] = c
	}
	s.enqueueJobs(run.Jobs)
	receipt := memory.Receipt{Run: run.ID, Version: s.Version, At: at, Changes: len(states)}
	s.Runs[run.ID] = RunRecord{receipt, run.Kind, run.Author}
	return receipt, nil
}

// erasableStates returns the states with one of the ids that have text or are not retired.
func (s *Data) erasableStates(ids []string) []memory.State {
	var out []memory.State
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		for _, target := range []string{"fact:" + id, "link:" + id, "turn:" + id, "summary:" + id, "context:" + id, "conversation:" + id, "profile:" + id} {
			state := s.currentState(target)
			if state.IsZero() || state.Target() != target {
				continue
			}
			content := TextOf(state)
			switch {
			case state.Turn != nil:
				content = s.Turns[id].Content
			case state.Conversation != nil:
				c := s.Conversations[id]
				content += c.Project + c.Agent
			}
			if content != "" || state.Status() != memory.Retired {
				out = append(out, state)
			}
		}
	}
	return out
}

// eraseState erases the text of the target whose state is before, and returns the state that remains.
func (s *Data) eraseState(before memory.State, runID string) memory.State {
	after := ErasedState(before, runID, s.LastWrite)
	switch {
	case after.Conversation != nil:
		c := s.Conversations[after.Conversation.ID]
		c.Project, c.Agent = "", ""
		s.Conversations[c.ID] = c
	case after.Profile != nil:
		delete(s.States, before.Target())
	case after.Turn != nil:
		t := s.Turns[after.Turn.ID]
		s.eraseTitles(t)
		s.addTombstone(t)
		s.Turns[t.ID] = t.Erased()
		for key := range s.Vectors {
			if key.Memory == t.ID {
				delete(s.Vectors, key)
			}
		}
	}
	after = WithVersion(after, s.Version)
	s.putState(after)
	return after
}

// ErasedState returns the state that remains after a run erases the text in the state before.
func ErasedState(before memory.State, runID string, at time.Time) memory.State {
	after := copyState(before.Erased(runID))
	switch {
	case after.Fact != nil:
		after.Fact.Status, after.Fact.UpdatedAt = memory.Retired, at
	case after.Link != nil:
		after.Link.Status = memory.Retired
	case after.Summary != nil:
		after.Summary.Status = memory.Retired
	case after.Context != nil:
		after.Context.Status, after.Context.UpdatedAt = memory.Retired, at
	case after.Conversation != nil:
		after.Conversation.Status = memory.Retired
	case after.Profile != nil:
		after.Profile.Status, after.Profile.UpdatedAt = memory.Retired, at
	case after.Turn != nil:
		after.Turn.Status = memory.Retired
	}
	return after
}

// eraseTitles removes the current and past titles of a turn's conversation that occur in the turn's text.
func (s *Data) eraseTitles(t memory.Turn) {
	content := strings.Join(strings.Fields(t.Content), " ")
	c, ok := s.Conversations[t.Conversation]
	if ok && strings.Contains(content, c.Title) {
		c.Title = ""
		s.Conversations[c.ID] = c
	}
	for i, change := range s.Journal {
		if change.After.Conversation != nil {
			s.Journal[i].Before, s.Journal[i].After = withoutTitle(change.Before, c.ID, content), withoutTitle(change.After, c.ID, content)
		}
	}
}

// withoutTitle returns a conversation's state without its title, if the title occurs in turnText.
func withoutTitle(state memory.State, conversationID, turnText string) memory.State {
	if state.Conversation == nil || state.Conversation.ID != conversationID || !strings.Contains(turnText, state.Conversation.Title) {
		return state
	}
	mark := *state.Conversation
	mark.Title = ""
	return memory.State{Conversation: &mark}
}
