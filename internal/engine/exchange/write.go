package exchange

import (
	"cmp"
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// A request may forbid storing (memory_mode off or read, memory paused), while a later request of the
// same chat allows storing and sends the same messages again. To recognize them, each message is stored
// as a redacted turn: retired, without text, identified by its position in the chat. Recalls are stored
// as traces without text. For temporary chats and channels nothing is stored.

// turnBatch is a batch of consecutive turns before it is stored.
type turnBatch struct {
	memory.Batch
	parentID      string        // id of the turn before the next added turn
	movedIDs      []string      // ids of turns that left or rejoined the branch
	isPrivate     bool          // the user's last message, and therefore the answer to it, is off the record
	redactedTurns []memory.Turn // the batch's redacted turns, with their text
}

// newTurnBatch starts a batch at a request's position.
func newTurnBatch(c memory.Conversation, alignment thread.Alignment, isPrivate bool) turnBatch {
	w := turnBatch{parentID: alignment.ParentID, isPrivate: isPrivate}
	w.Conversation, w.Run = c, core.NewID()
	return w
}

// moveTurns removes leavingIDs from the current branch and restores rejoiningIDs. path is the resulting
// branch; added turns are appended to it.
func (w *turnBatch) moveTurns(leavingIDs, rejoiningIDs []string, path *memory.Path) {
	for _, id := range leavingIDs {
		w.Changes = append(w.Changes, memory.Change{Action: memory.ActionUpdate, After: memory.State{Turn: &memory.TurnState{ID: id, Status: memory.Replaced}}, Reason: "edited or regenerated", Author: core.ByBranchSwitch})
	}
	for _, id := range rejoiningIDs {
		w.Changes = append(w.Changes, memory.Change{Action: memory.ActionRestore, After: memory.State{Turn: &memory.TurnState{ID: id, Status: memory.Active}}, Reason: "continued from here", Author: core.ByBranchSwitch})
	}
	w.movedIDs = append(append(w.movedIDs, leavingIDs...), rejoiningIDs...)
	w.Path = path
}

// isOffTheRecord reports whether a message is off the record: the user asked not to remember it, or
// it answers such a message.
func (w *turnBatch) isOffTheRecord(role memory.Role, content string) bool {
	if role == memory.RoleUser {
		w.isPrivate = learn.MemoryRequestsIn(memory.Turn{Role: role, Content: content}).MustRedact()
	}
	return w.isPrivate
}

// add adds the next turn, on a side branch if the batch has no path. A missing id is derived from
// position and text, so that two concurrent requests with the same history store only one turn.
func (w *turnBatch) add(t memory.Turn, redact bool) memory.Turn {
	t.Conversation, t.Project, t.Parent = w.Conversation.ID, w.Conversation.Project, w.parentID
	t.ID = cmp.Or(t.ID, core.DerivedID(t.Owner, t.Conversation, t.Parent, t.Chain))
	if redact {
		w.redactedTurns = append(w.redactedTurns, t)
		t = redactedTurn(t)
	} else if t.Status = memory.Active; w.Path == nil {
		t.Status = memory.Replaced
	}
	if w.parentID = t.ID; w.Path != nil {
		w.Path.Turns = append(w.Path.Turns, t.ID)
	}
	w.Turns = append(w.Turns, t)
	return t
}

// redactedTurn returns a retired copy of a turn, without text and name.
func redactedTurn(t memory.Turn) memory.Turn {
	t = t.Erased()
	t.Name, t.Status = "", memory.Retired
	return t
}

// MaxTurnsPerWrite bounds the turns of a transaction, because other writers wait for it.
const MaxTurnsPerWrite = 500

// writeBatch stores the batch that makeBatch returns, and calls makeBatch again after a Conflict. With
// clientWaits, a job computes the vectors later.
func (e *Exchanges) writeBatch(ctx context.Context, owner memory.Owner, conversation string, clientWaits bool, makeBatch func(isRetry bool) (turnBatch, error)) error {
	unlock, err := e.ConversationLocks.Lock(ctx, owner, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	isRetry := false
	return core.RetryOnConflict(ctx, func() error {
		w, err := makeBatch(isRetry)
		isRetry = true
		if err != nil || len(w.Turns)+len(w.Changes)+len(w.Jobs) == 0 {
			return err
		}
		if len(w.redactedTurns) > 0 {
			if err := e.Store.AddTombstones(ctx, owner, w.redactedTurns...); err != nil {
				return fmt.Errorf("mark redacted turns: %w", err)
			}
		}
		for turns := w.Turns; ; turns = turns[MaxTurnsPerWrite:] { // the last transaction stores the jobs
			part := w.Batch
			if part.Turns = turns; len(turns) > MaxTurnsPerWrite {
				part.Turns, part.Jobs, part.Run = turns[:MaxTurnsPerWrite:MaxTurnsPerWrite], nil, core.NewID()
			}
			if !clientWaits || core.IsLexical(e.Embedder) {
				if part.Vectors, err = e.TurnVectors(ctx, part.Turns); err != nil {
					return err
				}
			}
			if _, err := e.Store.Append(ctx, owner, part); err != nil || len(turns) <= MaxTurnsPerWrite {
				return err
			}
			w.Changes = nil
		}
	})
}

// redactForgotten redacts new turns of history that the owner has forgotten or erased. Otherwise, a client
// that sends an old chat with a new id would restore the text.
func (e *Exchanges) redactForgotten(ctx context.Context, owner memory.Owner, batch *turnBatch, alignment thread.Alignment) error {
	var history []memory.Turn
	var positions []int
	for i, t := range batch.Turns {
		if alignment.NewTurns[i].IsHistory && t.Content != "" {
			history, positions = append(history, t), append(positions, i)
		}
	}
	if len(history) == 0 {
		return nil
	}
	forgotten, err := e.Store.HasTombstones(ctx, owner, history...)
	if err != nil {
		return fmt.Errorf("find forgotten messages: %w", err)
	}
	for i, isForgotten := range forgotten {
		if isForgotten {
			batch.Turns[positions[i]] = redactedTurn(batch.Turns[positions[i]])
		}
	}
	return nil
}
