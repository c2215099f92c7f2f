package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/memory"
)

const contextColumns = `id, title, content, status, created_at, updated_at, version`

func scanContext(owner memory.Owner, row scanner) (memory.Context, error) {
	c := memory.Context{Owner: owner}
	err := row.Scan(&c.ID, &c.Title, &c.Content, &c.Status, asTime{&c.CreatedAt}, asTime{&c.UpdatedAt}, &c.Version)
	return c, err
}

// Contexts returns active contexts: see [memory.Facts].
func (s *Store) Contexts(ctx context.Context, owner memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	var contexts []memory.Context
	see := s.reads.see
	if at.AsOf.IsZero() {
		see = s.reads.look
	}
	asked := func(c memory.Context) bool { return len(ids) == 0 || slices.Contains(ids, c.ID) }
	err := see(ctx, owner, func(v *view) error {
		w := ofOwner()
		w.oneOf(`id`, ids)
		rows, err := v.query(`SELECT `+contextColumns+` FROM contexts `+w.text(), w.args...)
		contexts, err = collect(rows, err, func(row scanner) (memory.Context, error) { return scanContext(owner, row) })
		if err != nil {
			return fmt.Errorf("read contexts: %w", err)
		}
		if at.AsOf.IsZero() {
			return nil
		}
		p, err := v.past(at.AsOf)
		contexts = asOf(contexts, p, contextTarget, func(i memory.Image) (memory.Context, bool) {
			return deref(i.Context), i.Context != nil && asked(*i.Context)
		})
		return err
	})
	contexts = slices.DeleteFunc(contexts, func(c memory.Context) bool { return c.Status != memory.Active })
	slices.SortFunc(contexts, func(a, b memory.Context) int { return cmp.Compare(a.ID, b.ID) })
	return contexts, err
}

func contextTarget(c memory.Context) string { return memory.Image{Context: &c}.Target() }

func (w *write) saveContext(c *memory.Context) error {
	err := w.exec(`INSERT INTO contexts (owner, `+contextColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, id) DO UPDATE SET title = excluded.title, content = excluded.content,
		status = excluded.status, created_at = excluded.created_at, updated_at = excluded.updated_at, version = excluded.version`,
		c.Owner, c.ID, c.Title, c.Content, c.Status, micros(c.CreatedAt), micros(c.UpdatedAt), c.Version)
	return wrap("write the context", err)
}

const conversationMarkColumns = `id, title, contexts, rules, status, version`

func scanConversationMark(row scanner) (thing, error) {
	m, t := memory.ConversationMark{}, thing{}
	err := row.Scan(&m.ID, &m.Title, asList{&m.Contexts}, &m.Rules, &m.Status, &t.version)
	t.Conversation = &m
	return t, err
}

func (w *write) saveConversationMark(m *memory.ConversationMark) error {
	err := w.exec(`UPDATE conversations SET title = ?, contexts = ?, rules = ?, status = ?, version = ? WHERE owner = ? AND id = ?`,
		m.Title, list(m.Contexts), m.Rules, m.Status, w.version, w.owner, m.ID)
	return wrap("change the conversation", err)
}

// untitle takes away the titles that a conversation has or had, if they stand in what
// was said.
func (e *eraser) untitle(conversation, title, said string) error {
	said = strings.Join(strings.Fields(said), " ")
	if strings.Contains(said, title) {
		if err := e.exec(`UPDATE conversations SET title = '' WHERE owner = ? AND id = ?`, e.owner, conversation); err != nil {
			return fmt.Errorf("erase the title: %w", err)
		}
	}
	target := memory.Image{Conversation: &memory.ConversationMark{ID: conversation}}.Target()
	return e.rewrite(target, func(i memory.Image) (memory.Image, bool) {
		if i.Conversation == nil || !strings.Contains(said, i.Conversation.Title) {
			return i, false
		}
		i.Conversation.Title = ""
		return i, true
	})
}
