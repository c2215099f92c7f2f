package mem0

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

const (
	maxBatch    = 1000 // maximum number of rows of a batch
	deleteChunk = 2000 // maximum number of memories forgotten in one run
)

// factByClientID returns the active or pending fact with a client's id, and a caller for the owner in this id.
func (h *handler) factByClientID(c *call, clientID string) (caller, memory.Fact, error) {
	who, id, err := h.resolveID(c, clientID)
	if err != nil {
		return who, memory.Fact{}, err
	}
	m, err := h.engine.Get(c.Context(), who.owner, id)
	if err != nil {
		return who, memory.Fact{}, err
	}
	if m.Fact == nil || !m.Status().Live() {
		return who, memory.Fact{}, memory.Errorf(memory.NotFound, "no such memory: %s", id)
	}
	return who, *m.Fact, nil
}

func (h *handler) getMemory(c *call) (any, error) {
	who, f, err := h.factByClientID(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return itemOf(who, memory.Memory{Fact: &f}), nil
}

// updateBody is the body of an update, or a row of a batch.
type updateBody struct {
	ID         string          `json:"memory_id"`
	Text       *string         `json:"text"`
	Metadata   json.RawMessage `json:"metadata"`
	Timestamp  any             `json:"timestamp"`
	Expiration json.RawMessage `json:"expiration_date"`
}

// memoryEdit is a validated update.
type memoryEdit struct {
	caller  caller
	fact    memory.Fact
	changes curate.FactEdit
}

// validateUpdate validates an update of a memory.
func (h *handler) validateUpdate(c *call, id string, b updateBody) (memoryEdit, error) {
	var out memoryEdit
	if b.Text != nil {
		if strings.TrimSpace(*b.Text) == "" {
			return out, memory.Errorf(memory.Invalid, "text: is empty")
		}
		if err := h.checkLength(*b.Text); err != nil {
			return out, err
		}
		out.changes.Content = b.Text
	}
	metadata, err := parseMetadata(b.Metadata)
	if err != nil {
		return out, err
	}
	if len(b.Metadata) > 0 {
		out.changes.Metadata = &metadata
	}
	if len(b.Expiration) > 0 {
		var value any
		if err := json.Unmarshal(b.Expiration, &value); err != nil {
			return out, err
		}
		at, err := parseExpiration(value)
		if err != nil {
			return out, err
		}
		if at == nil {
			at = &time.Time{}
		}
		out.changes.ExpiresAt = at
	}
	if b.Timestamp != nil {
		return out, memory.Errorf(memory.Invalid, "timestamp: cannot be changed; add the memory again with that timestamp")
	}
	if out.changes.Content == nil && out.changes.Metadata == nil && out.changes.ExpiresAt == nil {
		return out, memory.Errorf(memory.Invalid, "missing text, metadata or expiration_date")
	}
	out.caller, out.fact, err = h.factByClientID(c, id)
	return out, err
}

func (h *handler) updateMemory(c *call) (any, error) {
	var b updateBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	e, err := h.validateUpdate(c, c.PathValue("id"), b)
	if err != nil {
		return nil, err
	}
	f, err := h.engine.Curate.EditFact(c.Context(), e.caller.owner, e.fact.ID, e.changes, e.caller.author)
	if err != nil {
		return nil, err
	}
	if c.version == "" {
		return messageResponse("Memory updated successfully!"), nil
	}
	out := itemOf(e.caller, memory.Memory{Fact: &f})
	return struct {
		item
		Text string `json:"text"`
	}{out, out.Content}, nil
}

func messageResponse(text string) map[string]string { return map[string]string{"message": text} }

func (c *call) parseBatch() ([]updateBody, error) {
	var b struct{ Memories []json.RawMessage }
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if len(b.Memories) == 0 || len(b.Memories) > maxBatch {
		return nil, memory.Errorf(memory.Invalid, "memories: has %d rows; valid: 1 to %d", len(b.Memories), maxBatch)
	}
	out := make([]updateBody, len(b.Memories))
	for i, raw := range b.Memories {
		if json.Unmarshal(raw, &out[i]) != nil || out[i].ID == "" {
			return nil, memory.Errorf(memory.Invalid, "memories[%d]: must have memory_id and the fields to change", i)
		}
	}
	return out, nil
}

// updateBatch validates all rows before it changes anything.
func (h *handler) updateBatch(c *call) (any, error) {
	rows, err := c.parseBatch()
	if err != nil {
		return nil, err
	}
	var edits []memoryEdit
	seen := map[string]bool{}
	for i, b := range rows {
		e, err := h.validateUpdate(c, b.ID, b)
		if err == nil && seen[b.ID] {
			err = memory.Errorf(memory.Invalid, "duplicate memory_id %s", b.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("memories[%d]: %w", i, err)
		}
		seen[b.ID], edits = true, append(edits, e)
	}
	for _, e := range edits {
		if _, err := h.engine.Curate.EditFact(c.Context(), e.caller.owner, e.fact.ID, e.changes, e.caller.author); err != nil {
			return nil, err
		}
	}
	return messageResponse(fmt.Sprintf("Successfully updated %d memories", len(edits))), nil
}

// deleteBatch validates all rows before it deletes anything, in one run per owner.
func (h *handler) deleteBatch(c *call) (any, error) {
	rows, err := c.parseBatch()
	if err != nil {
		return nil, err
	}
	var callers []caller
	idsByOwner := map[memory.Owner][]string{}
	for i, b := range rows {
		who, f, err := h.factByClientID(c, b.ID)
		if err != nil {
			return nil, fmt.Errorf("memories[%d]: %w", i, err)
		}
		if len(idsByOwner[who.owner]) == 0 {
			callers = append(callers, who)
		}
		if !slices.Contains(idsByOwner[who.owner], f.ID) {
			idsByOwner[who.owner] = append(idsByOwner[who.owner], f.ID)
		}
	}
	for _, who := range callers {
		if err := h.forgetIDs(c, who, idsByOwner[who.owner]); err != nil {
			return nil, err
		}
	}
	return messageResponse(fmt.Sprintf("Successfully deleted %d memories", len(rows))), nil
}

func (h *handler) forgetIDs(c *call, actor caller, ids []string) error {
	_, _, err := h.engine.Curate.ForgetMatching(c.Context(), actor.owner, curate.ForgetRequest{IDs: ids}, actor.author)
	return err
}

func (h *handler) deleteMemory(c *call) (any, error) {
	who, f, err := h.factByClientID(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return messageResponse("Memory deleted successfully!"), h.forgetIDs(c, who, []string{f.ID})
}

// deleteAll forgets the facts, turns and summaries with the ids of the query.
func (h *handler) deleteAll(c *call) (any, error) {
	wanted, err := idsFromQuery(c.query)
	if err != nil {
		return nil, err
	}
	if wanted == (ids{}) {
		return nil, memory.Errorf(memory.Invalid, "missing user_id, agent_id, app_id or run_id; * matches any id")
	}
	return messageResponse("Memories deleted successfully!"), h.forgetAll(c, wanted)
}

// forgetAll forgets all memories with the wanted ids.
func (h *handler) forgetAll(c *call, wanted ids) error {
	who, err := h.callerFor(c, wanted.ownerName())
	if err != nil {
		return err
	}
	var matches []string
	live := memory.Query{
		Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: []memory.Status{memory.Active, memory.Pending},
	}
	if err := h.walkMemories(c, who.owner, live, func(m memory.Memory) {
		if who.hasIDs(m, wanted, false) {
			matches = append(matches, m.ID())
		}
	}); err != nil {
		return err
	}
	for chunk := range slices.Chunk(matches, deleteChunk) {
		if err := h.forgetIDs(c, who, chunk); err != nil && !errors.Is(err, memory.NotFound) {
			return err
		}
	}
	return nil
}

// historyEntry is one change in the history of a memory.
type historyEntry struct {
	ID         string          `json:"id"`
	MemoryID   string          `json:"memory_id"`
	Input      []any           `json:"input"`
	OldContent *string         `json:"old_memory"`
	NewContent *string         `json:"new_memory"`
	User       string          `json:"user_id"`
	Event      string          `json:"event"`
	Metadata   json.RawMessage `json:"metadata"`
	Created    time.Time       `json:"created_at"`
	Updated    time.Time       `json:"updated_at"`
	Deleted    bool            `json:"is_deleted"`
}

// getHistory lists the changes of a memory, oldest first, even if the memory was deleted.
func (h *handler) getHistory(c *call) (any, error) {
	who, id, err := h.resolveID(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := []historyEntry{}
	for change, err := range memory.Pages(func(cursor string) ([]memory.Change, string, error) {
		page, err := h.engine.History(c.Context(), who.owner, id, cursor)
		return page.Changes, page.Next, err
	}) {
		if err != nil {
			return nil, err
		}
		if p, ok := historyEntryOf(who, id, change); ok {
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// historyEntryOf converts a change of a fact, and reports whether clients see this change in the history.
func historyEntryOf(actor caller, id string, change memory.Change) (historyEntry, bool) {
	after, before := change.After.Fact, change.Before.Fact
	if after == nil || after.ID != id {
		return historyEntry{}, false
	}
	out := historyEntry{
		ID: change.ID, MemoryID: actor.clientID(id), Input: []any{}, User: actor.idsOf(memory.Memory{Fact: after}).User,
		Metadata: after.Metadata, Created: after.CreatedAt, Updated: change.At,
	}
	if before != nil && before.Content != "" {
		out.OldContent = &before.Content
	}
	switch {
	case !after.Status.Live():
		out.Event, out.Deleted = "DELETE", true
		return out, before == nil || before.Status.Live()
	case before == nil:
		out.Event = "ADD"
	default:
		out.Event = "UPDATE"
	}
	out.NewContent = &after.Content
	return out, before == nil || !before.Status.Live() || before.Content != after.Content || string(before.Metadata) != string(after.Metadata) || !before.ExpiresAt.Equal(after.ExpiresAt)
}

// addFeedback raises or lowers the confidence of a memory.
func (h *handler) addFeedback(c *call) (any, error) {
	var b struct {
		ID       string `json:"memory_id"`
		Feedback string `json:"feedback"`
		Reason   string `json:"feedback_reason"`
	}
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	verdicts := map[string]curate.Verdict{"POSITIVE": curate.Useful, "NEGATIVE": curate.Wrong, "VERY_NEGATIVE": curate.Wrong}
	b.Feedback = strings.ToUpper(b.Feedback)
	verdict, ok := verdicts[b.Feedback]
	if !ok {
		return nil, memory.Errorf(memory.Invalid, "feedback: valid: POSITIVE, NEGATIVE, VERY_NEGATIVE; feedback cannot be withdrawn")
	}
	who, f, err := h.factByClientID(c, b.ID)
	if err != nil {
		return nil, err
	}
	if _, err := h.engine.Curate.Rate(c.Context(), who.owner, f.ID, verdict, "", who.author); err != nil {
		return nil, err
	}
	return map[string]string{"message": "Feedback noted", "id": b.ID, "memory_id": b.ID, "feedback": b.Feedback, "feedback_reason": b.Reason}, nil
}
