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
type writing struct {
	memory.Batch
	parent        string        // id of the turn before the next added turn
	moved         []string      // ids of turns that left or rejoined the branch
	private       bool          // the user's last message is off the record, and therefore its answers
	redactedTurns []memory.Turn // the batch's redacted turns, with their text
}

// newTurnBatch starts a batch at a request's position.
func newWriting(c memory.Conversation, at thread.Alignment, private bool) writing {
	w := writing{parent: at.Parent, private: private}
	w.Conversation, w.Run = c, core.NewID()
	return w
}

// move removes the turns leave from the current branch and restores the turns rejoin. path is the
// resulting branch; added turns are appended to it.
func (w *writing) move(leave, rejoin []string, path *memory.Path) {
	for _, id := range leave {
		w.Marks = append(w.Marks, memory.Change{Action: memory.ActionUpdate, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Replaced}}, Reason: "edited or regenerated", Author: core.ByDialog})
	}
	for _, id := range rejoin {
		w.Marks = append(w.Marks, memory.Change{Action: memory.ActionRestore, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Active}}, Reason: "continued from here", Author: core.ByDialog})
	}
	w.moved = append(append(w.moved, leave...), rejoin...)
	w.Path = path
}

// isOffTheRecord reports whether a message is off the record: the user asked not to remember it, or
// it answers such a message.
func (w *writing) isOffTheRecord(role memory.Role, words string) bool {
	if role == memory.RoleUser {
		w.private = learn.MemoryRequestsIn(memory.Turn{Role: role, Content: words}).Confidential()
	}
	return w.private
}

// add adds the next turn, on a side branch if the batch has no path. A missing id is derived from
// position and text, so that two concurrent requests with the same history store only one turn.
func (w *writing) add(t memory.Turn, redact bool) memory.Turn {
	t.Conversation, t.Project, t.Parent = w.Conversation.ID, w.Conversation.Project, w.parent
	t.ID = cmp.Or(t.ID, core.DerivedID(t.Owner, t.Conversation, t.Parent, t.Chain))
	if redact {
		w.redactedTurns = append(w.redactedTurns, t)
		t = redacted(t)
	} else if t.Status = memory.Active; w.Path == nil {
		t.Status = memory.Replaced
	}
	if w.parent = t.ID; w.Path != nil {
		w.Path.Turns = append(w.Path.Turns, t.ID)
	}
	w.Turns = append(w.Turns, t)
	return t
}

// redactedTurn returns a turn without text and name, and retired.
func redacted(t memory.Turn) memory.Turn {
	t = t.Erased()
	t.Name, t.Status = "", memory.Retired
	return t
}

// IngestBatch bounds the turns of a transaction, because other writers wait for it.
const IngestBatch = 500

// writeBatch stores the batch that makeBatch returns, and calls makeBatch again after a Conflict. With
// clientWaits, a job computes the vectors later.
func (e *Exchanges) write(ctx context.Context, owner memory.Owner, conversation string, waits bool, plan func(again bool) (writing, error)) error {
	leave, err := e.Writes.Enter(ctx, owner, conversation)
	if err != nil {
		return err
	}
	defer leave()
	again := false
	return core.Replan(ctx, func() error {
		w, err := plan(again)
		again = true
		if err != nil || len(w.Turns)+len(w.Marks)+len(w.Jobs) == 0 {
			return err
		}
		if len(w.redactedTurns) > 0 {
			if err := e.Store.Bury(ctx, owner, w.redactedTurns...); err != nil {
				return fmt.Errorf("mark redacted turns: %w", err)
			}
		}
		for turns := w.Turns; ; turns = turns[IngestBatch:] { // the last transaction stores the jobs
			part := w.Batch
			if part.Turns = turns; len(turns) > IngestBatch {
				part.Turns, part.Jobs, part.Run = turns[:IngestBatch:IngestBatch], nil, core.NewID()
			}
			if !waits || core.OfWords(e.Embedder) {
				if part.Vectors, err = e.TurnVectors(ctx, part.Turns); err != nil {
					return err
				}
			}
			if _, err := e.Store.Append(ctx, owner, part); err != nil || len(turns) <= IngestBatch {
				return err
			}
			w.Marks = nil
		}
	})
}

// redactForgotten redacts new turns of history that the owner has forgotten or erased. Without it, a
// client that sends an old chat with a new id would restore the text.
func (e *Exchanges) redactForgotten(ctx context.Context, owner memory.Owner, w *writing, at thread.Alignment) error {
	var history []memory.Turn
	var of []int
	for i, t := range w.Turns {
		if at.New[i].History && t.Content != "" {
			history, of = append(history, t), append(of, i)
		}
	}
	if len(history) == 0 {
		return nil
	}
	gone, err := e.Store.Buried(ctx, owner, history...)
	if err != nil {
		return fmt.Errorf("find forgotten messages: %w", err)
	}
	for i, found := range gone {
		if found {
			w.Turns[of[i]] = redacted(w.Turns[of[i]])
		}
	}
	return nil
}
