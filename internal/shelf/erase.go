package shelf

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Erase removes text permanently: see [memory.Eraser]. After an error the data is unchanged.
func (s *Shelf) Erase(owner memory.Owner, run memory.Run, ids []string, now time.Time) (memory.Receipt, error) {
	if first, ok := s.Runs[run.ID]; ok {
		first.Again = true
		return first.Receipt, nil
	}
	if err := run.Check(owner); err != nil {
		return memory.Receipt{}, err
	}
	things := s.toErase(ids)
	at := s.tick(now)
	s.Journal = slices.Clone(s.Journal)
	if len(things) > 0 {
		s.Version++
		s.Horizon, s.Erased, s.Traces = s.Version, at, map[string]memory.Trace{}
		for id, j := range s.Jobs {
			j.Error = ""
			s.Jobs[id] = j
		}
	}
	gone := map[string]bool{} // contains ids and targets
	for i, before := range things {
		after := s.blank(before, run.ID)
		gone[before.Target()] = true
		_, id, _ := strings.Cut(before.Target(), ":")
		gone[id] = true
		s.forgetVectors(after)
		s.Journal = append(s.Journal, memory.Change{
			Action: memory.ActionErase, After: after, Author: run.Author, Owner: owner, Run: run.ID,
			ID: fmt.Sprintf("%s/%d", run.ID, i+1), Version: s.Version, At: at, Before: before.Erased(run.ID),
		})
	}
	for i, c := range s.Journal {
		if gone[c.After.Target()] || gone[c.OldID] || gone[c.NewID] || len(things) > 0 && c.Author.Kind == memory.ByModel {
			c.Reason = ""
		}
		if gone[c.After.Target()] {
			c.Before, c.After = c.Before.Erased(run.ID), c.After.Erased(run.ID)
		}
		s.Journal[i] = c
	}
	s.queue(run.Jobs)
	receipt := memory.Receipt{Run: run.ID, Version: s.Version, At: at, Changes: len(things)}
	s.Runs[run.ID] = Run{receipt, run.Kind, run.Author}
	return receipt, nil
}

// erasableStates returns the states with these ids that have text or are not retired.
func (s *Shelf) toErase(ids []string) []memory.Image {
	var out []memory.Image
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		for _, target := range []string{"fact:" + id, "link:" + id, "turn:" + id, "summary:" + id, "context:" + id, "conversation:" + id, "profile:" + id} {
			image := s.present(target)
			if image.IsZero() || image.Target() != target {
				continue
			}
			content := TextOf(image)
			switch {
			case image.Turn != nil:
				content = s.Turns[id].Content
			case image.Conversation != nil:
				c := s.Conversations[id]
				content += c.Project + c.Agent
			}
			if content != "" || image.Status() != memory.Retired {
				out = append(out, image)
			}
		}
	}
	return out
}

// eraseState erases the text of a state's target, and returns the remaining state.
func (s *Shelf) blank(before memory.Image, run string) memory.Image {
	after := Blank(before, run, s.At)
	switch {
	case after.Conversation != nil:
		c := s.Conversations[after.Conversation.ID]
		c.Project, c.Agent = "", ""
		s.Conversations[c.ID] = c
	case after.Profile != nil:
		delete(s.Things, before.Target())
	case after.Turn != nil:
		t := s.Turns[after.Turn.ID]
		s.untitle(t)
		s.bury(t)
		s.Turns[t.ID] = t.Erased()
		for key := range s.Vectors {
			if key.Memory == t.ID {
				delete(s.Vectors, key)
			}
		}
	}
	after = Stamp(after, s.Version)
	s.put(after)
	return after
}

// ErasedState returns the state that remains after a run erases the text of before.
func Blank(before memory.Image, run string, at time.Time) memory.Image {
	after := copyImage(before.Erased(run))
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

// eraseTitles removes the current and past titles of the turn's conversation that occur in its text.
func (s *Shelf) untitle(t memory.Turn) {
	content := strings.Join(strings.Fields(t.Content), " ")
	c, ok := s.Conversations[t.Conversation]
	if ok && strings.Contains(content, c.Title) {
		c.Title = ""
		s.Conversations[c.ID] = c
	}
	for i, change := range s.Journal {
		if change.After.Conversation != nil {
			s.Journal[i].Before, s.Journal[i].After = untitled(change.Before, c.ID, content), untitled(change.After, c.ID, content)
		}
	}
}

// withoutTitle returns a conversation's state without its title, if the title occurs in turnText.
func untitled(i memory.Image, conversation, content string) memory.Image {
	if i.Conversation == nil || i.Conversation.ID != conversation || !strings.Contains(content, i.Conversation.Title) {
		return i
	}
	mark := *i.Conversation
	mark.Title = ""
	return memory.Image{Conversation: &mark}
}
