package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Conversations returns conversations: see [memory.TurnLog].
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	w := whereOwner()
	w.inFewValues(`id`, q.IDs)
	if q.Project != "" {
		w.and(`project = ?`, q.Project)
	}
	if statuses := statusTexts(q.Statuses, len(q.IDs) > 0); len(statuses) > 0 {
		w.inFewValues(`status`, statuses)
	}
	if err := w.afterCursor(q.Cursor, `updated_at`); err != nil {
		return memory.ConversationPage{}, err
	}
	limit := ownerdata.PageSize(q.Limit)
	var matches []memory.Conversation
	err := s.reader.withConnection(ctx, owner, func(v *view) error {
		matches = nil
		return wrap("list conversations", v.withoutCancel().runPageBatch(v.ownerStatement(`SELECT `+conversationColumns+` FROM conversations `+w.clause()+`
			ORDER BY updated_at DESC, id DESC`+limitClause(limit+1), w.args, func(row scanner) error {
			c, err := scanConversation(owner, row)
			matches = append(matches, c)
			return err
		})))
	})
	if err != nil {
		return memory.ConversationPage{}, err
	}
	pageItems, next, err := ownerdata.PageAfter(matches, q.Limit, q.Cursor, func(c memory.Conversation) ownerdata.ListPosition {
		return ownerdata.ListPosition{At: c.UpdatedAt, ID: c.ID}
	})
	return memory.ConversationPage{Conversations: pageItems, Next: next}, err
}
