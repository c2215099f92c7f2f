package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// recordKind is the kind of a run that applies the changes of a batch.
const recordKind = "record"

// Append writes a batch: see [memory.TurnLog].
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if err := errors.Join(checkOwner(owner), b.Check(owner)); err != nil {
		return memory.Receipt{}, err
	}
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.appendBatch(owner, b) })
}

func (t *tx) appendBatch(owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	marked := false
	if b.Run != "" && (len(b.Changes) > 0 || len(b.Turns) == 0) {
		var err error
		if _, marked, err = t.storedReceipt(owner, b.Run); err != nil {
			return memory.Receipt{}, err
		}
	}
	if marked {
		b.Changes = nil
	}
	if len(b.Turns) == 0 && marked {
		return t.earlierReceipt(owner, b.Run)
	}
	pathData, storedIDs, err := t.loadPath(owner, b)
	if err != nil {
		return memory.Receipt{}, err
	}
	w, err := t.beginOwnerWrite(owner, true)
	if err != nil {
		return memory.Receipt{}, err
	}
	added, err := w.writeTurns(b.Conversation, b.Turns, storedIDs)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(b.Turns) > 0 && added == 0 { // all turns were stored before
		return t.earlierReceipt(owner, b.Run)
	}
	if err := checkPath(b, pathData); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.applyChanges(b.Run, memory.Author{}, b.Changes); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.writeVectors(b.Vectors); err != nil {
		return memory.Receipt{}, err
	}
	if len(b.Changes) > 0 {
		return w.finishRun(memory.Run{ID: b.Run, Kind: recordKind, Jobs: b.Jobs}, len(b.Changes))
	}
	if err := w.enqueueJobs(b.Jobs); err != nil {
		return memory.Receipt{}, err
	}
	return memory.Receipt{Run: b.Run, Version: w.version, At: w.at}, w.saveOwnerVersion()
}

// earlierReceipt returns the receipt for a batch that is stored already, with the owner's version.
func (t *tx) earlierReceipt(owner memory.Owner, runID string) (memory.Receipt, error) {
	last, err := t.readOwnerVersion(owner)
	return memory.Receipt{Run: runID, Again: true, Version: last.version, At: last.lastWrite}, err
}

// writeTurns writes the turns that are not stored yet, with their conversation, and returns the number
// of turns it wrote. If all turns are stored already, it does not write the conversation either.
func (w *ownerWrite) writeTurns(c memory.Conversation, turns []memory.Turn, storedIDs map[string]bool) (addedCount int, err error) {
	messageCount := 0
	for _, t := range turns {
		if storedIDs[t.ID] {
			continue
		}
		storedIDs[t.ID] = true
		addedCount++
		if t.Status == memory.Active && (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) {
			messageCount++
		}
		if err := w.writeTurn(t); err != nil {
			return 0, fmt.Errorf("write turn %s: %w", t.ID, err)
		}
	}
	if len(turns) > 0 && addedCount == 0 {
		return 0, nil
	}
	return addedCount, w.writeConversation(c, messageCount)
}

func (w *ownerWrite) writeTurn(t memory.Turn) error {
	t.CreatedAt, t.LearnedAt = memory.Time(t.CreatedAt), memory.Time(t.LearnedAt)
	t.RecordedAt, t.Version = w.at, w.version
	w.writtenIDs[t.ID] = true
	err := w.insert(insertTurn, w.owner, turnFields(&t)...)
	if err != nil || t.Status != memory.Retired {
		return err
	}
	return w.storeTombstone(w.owner, t.ID, t.Role, t.Content)
}

// writeConversation inserts a conversation, or updates the stored one.
func (w *ownerWrite) writeConversation(c memory.Conversation, messageCount int) error {
	if c.CreatedAt = memory.Time(c.CreatedAt); c.CreatedAt.IsZero() {
		c.CreatedAt = w.at
	}
	if c.UpdatedAt = memory.Time(c.UpdatedAt); c.UpdatedAt.IsZero() {
		c.UpdatedAt = w.at
	}
	c.Status, c.Version, c.MessageCount = cmp.Or(c.Status, memory.Active), 0, messageCount
	err := w.insert(insertConversation+` ON CONFLICT (owner, id) DO UPDATE SET
		title = CASE WHEN conversations.title = '' AND conversations.version = 0 THEN excluded.title ELSE conversations.title END,
		message_count = conversations.message_count + excluded.message_count,
		updated_at = CASE WHEN excluded.updated_at > conversations.updated_at THEN excluded.updated_at ELSE conversations.updated_at END`,
		w.owner, conversationFields(&c)...)
	return wrap("write the conversation", err)
}
