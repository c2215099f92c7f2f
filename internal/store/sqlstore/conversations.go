package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Conversations returns conversations: see [memory.Log].
func (s *Store) Conversations(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	w := ofOwner()
	w.oneOf(`id`, q.IDs)
	if q.Project != "" {
		w.and(`project = ?`, q.Project)
	}
	if statuses := statusTexts(q.Statuses, len(q.IDs) > 0); len(statuses) > 0 {
		w.oneOf(`status`, statuses)
	}
	if err := w.after(q.Cursor, `updated_at`); err != nil {
		return memory.ConversationPage{}, err
	}
	limit := shelf.Limit(q.Limit)
	var page memory.ConversationPage
	err := s.reads.look(ctx, owner, func(v *view) error {
		query := v.brief().query
		if len(q.IDs) == 0 {
			query = v.brief().queryPage
		}
		rows, err := query(`SELECT `+conversationColumns+` FROM conversations `+w.text()+`
			ORDER BY updated_at DESC, id DESC`+limitOf(limit+1), w.args...)
		page.Conversations, err = collect(rows, err, func(row scanner) (memory.Conversation, error) {
			return scanConversation(owner, row)
		})
		return wrap("list conversations", err)
	})
	if err != nil {
		return memory.ConversationPage{}, err
	}
	page.Conversations, page.Next, err = shelf.Cut(page.Conversations, q.Limit, q.Cursor, func(c memory.Conversation) shelf.Place {
		return shelf.Place{At: c.UpdatedAt, ID: c.ID}
	})
	return page, err
}
