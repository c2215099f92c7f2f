package sqlstore

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

const conversationColumns = `id, project, agent, title, contexts, rules, message_count, created_at, updated_at, status, version`

func scanConversation(owner memory.Owner, row scanner) (memory.Conversation, error) {
	c := memory.Conversation{Owner: owner}
	err := row.Scan(&c.ID, &c.Project, &c.Agent, &c.Title, asList{&c.Contexts}, &c.Rules, &c.MessageCount,
		asTime{&c.CreatedAt}, asTime{&c.UpdatedAt}, &c.Status, &c.Version)
	return c, err
}

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
	limit := limited(q.Limit)
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
	if len(page.Conversations) > limit {
		page.Conversations = page.Conversations[:limit]
		last := page.Conversations[limit-1]
		page.Next = cursor{micros(last.UpdatedAt), last.ID}.String()
	}
	return page, err
}
