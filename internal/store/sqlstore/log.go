package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/loci-memory/loci/memory"
)

// recordKind is the kind of the runs that store the changes of a batch.
const record = "record"

// Append writes a batch: see [memory.Log].
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if err := errors.Join(checkOwner(owner), b.Check(owner)); err != nil {
		return memory.Receipt{}, err
	}
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.append(owner, b) })
}

func (t *tx) append(owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	marked := false
	if b.Run != "" && (len(b.Marks) > 0 || len(b.Turns) == 0) {
		var err error
		if _, marked, err = t.receipt(owner, b.Run); err != nil {
			return memory.Receipt{}, err
		}
	}
	if marked {
		b.Marks = nil
	}
	if len(b.Turns) == 0 && marked {
		return t.unchanged(owner, b.Run)
	}
	draft, there, err := t.present(owner, b)
	if err != nil {
		return memory.Receipt{}, err
	}
	w, err := t.begin(owner, true)
	if err != nil {
		return memory.Receipt{}, err
	}
	fresh, err := w.turns(b.Conversation, b.Turns, there)
	if err != nil {
		return memory.Receipt{}, err
	}
	if len(b.Turns) > 0 && fresh == 0 { // all turns were stored before
		return t.unchanged(owner, b.Run)
	}
	if err := checkPath(b, draft); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.changes(b.Run, memory.Author{}, b.Marks); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.vectors(b.Vectors); err != nil {
		return memory.Receipt{}, err
	}
	if len(b.Marks) > 0 {
		return w.finish(memory.Run{ID: b.Run, Kind: record, Jobs: b.Jobs}, len(b.Marks))
	}
	if err := w.enqueue(b.Jobs); err != nil {
		return memory.Receipt{}, err
	}
	return memory.Receipt{Run: b.Run, Version: w.version, At: w.at}, w.end()
}

// earlierReceipt returns the receipt of a batch that was stored earlier.
func (t *tx) unchanged(owner memory.Owner, run string) (memory.Receipt, error) {
	last, err := t.owner(owner)
	return memory.Receipt{Run: run, Again: true, Version: last.version, At: last.clock}, err
}

// writeTurns writes the turns that are not stored yet, with their conversation, and returns the number
// of written turns. If all turns are stored, it writes nothing.
func (w *write) turns(c memory.Conversation, turns []memory.Turn, there map[string]bool) (fresh int, err error) {
	messages := 0
	for _, t := range turns {
		if there[t.ID] {
			continue
		}
		there[t.ID] = true
		fresh++
		if t.Status == memory.Active && (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) {
			messages++
		}
		if err := w.turn(t); err != nil {
			return 0, fmt.Errorf("write turn %s: %w", t.ID, err)
		}
	}
	if len(turns) > 0 && fresh == 0 {
		return 0, nil
	}
	return fresh, w.converse(c, messages)
}

func (w *write) turn(t memory.Turn) error {
	t.CreatedAt, t.LearnedAt = memory.Time(t.CreatedAt), memory.Time(t.LearnedAt)
	t.RecordedAt, t.Version = w.at, w.version
	w.wrote[t.ID] = true
	err := w.insert(insertTurn, w.owner, turnFields(&t)...)
	if err != nil || t.Status != memory.Retired {
		return err
	}
	return w.bury(w.owner, t.ID, t.Role, t.Content)
}

// writeConversation inserts a conversation, or updates the stored one.
func (w *write) converse(c memory.Conversation, messages int) error {
	if c.CreatedAt = memory.Time(c.CreatedAt); c.CreatedAt.IsZero() {
		c.CreatedAt = w.at
	}
	if c.UpdatedAt = memory.Time(c.UpdatedAt); c.UpdatedAt.IsZero() {
		c.UpdatedAt = w.at
	}
	c.Status, c.Version, c.MessageCount = cmp.Or(c.Status, memory.Active), 0, messages
	err := w.insert(insertConversation+` ON CONFLICT (owner, id) DO UPDATE SET
		title = CASE WHEN conversations.title = '' AND conversations.version = 0 THEN excluded.title ELSE conversations.title END,
		message_count = conversations.message_count + excluded.message_count,
		updated_at = CASE WHEN excluded.updated_at > conversations.updated_at THEN excluded.updated_at ELSE conversations.updated_at END`,
		w.owner, conversationFields(&c)...)
	return wrap("write the conversation", err)
}
