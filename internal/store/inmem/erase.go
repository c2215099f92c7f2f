package inmem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

var _ memory.Eraser = (*Store)(nil)

// Erase removes words for good.
func (s *Store) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	var receipt memory.Receipt
	err := s.write(ctx, owner, func(draft *shelf) error {
		if first, ok := draft.runs[run.ID]; ok {
			first.Again = true
			receipt = first
			return nil
		}
		if err := run.Check(owner); err != nil {
			return err
		}
		receipt = draft.erase(owner, run, ids, s)
		return nil
	})
	if err != nil {
		return memory.Receipt{}, err
	}
	return receipt, nil
}

func (s *shelf) erase(owner memory.Owner, run memory.Run, ids []string, store *Store) memory.Receipt {
	things := s.toErase(ids)
	at := s.tick(store.now())
	if len(things) > 0 {
		s.version++
		s.horizon, s.erased, s.traces = s.version, at, map[string]memory.Trace{}
		for id, j := range s.jobs {
			j.Error = ""
			s.jobs[id] = j
		}
	}
	gone := map[string]bool{} // ids and targets
	for i, before := range things {
		after := s.blank(before, run.ID)
		gone[before.Target()] = true
		_, id, _ := strings.Cut(before.Target(), ":")
		gone[id] = true
		s.forgetVectors(after)
		s.journal = append(s.journal, memory.Change{
			Action: memory.ActionErase, After: after, Author: run.Author, Owner: owner, Run: run.ID,
			ID: fmt.Sprintf("%s/%d", run.ID, i+1), Version: s.version, At: at, Before: before.Erased(run.ID),
		})
	}
	s.journal = slices.Clone(s.journal)
	for i, c := range s.journal {
		if gone[c.After.Target()] || gone[c.OldID] || gone[c.NewID] || len(things) > 0 && c.Author.Kind == memory.ByModel {
			c.Reason = ""
		}
		if gone[c.After.Target()] {
			c.Before, c.After = c.Before.Erased(run.ID), c.After.Erased(run.ID)
		}
		s.journal[i] = c
	}
	s.queue(run.Jobs)
	receipt := memory.Receipt{Run: run.ID, Version: s.version, At: at, Changes: len(things)}
	s.runs[run.ID] = receipt
	return receipt
}

// toErase returns what is there of ids and has words or is not retired, each once.
func (s *shelf) toErase(ids []string) []memory.Image {
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
			said := words(image)
			switch {
			case image.Turn != nil:
				said = s.turns[id].Content
			case image.Conversation != nil:
				c := s.conversations[id]
				said += c.Project + c.Agent
			}
			if said != "" || image.Status() != memory.Retired {
				out = append(out, image)
			}
		}
	}
	return out
}

// blank takes the words of a thing away and returns what is left of it.
func (s *shelf) blank(before memory.Image, run string) memory.Image {
	after := copyImage(before.Erased(run))
	switch {
	case after.Fact != nil:
		after.Fact.Status, after.Fact.UpdatedAt = memory.Retired, s.at
	case after.Link != nil:
		after.Link.Status = memory.Retired
	case after.Summary != nil:
		after.Summary.Status = memory.Retired
	case after.Context != nil:
		after.Context.Status, after.Context.UpdatedAt = memory.Retired, s.at
	case after.Conversation != nil:
		after.Conversation.Status = memory.Retired
		c := s.conversations[after.Conversation.ID]
		c.Project, c.Agent = "", ""
		s.conversations[c.ID] = c
	case after.Profile != nil:
		after.Profile.Status, after.Profile.UpdatedAt = memory.Retired, s.at
		delete(s.things, before.Target())
	case after.Turn != nil:
		t := s.turns[after.Turn.ID]
		s.untitle(t)
		s.bury(t)
		s.turns[t.ID] = t.Erased()
		for key := range s.vectors {
			if key.memory == t.ID {
				delete(s.vectors, key)
			}
		}
		after.Turn.Status = memory.Retired
	}
	after = stamp(after, s.version)
	s.put(after)
	return after
}

// untitle takes away the titles that a turn's conversation has or had, if they stand
// in the turn.
func (s *shelf) untitle(t memory.Turn) {
	said := strings.Join(strings.Fields(t.Content), " ")
	c, ok := s.conversations[t.Conversation]
	if ok && strings.Contains(said, c.Title) {
		c.Title = ""
		s.conversations[c.ID] = c
	}
	s.journal = slices.Clone(s.journal)
	for i, change := range s.journal {
		s.journal[i].Before, s.journal[i].After = untitled(change.Before, c.ID, said), untitled(change.After, c.ID, said)
	}
}

// untitled is the image without its title, if it is of that conversation and the
// title stands in what was said.
func untitled(i memory.Image, conversation, said string) memory.Image {
	if i.Conversation == nil || i.Conversation.ID != conversation || !strings.Contains(said, i.Conversation.Title) {
		return i
	}
	mark := *i.Conversation
	mark.Title = ""
	return memory.Image{Conversation: &mark}
}

// EraseTraces removes all traces of an owner.
func (s *Store) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	return s.eraseTraces(ctx, owner, func(memory.Trace) bool { return true })
}

// EraseTracesOf removes the traces that show one of the facts.
func (s *Store) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	s.mu.Lock()
	owners := slices.Collect(maps.Keys(s.shelves))
	s.mu.Unlock()
	removed := 0
	for _, o := range owners {
		if o.Namespace() != namespace {
			continue
		}
		n, err := s.eraseTraces(ctx, o, func(t memory.Trace) bool {
			for _, shown := range t.ShownOf() {
				if slices.ContainsFunc(shown, func(id string) bool { return slices.Contains(facts, id) }) {
					return true
				}
			}
			return false
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

func (s *Store) eraseTraces(ctx context.Context, owner memory.Owner, gone func(memory.Trace) bool) (removed int, err error) {
	err = s.write(ctx, owner, func(draft *shelf) error {
		had := len(draft.traces)
		maps.DeleteFunc(draft.traces, func(_ string, t memory.Trace) bool { return gone(t) })
		removed = had - len(draft.traces)
		return nil
	})
	return removed, err
}
