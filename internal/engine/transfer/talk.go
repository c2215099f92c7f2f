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
type targetConversation struct {
	memory.Conversation
	isNew          bool           // the store does not have the conversation
	wasDeleted     bool           // the conversation is deleted in the store, but not in the file
	activeTurns    map[int]string // ids of the active turns by index
	lastActiveTurn memory.Turn    // the last active turn; index -1: none
	previousTurn   memory.Turn    // the turn before the next new turn; index -1: none
}

// appendConversations appends the batch's turns to their conversations.
func (i *importer) appendConversations(ctx context.Context, batch []portable.Record, existing map[string]memory.Memory) error {
	var ids []string
	turns := map[string][]portable.Record{}
	records := map[string]portable.Record{}
	for _, r := range batch {
		var id string
		switch {
		case r.Conversation != nil:
			if id = r.Conversation.ID; records[id].Conversation == nil {
				records[id] = r
			}
		case r.Turn != nil:
			id = r.Turn.Conversation
			turns[id] = append(turns[id], r)
		}
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if err := i.appendTurns(ctx, id, records[id], turns[id], existing); err != nil {
			return err
		}
	}
	return nil
}

// loadConversation returns a conversation from the store, or the cached last conversation.
func (i *importer) loadConversation(ctx context.Context, id string) (*targetConversation, error) {
	if t := i.lastConversation; t != nil && t.ID == id {
		i.lastConversation = nil // cached again after this batch is written
		return t, nil
	}
	noTurn := memory.Turn{Index: -1}
	t := &targetConversation{Conversation: memory.Conversation{ID: id, Owner: i.owner}, isNew: true, activeTurns: map[int]string{}, lastActiveTurn: noTurn, previousTurn: noTurn}
	page, err := i.transfer.Store.Conversations(ctx, i.owner, memory.ConversationQuery{IDs: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("look up conversations: %w", err)
	}
	if len(page.Conversations) == 0 {
		return t, nil
	}
	t.Conversation, t.isNew = page.Conversations[0], false
	t.wasDeleted = t.Status == memory.Retired
	turns, err := i.transfer.Store.Turns(ctx, i.owner, memory.TurnQuery{Conversation: id})
	if err != nil {
		return nil, fmt.Errorf("look up turns: %w", err)
	}
	for _, turn := range turns {
		t.activeTurns[turn.Index], t.lastActiveTurn, t.previousTurn = turn.ID, turn, turn
	}
	return t, nil
}

// appendTurns appends turns to one conversation. record is the conversation's record in the file, or zero.
// After a concurrent write it reads the conversation again.
func (i *importer) appendTurns(ctx context.Context, id string, record portable.Record, turns []portable.Record, existing map[string]memory.Memory) error {
	report, isRetry := i.report, false
	return core.RetryOnConflict(ctx, func() (err error) {
		if isRetry {
			i.report = report
			if existing, err = i.existingMemories(ctx, turns); err != nil {
				return err
			}
		}
		isRetry = true
		t, err := i.loadConversation(ctx, id)
		if err != nil {
			return err
		}
		batch := i.planTurns(t, record, turns, existing)
		if len(batch.Turns) > 0 || t.isNew && record.Conversation != nil {
			if t.isNew {
				i.report.Added.Conversations++
				t.Conversation, t.isNew = batch.Conversation, false
			}
			i.report.Added.Turns += len(batch.Turns)
			if !i.DryRun {
				if err := i.writeTurns(ctx, &batch); err != nil {
					return err
				}
			}
		}
		i.lastConversation = t
		return nil
	})
}

// planTurns returns the turns to append and adds them to t. It counts or reports all other turns.
func (i *importer) planTurns(t *targetConversation, record portable.Record, turns []portable.Record, existing map[string]memory.Memory) memory.Batch {
	conversation := t.Conversation
	if c := record.Conversation; c != nil {
		if !t.isNew {
			i.compareConversation(record, t.Conversation)
		}
		conversation, t.wasDeleted = *c, t.wasDeleted && c.Status != memory.Retired
	} else if t.isNew {
		first := turns[0].Turn
		conversation.Project, conversation.Agent, conversation.CreatedAt, conversation.UpdatedAt = first.Project, first.Agent, first.CreatedAt, first.CreatedAt
	}
	batch := memory.Batch{Conversation: conversation}
	planned, lastActive := map[string]bool{}, t.lastActiveTurn
	for _, r := range turns {
		turn := r.Turn
		if old, ok := existing[turn.ID]; ok || planned[turn.ID] {
			i.compareTurn(r, old)
			if r.Foreign && old.Turn != nil {
				t.previousTurn = *old.Turn
			}
			continue
		}
		if r.Foreign {
			setPosition(turn, t.previousTurn)
		}
		if turn.Status == memory.Active {
			if id, isTaken := t.activeTurns[turn.Index]; isTaken && id != turn.ID {
				i.reportConflict(r, "turn %d of conversation %.60s already exists with other content", turn.Index, t.ID)
				continue
			}
			if t.wasDeleted {
				i.reportConflict(r, "conversation %.60s was deleted from this memory", t.ID)
				continue
			}
			if t.activeTurns[turn.Index] = turn.ID; turn.Index >= t.lastActiveTurn.Index {
				t.lastActiveTurn = *turn
			}
		}
		planned[turn.ID], t.previousTurn = true, *turn
		batch.Turns = append(batch.Turns, *turn)
	}
	if len(batch.Turns) > 0 {
		batch.Path = extendedPath(lastActive, batch.Turns)
		batch.Conversation.UpdatedAt = cmp.Or(conversation.UpdatedAt, t.previousTurn.CreatedAt) // an export of the past has no time of change
	}
	return batch
}

// extendedPath returns the path that appends turns after lastActive, or nil if the turns do not follow it.
func extendedPath(lastActive memory.Turn, turns []memory.Turn) *memory.Path {
	path := &memory.Path{From: -1}
	for _, turn := range turns {
		if turn.Status != memory.Active {
			continue
		}
		if path.From < 0 || turn.Index < path.From {
			path.From = turn.Index
		}
		path.Turns = append(path.Turns, turn.ID)
	}
	if path.From <= lastActive.Index {
		return nil
	}
	if path.From == lastActive.Index+1 {
		path.After = lastActive.ID
	}
	return path
}

// compareConversation counts an existing conversation, or reports the differences. It does not compare
// titles, since generated titles change.
func (i *importer) compareConversation(record portable.Record, stored memory.Conversation) {
	switch c := record.Conversation; {
	case stored.Status != c.Status:
		i.reportConflict(record, "is %s in this memory but %s in the file", stored.Status, c.Status)
	case !slices.Equal(stored.Contexts, c.Contexts):
		i.reportConflict(record, "has different contexts in this memory")
	case stored.Rules != c.Rules:
		i.reportConflict(record, "has different rules in this memory")
	default:
		i.report.Existing.Conversations++
	}
}

// compareTurn counts an existing turn, or reports the differences.
func (i *importer) compareTurn(r portable.Record, stored memory.Memory) {
	switch turn := stored.Turn; {
	case stored.Kind() == "":
		i.reportConflict(r, "is in the file twice; the first record is used")
	case turn == nil:
		i.reportConflict(r, "is a %s in this memory", stored.Kind())
	case r.Foreign:
		i.report.Existing.Turns++
	case turn.Conversation != r.Turn.Conversation:
		i.reportConflict(r, "belongs to conversation %.60s in this memory", turn.Conversation)
	case turn.Content != r.Turn.Content:
		i.reportConflict(r, "says %q in this memory but %q in the file", core.Clip(turn.Content, 120), core.Clip(r.Turn.Content, 120))
	case turn.Status != r.Turn.Status:
		i.reportConflict(r, "is %s in this memory but %s in the file", turn.Status, r.Turn.Status)
	default:
		i.report.Existing.Turns++
	}
}

// setPosition makes a new turn follow the turn previous.
func setPosition(turn *memory.Turn, previous memory.Turn) {
	turn.Index, turn.Parent = previous.Index+1, previous.ID
	turn.Chain = thread.ChainHash(previous.Chain, chatapi.Digest(turn.Role, turn.Content, "", ""))
}

// writeTurns writes a batch of turns and the job that learns from them, or returns a Conflict.
func (i *importer) writeTurns(ctx context.Context, batch *memory.Batch) error {
	unlock, err := i.transfer.ConversationLocks.Lock(ctx, i.owner, batch.Conversation.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if batch.Vectors, err = i.transfer.TurnVectors(ctx, batch.Turns); err != nil {
		return err
	}
	if i.Learn {
		for _, t := range slices.Backward(batch.Turns) {
			if t.Role == memory.RoleUser && t.Status == memory.Active && t.LearnedAt.IsZero() && !t.NoLearn {
				batch.Jobs = []memory.Job{lessons.LearnJob(i.owner, batch.Conversation.ID, t.ID, i.transfer.Time())}
				i.report.Jobs++
				break
			}
		}
	}
	if _, err := i.transfer.Store.Append(ctx, i.owner, *batch); err != nil {
		return fmt.Errorf("write turns: %w", err)
	}
	return nil
}
