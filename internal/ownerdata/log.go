package ownerdata

import (
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Append writes a batch: see [memory.TurnLog]. After an error the data may be half changed.
func (s *Data) Append(owner memory.Owner, b memory.Batch, now time.Time) (memory.Receipt, error) {
	if err := b.Check(owner); err != nil {
		return memory.Receipt{}, err
	}
	_, marked := s.Runs[b.Run]
	if marked {
		b.Changes = nil
	}
	if s.hasAllTurns(b.Turns) || len(b.Turns) == 0 && marked {
		return memory.Receipt{Run: b.Run, Version: s.Version, At: s.LastWrite, Again: true}, nil
	}
	at := s.nextTime(now)
	s.Version++
	s.putConversation(b.Conversation, at)
	for _, t := range b.Turns {
		if _, ok := s.Turns[t.ID]; ok {
			continue
		}
		t = copyTurn(t)
		t.RecordedAt, t.Version = at, s.Version
		if t.Status == memory.Retired {
			s.addTombstone(t)
		}
		s.Turns[t.ID] = t
	}
	if err := s.checkTurnChanges(b); err != nil {
		return memory.Receipt{}, err
	}
	if err := s.applyChanges(owner, b.Run, memory.Author{}, b.Changes); err != nil {
		return memory.Receipt{}, err
	}
	if err := s.checkPath(b); err != nil {
		return memory.Receipt{}, err
	}
	s.putVectors(b.Vectors)
	s.enqueueJobs(b.Jobs)
	receipt := memory.Receipt{Run: b.Run, Version: s.Version, At: at, Changes: len(b.Changes)}
	if len(b.Changes) > 0 {
		s.Runs[b.Run] = RunRecord{Receipt: receipt}
	}
	return receipt, nil
}

// CheckPath applies the changes of a batch whose turns are already in the data. It returns the same
// Conflict as Append if the path differs or the batch has active turns in a deleted conversation.
func (s *Data) CheckPath(b memory.Batch) error {
	if err := s.checkTurnChanges(b); err != nil {
		return err
	}
	for _, c := range b.Changes {
		s.putState(c.After)
	}
	return s.checkPath(b)
}

// checkTurnChanges returns a Conflict if a change of the batch would restore a retired turn.
func (s *Data) checkTurnChanges(b memory.Batch) error {
	if b.Path == nil {
		return nil
	}
	for _, c := range b.Changes {
		if next := c.After.Turn; next != nil && !b.Path.AllowsStatus(s.Turns[next.ID].Status, next.Status) {
			return memory.Errorf(memory.Conflict, "turn %s of conversation %s was forgotten before this write", next.ID, b.Conversation.ID)
		}
	}
	return nil
}

// checkPath returns a Conflict if the stored path differs from b.Path, or if the batch has active turns
// in a deleted conversation.
func (s *Data) checkPath(b memory.Batch) error {
	if b.Path == nil {
		return nil
	}
	isValid := b.Path.Checker()
	for _, t := range s.Turns {
		if t.Conversation == b.Conversation.ID && !isValid(t.ID, t.Index, t.Status) {
			return memory.Errorf(memory.Conflict, "the path of conversation %s changed before this write: turn %s is %s", b.Conversation.ID, t.ID, t.Status)
		}
	}
	deleted := s.Conversations[b.Conversation.ID].Status == memory.Retired
	if deleted && b.HasActiveTurn(func(turn string) memory.Status { return s.Turns[turn].Status }) {
		return memory.Errorf(memory.Conflict, "conversation %s was deleted before this write", b.Conversation.ID)
	}
	return nil
}

// hasAllTurns reports whether turns is not empty and all of its turns are stored.
func (s *Data) hasAllTurns(turns []memory.Turn) bool {
	for _, t := range turns {
		if _, ok := s.Turns[t.ID]; !ok {
			return false
		}
	}
	return len(turns) > 0
}

func (s *Data) putConversation(c memory.Conversation, at time.Time) {
	c = copyConversation(c)
	c.Version, c.Status = 0, cmp.Or(c.Status, memory.Active)
	if c.UpdatedAt.IsZero() {
		c.UpdatedAt = at
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = at
	}
	if stored, ok := s.Conversations[c.ID]; ok {
		title, updated := c.Title, c.UpdatedAt
		c = stored
		if stored.Version == 0 {
			c.Title = cmp.Or(stored.Title, title)
		}
		c.UpdatedAt = laterTime(stored.UpdatedAt, updated)
	}
	s.Conversations[c.ID] = c
}

func conversationMatches(q memory.ConversationQuery, c memory.Conversation) bool {
	switch {
	case len(q.IDs) > 0 && !slices.Contains(q.IDs, c.ID), q.Project != "" && q.Project != c.Project:
		return false
	case len(q.Statuses) > 0:
		return slices.Contains(q.Statuses, c.Status)
	}
	return len(q.IDs) > 0 || c.Status == memory.Active
}

func (s *Data) countMessages(conversationID string) int {
	if s.MessageCounts != nil {
		return s.MessageCounts[conversationID]
	}
	n := 0
	for _, t := range s.Turns {
		if t.Conversation == conversationID && t.Status == memory.Active && (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) {
			n++
		}
	}
	return n
}

func turnMatches(q memory.TurnQuery, t memory.Turn) bool {
	switch {
	case q.Conversation != "" && q.Conversation != t.Conversation,
		len(q.IDs) > 0 && !slices.Contains(q.IDs, t.ID),
		len(q.Chains) > 0 && !slices.Contains(q.Chains, t.Chain),
		len(q.Refs) > 0 && !slices.Contains(q.Refs, t.Ref),
		q.Unlearned && (t.Role != memory.RoleUser || !t.LearnedAt.IsZero() || t.NoLearn):
		return false
	case len(q.Statuses) > 0:
		return slices.Contains(q.Statuses, t.Status)
	}
	return len(q.Chains) > 0 || t.Status == memory.Active
}

// lastTurnsPerConversation returns the last n turns of each conversation. turns is sorted by conversation.
func lastTurnsPerConversation(turns []memory.Turn, n int) []memory.Turn {
	var last []memory.Turn
	for i, t := range turns {
		if i+n >= len(turns) || turns[i+n].Conversation != t.Conversation {
			last = append(last, t)
		}
	}
	return last
}

// turnsAt returns copies of the turns at a time. The zero time means now.
func (s *Data) turnsAt(asOf time.Time) []memory.Turn {
	var turns []memory.Turn
	for _, t := range s.Turns {
		t = copyTurn(t)
		if !asOf.IsZero() {
			if t.RecordedAt.After(asOf) {
				continue
			}
			if t.LearnedAt.After(asOf) {
				t.LearnedAt = time.Time{}
			}
			t.Status = s.turnStatusAt(t, asOf)
		}
		turns = append(turns, t)
	}
	return turns
}

// turnStatusAt returns a turn's status at asOf: the status after the turn's last change until asOf or,
// without such a change, the status before its first change after asOf.
func (s *Data) turnStatusAt(t memory.Turn, asOf time.Time) memory.Status {
	target := turnState(t).Target()
	status, marked := t.Status, false
	for _, c := range s.Journal {
		switch {
		case c.After.Target() != target:
		case !c.At.After(asOf):
			status, marked = c.After.Status(), true
		case !marked:
			return c.Before.Status()
		}
	}
	return status
}

// ListConversations returns the conversations that match a query: see [memory.TurnLog].
func (s *Data) ListConversations(q memory.ConversationQuery) (memory.ConversationPage, error) {
	var all []memory.Conversation
	for _, c := range s.Conversations {
		if conversationMatches(q, c) {
			all = append(all, copyConversation(c))
		}
	}
	all, next, err := PageAfter(all, q.Limit, q.Cursor, func(c memory.Conversation) ListPosition { return ListPosition{c.UpdatedAt, c.ID} })
	for i := range all {
		all[i].MessageCount = s.countMessages(all[i].ID)
	}
	return memory.ConversationPage{Conversations: all, Next: next}, err
}

// ListTurns returns the turns that match a query: see [memory.TurnLog].
func (s *Data) ListTurns(q memory.TurnQuery) []memory.Turn {
	return SelectTurns(s.turnsAt(q.AsOf), q)
}

// SelectTurns returns the turns that q selects, in order. The given turns have their status at q.AsOf.
func SelectTurns(turns []memory.Turn, q memory.TurnQuery) []memory.Turn {
	turns = slices.DeleteFunc(turns, func(t memory.Turn) bool { return !turnMatches(q, t) })
	slices.SortFunc(turns, func(a, b memory.Turn) int {
		return cmp.Or(cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
	})
	if q.Last > 0 {
		turns = lastTurnsPerConversation(turns, q.Last)
	}
	return turns
}
