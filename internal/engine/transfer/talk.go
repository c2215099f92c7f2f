package transfer

import (
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

// talkIn is a conversation on its way in.
type talkIn struct {
	memory.Conversation
	line    int
	named   bool                // the file has a line for it
	stored  bool                // it is in the store
	here    memory.Conversation // as it was there before; zero if it was not
	counted bool                // it is among what was added or there
	path    map[int]string      // of one that was stored before: active turns by index
	last    memory.Turn         // of made turns: the one before; of a stored one without path: its end
	end     memory.Turn         // of its path as far as that is known; at -1 for none
	known   bool                // last and end are known
}

// talk appends the batch's turns to their conversations.
func (i *importer) talk(ctx context.Context, batch []portable.Record, there map[string]memory.Memory) error {
	var order []string
	turns := map[string][]portable.Record{}
	for _, r := range batch {
		switch {
		case r.Conversation != nil:
			id := r.Conversation.ID
			if t := i.talks[id]; t == nil || !t.named {
				i.talks[id] = &talkIn{Conversation: *r.Conversation, line: r.Line, named: true}
			}
			if !slices.Contains(order, id) {
				order = append(order, id)
			}
		case r.Turn != nil:
			id := r.Turn.Conversation
			if _, met := turns[id]; !met && !slices.Contains(order, id) {
				order = append(order, id)
			}
			turns[id] = append(turns[id], r)
		}
	}
	if err := i.meet(ctx, order, turns); err != nil {
		return err
	}
	for _, id := range order {
		if err := i.say(ctx, i.talks[id], turns[id], there); err != nil {
			return err
		}
	}
	for id := range i.talks { // bounded: what follows begins with its conversation's line
		if len(order) > 0 && id != order[len(order)-1] {
			delete(i.talks, id)
		}
	}
	return nil
}

// meet finds out which conversations are there.
func (i *importer) meet(ctx context.Context, order []string, turns map[string][]portable.Record) error {
	var unknown []string
	for _, id := range order {
		if i.talks[id] == nil {
			first := turns[id][0].Turn
			i.talks[id] = &talkIn{Conversation: memory.Conversation{
				ID: id, Owner: i.owner, Project: first.Project, Agent: first.Agent, CreatedAt: first.CreatedAt, UpdatedAt: first.CreatedAt,
			}}
		}
		if !i.talks[id].known {
			unknown = append(unknown, id)
		}
	}
	for part := range slices.Chunk(unknown, 500) {
		page, err := i.e.Store.Conversations(ctx, i.owner, memory.ConversationQuery{IDs: part, Limit: 500})
		if err != nil {
			return fmt.Errorf("look up conversations: %w", err)
		}
		for _, c := range page.Conversations {
			i.talks[c.ID].stored, i.talks[c.ID].here = true, c
		}
	}
	for _, id := range unknown {
		t := i.talks[id]
		t.known, t.last, t.end = true, memory.Turn{Index: -1}, memory.Turn{Index: -1}
		if !t.stored {
			continue
		}
		path, err := i.e.Store.Turns(ctx, i.owner, memory.TurnQuery{Conversation: id})
		if err != nil {
			return fmt.Errorf("look up turns: %w", err)
		}
		t.path = make(map[int]string, len(path))
		for _, turn := range path {
			t.path[turn.Index] = turn.ID
			t.last, t.end = turn, turn
		}
	}
	return nil
}

// say appends turns to one conversation. Where somebody else wrote to it since it was met,
// it is met again.
func (i *importer) say(ctx context.Context, t *talkIn, said []portable.Record, there map[string]memory.Memory) error {
	out, was, again := i.out, *t, false
	return core.Replan(ctx, func() (err error) {
		if again {
			i.out, *t = out, was
			t.known = false
			if there, err = i.there(ctx, said); err != nil {
				return err
			}
			if err := i.meet(ctx, []string{t.ID}, nil); err != nil {
				return err
			}
		}
		again = true
		return i.trySay(ctx, t, said, there)
	})
}

// trySay appends turns to a conversation as it was met, or returns a Conflict.
func (i *importer) trySay(ctx context.Context, t *talkIn, said []portable.Record, there map[string]memory.Memory) error {
	batch := memory.Batch{Conversation: t.Conversation}
	met := map[string]bool{}
	var sample []portable.Record
	for _, r := range said {
		turn := r.Turn
		if old, ok := there[turn.ID]; ok || met[turn.ID] {
			i.known(r, old)
			if r.Made && old.Turn != nil {
				t.last = *old.Turn
			}
			continue
		}
		if r.Made {
			follow(turn, t)
		}
		if id, taken := t.path[turn.Index]; taken && turn.Status == memory.Active && id != turn.ID {
			i.conflict(r, "turn %d of conversation %.60s is another one here", turn.Index, t.ID)
			continue
		}
		if t.here.Status == memory.Retired && t.Status != memory.Retired && turn.Status == memory.Active {
			i.conflict(r, "conversation %.60s was deleted here", t.ID)
			continue
		}
		met[turn.ID], t.last = true, *turn
		if t.path != nil && turn.Status == memory.Active {
			t.path[turn.Index] = turn.ID
		}
		batch.Turns, sample = append(batch.Turns, *turn), append(sample, r)
	}
	if batch.Conversation.UpdatedAt.IsZero() && len(batch.Turns) > 0 { // an export of the past does not know
		batch.Conversation.UpdatedAt = t.last.CreatedAt
	}
	isNew := !t.stored
	if diff := t.differs(); diff != "" && !t.counted {
		t.counted = true
		i.conflict(portable.Record{Line: t.line, Conversation: &t.Conversation}, "%s", diff)
	}
	if len(batch.Turns) == 0 && (!isNew || !t.named) {
		if t.named && !t.counted {
			t.counted = true
			i.out.There.Conversations++
		}
		return nil
	}
	if batch.Path = t.grows(batch.Turns); !i.DryRun {
		if err := i.appended(ctx, &batch); err != nil {
			return err
		}
	}
	t.stored, t.counted = true, true
	if isNew {
		i.out.Added.Conversations++
	}
	i.out.Added.Turns += len(sample)
	return nil
}

// grows puts the active ones of these turns to the end of the path, and returns what that
// is then; nil if they do not all belong there.
func (t *talkIn) grows(turns []memory.Turn) *memory.Path {
	p, end := &memory.Path{From: -1}, t.end
	for _, turn := range turns {
		if turn.Status != memory.Active {
			continue
		}
		if p.From < 0 || turn.Index < p.From {
			p.From = turn.Index
		}
		if p.Turns = append(p.Turns, turn.ID); turn.Index >= t.end.Index {
			t.end = turn
		}
	}
	if p.From <= end.Index {
		return nil
	}
	if p.From == end.Index+1 {
		p.After = end.ID
	}
	return p
}

// differs says how the conversation that was here differs from the file's, "" if it
// does not. Titles are not compared: those that chats get by themselves change.
func (t *talkIn) differs() string {
	switch {
	case !t.named || t.here.ID == "":
		return ""
	case t.here.Status != t.Status:
		return fmt.Sprintf("is %s here and %s in the file", t.here.Status, t.Status)
	case !slices.Equal(t.here.Contexts, t.Contexts):
		return "has other contexts here"
	case t.here.Rules != t.Rules:
		return "has other rules here"
	}
	return ""
}

// follow puts a made turn at the end of its conversation.
func follow(turn *memory.Turn, t *talkIn) {
	turn.Index, turn.Parent = t.last.Index+1, t.last.ID
	turn.Chain = thread.Chain(t.last.Chain, chatapi.Digest(turn.Role, turn.Content, "", ""))
	if turn.CreatedAt.IsZero() {
		turn.CreatedAt = t.CreatedAt
	}
}

// known counts a turn whose id is there, or names how it differs.
func (i *importer) known(r portable.Record, old memory.Memory) {
	switch turn := old.Turn; {
	case old.Kind() == "":
		i.conflict(r, "stands in the file twice; the first is taken")
	case turn == nil:
		i.conflict(r, "is a %s here", old.Kind())
	case r.Made:
		i.out.There.Turns++
	case turn.Conversation != r.Turn.Conversation:
		i.conflict(r, "is of conversation %.60s here", turn.Conversation)
	case turn.Content != r.Turn.Content:
		i.conflict(r, "says %q here and %q in the file", core.Clip(turn.Content, 120), core.Clip(r.Turn.Content, 120))
	case turn.Status != r.Turn.Status:
		i.conflict(r, "is %s here and %s in the file", turn.Status, r.Turn.Status)
	default:
		i.out.There.Turns++
	}
}

// appended writes a batch of turns, with the learning that it waits for, or returns a
// Conflict.
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
