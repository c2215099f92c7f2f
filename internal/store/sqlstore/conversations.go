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
	limit := shelf.PageSize(q.Limit)
	var found []memory.Conversation
	err := s.reads.look(ctx, owner, func(v *view) error {
		found = nil
		return wrap("list conversations", v.brief().askPage(v.asking(`SELECT `+conversationColumns+` FROM conversations `+w.text()+`
			ORDER BY updated_at DESC, id DESC`+limitOf(limit+1), w.args, func(row scanner) error {
			c, err := scanConversation(owner, row)
			found = append(found, c)
			return err
		})))
	})
	if err != nil {
		return memory.ConversationPage{}, err
	}
	some, next, err := shelf.PageAfter(found, q.Limit, q.Cursor, func(c memory.Conversation) shelf.Place {
		return shelf.Place{At: c.UpdatedAt, ID: c.ID}
	})
	return memory.ConversationPage{Conversations: some, Next: next}, err
}
