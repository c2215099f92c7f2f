package transfer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// targetConversation is a conversation to which an import adds turns.
type talk struct {
	memory.Conversation
	isNew   bool           // the store does not have the conversation
	deleted bool           // the conversation is deleted in the store, but not in the file
	path    map[int]string // ids of the active turns by index
	end     memory.Turn    // the last active turn; index -1: none
	last    memory.Turn    // the turn before the next new turn; index -1: none
}

// appendConversations appends the batch's turns to their conversations.
func (i *importer) talks(ctx context.Context, batch []portable.Record, there map[string]memory.Memory) error {
	var order []string
	turns := map[string][]portable.Record{}
	lines := map[string]portable.Record{}
	for _, r := range batch {
		var id string
		switch {
		case r.Conversation != nil:
			if id = r.Conversation.ID; lines[id].Conversation == nil {
				lines[id] = r
			}
		case r.Turn != nil:
			id = r.Turn.Conversation
			turns[id] = append(turns[id], r)
		}
		if id != "" && !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	for _, id := range order {
		if err := i.appendTurns(ctx, id, lines[id], turns[id], there); err != nil {
			return err
		}
	}
	return nil
}

// loadConversation returns a conversation from the store, or the cached last conversation.
func (i *importer) loadTalk(ctx context.Context, id string) (*talk, error) {
	if t := i.talking; t != nil && t.ID == id {
		i.talking = nil // cached again after this batch is written
		return t, nil
	}
	none := memory.Turn{Index: -1}
	t := &talk{Conversation: memory.Conversation{ID: id, Owner: i.owner}, isNew: true, path: map[int]string{}, end: none, last: none}
	page, err := i.e.Store.Conversations(ctx, i.owner, memory.ConversationQuery{IDs: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("look up conversations: %w", err)
	}
	if len(page.Conversations) == 0 {
		return t, nil
	}
	t.Conversation, t.isNew = page.Conversations[0], false
	t.deleted = t.Status == memory.Retired
	path, err := i.e.Store.Turns(ctx, i.owner, memory.TurnQuery{Conversation: id})
	if err != nil {
		return nil, fmt.Errorf("look up turns: %w", err)
	}
	for _, turn := range path {
		t.path[turn.Index], t.end, t.last = turn.ID, turn, turn
	}
	return t, nil
}

// appendTurns appends turns to one conversation. line is the conversation's record in the file, or zero.
// After a concurrent write it reads the conversation again.
func (i *importer) appendTurns(ctx context.Context, id string, line portable.Record, turns []portable.Record, there map[string]memory.Memory) error {
	before, again := i.out, false
	return core.Replan(ctx, func() (err error) {
		if again {
			i.out = before
			if there, err = i.there(ctx, turns); err != nil {
				return err
			}
		}
		again = true
		t, err := i.loadTalk(ctx, id)
		if err != nil {
			return err
		}
		batch := i.plan(t, line, turns, there)
		if len(batch.Turns) > 0 || t.isNew && line.Conversation != nil {
			if t.isNew {
				i.out.Added.Conversations++
				t.Conversation, t.isNew = batch.Conversation, false
			}
			i.out.Added.Turns += len(batch.Turns)
			if !i.DryRun {
				if err := i.appended(ctx, &batch); err != nil {
					return err
				}
			}
		}
		i.talking = t
		return nil
	})
}

// planTurns returns the turns to append and adds them to t. It counts or reports all other turns.
func (i *importer) plan(t *talk, line portable.Record, turns []portable.Record, there map[string]memory.Memory) memory.Batch {
	wants := t.Conversation
	if c := line.Conversation; c != nil {
		if !t.isNew {
			i.compareTalk(line, t.Conversation)
		}
		wants, t.deleted = *c, t.deleted && c.Status != memory.Retired
	} else if t.isNew {
		first := turns[0].Turn
		wants.Project, wants.Agent, wants.CreatedAt, wants.UpdatedAt = first.Project, first.Agent, first.CreatedAt, first.CreatedAt
	}
	batch := memory.Batch{Conversation: wants}
	met, end := map[string]bool{}, t.end
	for _, r := range turns {
		turn := r.Turn
		if old, ok := there[turn.ID]; ok || met[turn.ID] {
			i.compareTurn(r, old)
			if r.Made && old.Turn != nil {
				t.last = *old.Turn
			}
			continue
		}
		if r.Made {
			follow(turn, t.last)
		}
		if turn.Status == memory.Active {
			if id, taken := t.path[turn.Index]; taken && id != turn.ID {
				i.conflict(r, "turn %d of conversation %.60s already exists with other content", turn.Index, t.ID)
				continue
			}
			if t.deleted {
				i.conflict(r, "conversation %.60s was deleted from this memory", t.ID)
				continue
			}
			if t.path[turn.Index] = turn.ID; turn.Index >= t.end.Index {
				t.end = *turn
			}
		}
		met[turn.ID], t.last = true, *turn
		batch.Turns = append(batch.Turns, *turn)
	}
	if len(batch.Turns) > 0 {
		batch.Path = extendedPath(end, batch.Turns)
		batch.Conversation.UpdatedAt = cmp.Or(wants.UpdatedAt, t.last.CreatedAt) // an export of the past has no time of change
	}
	return batch
}

// extendedPath returns the path that appends turns after lastActive, or nil if the turns do not follow it.
func extendedPath(end memory.Turn, turns []memory.Turn) *memory.Path {
	p := &memory.Path{From: -1}
	for _, turn := range turns {
		if turn.Status != memory.Active {
			continue
		}
		if p.From < 0 || turn.Index < p.From {
			p.From = turn.Index
		}
		p.Turns = append(p.Turns, turn.ID)
	}
	if p.From <= end.Index {
		return nil
	}
	if p.From == end.Index+1 {
		p.After = end.ID
	}
	return p
}

// compareConversation counts an existing conversation, or reports the differences. It does not compare
// titles, since generated titles change.
func (i *importer) compareTalk(line portable.Record, here memory.Conversation) {
	switch c := line.Conversation; {
	case here.Status != c.Status:
		i.conflict(line, "is %s in this memory but %s in the file", here.Status, c.Status)
	case !slices.Equal(here.Contexts, c.Contexts):
		i.conflict(line, "has different contexts in this memory")
	case here.Rules != c.Rules:
		i.conflict(line, "has different rules in this memory")
	default:
		i.out.There.Conversations++
	}
}

// compareTurn counts an existing turn, or reports the differences.
func (i *importer) compareTurn(r portable.Record, old memory.Memory) {
	switch turn := old.Turn; {
	case old.Kind() == "":
		i.conflict(r, "is in the file twice; the first one is used")
	case turn == nil:
		i.conflict(r, "is a %s in this memory", old.Kind())
	case r.Made:
		i.out.There.Turns++
	case turn.Conversation != r.Turn.Conversation:
		i.conflict(r, "belongs to conversation %.60s in this memory", turn.Conversation)
	case turn.Content != r.Turn.Content:
		i.conflict(r, "says %q in this memory but %q in the file", core.Clip(turn.Content, 120), core.Clip(r.Turn.Content, 120))
	case turn.Status != r.Turn.Status:
		i.conflict(r, "is %s in this memory but %s in the file", turn.Status, r.Turn.Status)
	default:
		i.out.There.Turns++
	}
}

// setPosition sets the position of a new turn after the turn previous.
func follow(turn *memory.Turn, last memory.Turn) {
	turn.Index, turn.Parent = last.Index+1, last.ID
	turn.Chain = thread.Chain(last.Chain, chatapi.Digest(turn.Role, turn.Content, "", ""))
}

// writeTurns writes a batch of turns and the job that learns from them, or returns a Conflict.
func (i *importer) appended(ctx context.Context, b *memory.Batch) error {
	leave, err := i.e.Writes.Enter(ctx, i.owner, b.Conversation.ID)
	if err != nil {
		return err
	}
	defer leave()
	if b.Vectors, err = i.e.TurnVectors(ctx, b.Turns); err != nil {
		return err
	}
	if i.Learn {
		for _, t := range slices.Backward(b.Turns) {
			if t.Role == memory.RoleUser && t.Status == memory.Active && t.LearnedAt.IsZero() && !t.NoLearn {
				b.Jobs = []memory.Job{lessons.LearnJob(i.owner, b.Conversation.ID, t.ID, i.e.Time())}
				i.out.Jobs++
				break
			}
		}
	}
	if _, err := i.e.Store.Append(ctx, i.owner, *b); err != nil {
		return fmt.Errorf("write turns: %w", err)
	}
	return nil
}
