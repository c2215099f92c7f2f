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
	mostInBatch = 1000
	deletedEach = 2000 // maximum number of memories per run
)

// liveFact returns a live fact by a client's id.
func (h *handler) fact(c *call, outside string) (caller, memory.Fact, error) {
	who, id, err := h.inside(c, outside)
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

func (h *handler) get(c *call) (any, error) {
	who, f, err := h.fact(c, c.PathValue("id"))
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
type edit struct {
	who  caller
	fact memory.Fact
	edit curate.Edit
}

// validateUpdate validates an update of a memory.
func (h *handler) edit(c *call, id string, b updateBody) (edit, error) {
	var out edit
	if b.Text != nil {
		if strings.TrimSpace(*b.Text) == "" {
			return out, memory.Errorf(memory.Invalid, "text: is empty")
		}
		if err := h.checkLength(*b.Text); err != nil {
			return out, err
		}
		out.edit.Content = b.Text
	}
	metadata, err := metadataIn(b.Metadata)
	if err != nil {
		return out, err
	}
	if len(b.Metadata) > 0 {
		out.edit.Metadata = &metadata
	}
	if len(b.Expiration) > 0 {
		var value any
		if err := json.Unmarshal(b.Expiration, &value); err != nil {
			return out, err
		}
		at, err := expiration(value)
		if err != nil {
			return out, err
		}
		if at == nil {
			at = &time.Time{}
		}
		out.edit.ExpiresAt = at
	}
	if b.Timestamp != nil {
		return out, memory.Errorf(memory.Invalid, "timestamp: cannot be changed; add the memory again with that timestamp")
	}
	if out.edit.Content == nil && out.edit.Metadata == nil && out.edit.ExpiresAt == nil {
		return out, memory.Errorf(memory.Invalid, "missing text, metadata or expiration_date")
	}
	out.who, out.fact, err = h.fact(c, id)
	return out, err
}

func (h *handler) update(c *call) (any, error) {
	var b updateBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	e, err := h.edit(c, c.PathValue("id"), b)
	if err != nil {
		return nil, err
	}
	f, err := h.engine.Curate.EditFact(c.Context(), e.who.owner, e.fact.ID, e.edit, e.who.author)
	if err != nil {
		return nil, err
	}
	if c.version == "" {
		return acknowledged("Memory updated successfully!"), nil
	}
	out := itemOf(e.who, memory.Memory{Fact: &f})
	return struct {
		item
		Text string `json:"text"`
	}{out, out.Memory}, nil
}

func acknowledged(text string) map[string]string { return map[string]string{"message": text} }

// batchRows parses the rows of a batch.
func (c *call) rows() ([]updateBody, error) {
	var b struct{ Memories []json.RawMessage }
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if len(b.Memories) == 0 || len(b.Memories) > mostInBatch {
		return nil, memory.Errorf(memory.Invalid, "memories: has %d rows; valid: 1 to %d", len(b.Memories), mostInBatch)
	}
	out := make([]updateBody, len(b.Memories))
	for i, raw := range b.Memories {
		if json.Unmarshal(raw, &out[i]) != nil || out[i].ID == "" {
			return nil, memory.Errorf(memory.Invalid, "memories[%d]: must have memory_id and the fields to change", i)
		}
	}
	return out, nil
}

// batchUpdate validates all rows before it changes anything.
func (h *handler) batchUpdate(c *call) (any, error) {
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	var edits []edit
	seen := map[string]bool{}
	for i, b := range rows {
		e, err := h.edit(c, b.ID, b)
		if err == nil && seen[b.ID] {
			err = memory.Errorf(memory.Invalid, "duplicate memory_id %s", b.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("memories[%d]: %w", i, err)
		}
		seen[b.ID], edits = true, append(edits, e)
	}
	for _, e := range edits {
		if _, err := h.engine.Curate.EditFact(c.Context(), e.who.owner, e.fact.ID, e.edit, e.who.author); err != nil {
			return nil, err
		}
	}
	return acknowledged(fmt.Sprintf("Successfully updated %d memories", len(edits))), nil
}

// batchDelete validates all rows before it deletes anything, in one run per owner.
func (h *handler) batchDelete(c *call) (any, error) {
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	var callers []caller
	of := map[memory.Owner][]string{}
	for i, b := range rows {
		who, f, err := h.fact(c, b.ID)
		if err != nil {
			return nil, fmt.Errorf("memories[%d]: %w", i, err)
		}
		if len(of[who.owner]) == 0 {
			callers = append(callers, who)
		}
		if !slices.Contains(of[who.owner], f.ID) {
			of[who.owner] = append(of[who.owner], f.ID)
		}
	}
	for _, who := range callers {
		if err := h.forget(c, who, of[who.owner]); err != nil {
			return nil, err
		}
	}
	return acknowledged(fmt.Sprintf("Successfully deleted %d memories", len(rows))), nil
}

func (h *handler) forget(c *call, who caller, ids []string) error {
	_, _, err := h.engine.Curate.ForgetMatching(c.Context(), who.owner, curate.Matching{IDs: ids}, who.author)
	return err
}

func (h *handler) delete(c *call) (any, error) {
	who, f, err := h.fact(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return acknowledged("Memory deleted successfully!"), h.forget(c, who, []string{f.ID})
}

// deleteAll forgets the facts, turns and summaries with the ids of the query.
func (h *handler) deleteAll(c *call) (any, error) {
	of, err := idsIn(c.query)
	if err != nil {
		return nil, err
	}
	if of == (ids{}) {
		return nil, memory.Errorf(memory.Invalid, "missing user_id, agent_id, app_id or run_id; * matches any")
	}
	return acknowledged("Memories deleted successfully!"), h.deleteOf(c, of)
}

// forgetAll forgets all memories with the wanted ids.
func (h *handler) deleteOf(c *call, of ids) error {
	who, err := h.caller(c, of.place())
	if err != nil {
		return err
	}
	var gone []string
	live := memory.Query{
		Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Statuses: []memory.Status{memory.Active, memory.Pending},
	}
	if err := h.walk(c, who.owner, live, func(m memory.Memory) {
		if who.has(m, of, false) {
			gone = append(gone, m.ID())
		}
	}); err != nil {
		return err
	}
	for some := range slices.Chunk(gone, deletedEach) {
		if err := h.forget(c, who, some); err != nil && !errors.Is(err, memory.NotFound) {
			return err
		}
	}
	return nil
}

// historyEntry is one change in the history of a memory.
type past struct {
	ID       string          `json:"id"`
	MemoryID string          `json:"memory_id"`
	Input    []any           `json:"input"`
	Old      *string         `json:"old_memory"`
	New      *string         `json:"new_memory"`
	User     string          `json:"user_id"`
	Event    string          `json:"event"`
	Metadata json.RawMessage `json:"metadata"`
	Created  time.Time       `json:"created_at"`
	Updated  time.Time       `json:"updated_at"`
	Deleted  bool            `json:"is_deleted"`
}

// history lists the changes of a memory, oldest first, even if the memory was deleted.
func (h *handler) history(c *call) (any, error) {
	who, id, err := h.inside(c, c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := []past{}
	for change, err := range memory.Pages(func(cursor string) ([]memory.Change, string, error) {
		page, err := h.engine.History(c.Context(), who.owner, id, cursor)
		return page.Changes, page.Next, err
	}) {
		if err != nil {
			return nil, err
		}
		if p, ok := pastOf(who, id, change); ok {
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// historyEntryOf converts a change of a fact, and reports whether clients see the change.
func pastOf(who caller, id string, change memory.Change) (past, bool) {
	next, was := change.After.Fact, change.Before.Fact
	if next == nil || next.ID != id {
		return past{}, false
	}
	out := past{
		ID: change.ID, MemoryID: who.outside(id), Input: []any{}, User: who.idsOf(memory.Memory{Fact: next}).User,
		Metadata: next.Metadata, Created: next.CreatedAt, Updated: change.At,
	}
	if was != nil && was.Content != "" {
		out.Old = &was.Content
	}
	switch {
	case !next.Status.Live():
		out.Event, out.Deleted = "DELETE", true
		return out, was == nil || was.Status.Live()
	case was == nil:
		out.Event = "ADD"
	default:
		out.Event = "UPDATE"
	}
	out.New = &next.Content
	return out, was == nil || !was.Status.Live() || was.Content != next.Content || string(was.Metadata) != string(next.Metadata) || !was.ExpiresAt.Equal(next.ExpiresAt)
}

// feedback raises or lowers the confidence of a memory.
func (h *handler) feedback(c *call) (any, error) {
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
	who, f, err := h.fact(c, b.ID)
	if err != nil {
		return nil, err
	}
	if _, err := h.engine.Curate.Rate(c.Context(), who.owner, f.ID, verdict, "", who.author); err != nil {
		return nil, err
	}
	return map[string]string{"message": "Feedback noted", "id": b.ID, "memory_id": b.ID, "feedback": b.Feedback, "feedback_reason": b.Reason}, nil
}
