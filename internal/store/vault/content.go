package vault

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// fileContent is the content of a memory's file. Exactly one of Fact, Turn, Summary, … is set.
type fileContent struct {
	memory.FileContent
	isCurrent bool // whether a summary is the newest active summary of its conversation
}

const (
	summaryName      = "summary"
	contextsFolder   = "contexts"
	conversationName = "conversation"
)

// commonFields has the fields that all kinds of content have.
type commonFields struct {
	target       string // in the form of [memory.State.Target]
	text         string
	status       memory.Status
	conversation string // conversation id; "" for memories of no conversation
	created      time.Time
	updated      time.Time // value of updated_at; zero for kinds without this key
	version      int64
	isErased     bool // whether the text was erased; only the id and the times remain
}

func (t fileContent) common() (h commonFields) {
	switch {
	case t.Fact != nil:
		f := t.Fact
		h = commonFields{factTarget + f.ID, f.Content, f.Status, f.Scope.Conversation, f.CreatedAt, f.UpdatedAt, f.Version, f.Content == ""}
	case t.Turn != nil:
		u := t.Turn
		h = commonFields{turnTarget + u.ID, u.Content, u.Status, u.Conversation, u.CreatedAt, time.Time{}, u.Version, u.Content == "" && u.NoLearn}
	case t.Summary != nil:
		m := t.Summary
		h = commonFields{summaryTarget + m.ID, m.Text, m.Status, m.Scope.Conversation, m.CreatedAt, time.Time{}, m.Version, m.Text == ""}
	case t.Profile != nil:
		p := t.Profile
		h = commonFields{profileTarget + p.Key, p.Value, p.Status, "", time.Time{}, p.UpdatedAt, p.Version, p.Value == ""}
	case t.Conversation != nil:
		c := t.Conversation
		h = commonFields{conversationTarget + c.ID, c.Rules, cmp.Or(c.Status, memory.Active), c.ID, c.CreatedAt, c.UpdatedAt, c.Version, c.Title+c.Rules == ""}
	case t.Context != nil:
		c := t.Context
		h = commonFields{contextTarget + c.ID, c.Content, c.Status, "", c.CreatedAt, c.UpdatedAt, c.Version, c.Title+c.Content == ""}
	}
	h.isErased = h.isErased && h.status == memory.Retired
	return h
}

func (t fileContent) target() string        { return t.common().target }
func (t fileContent) text() string          { return t.common().text }
func (t fileContent) version() int64        { return t.common().version }
func (t fileContent) status() memory.Status { return t.common().status }
func (t fileContent) updatedAt() time.Time  { return t.common().updated }
func (t fileContent) isErased() bool        { return t.common().isErased }

// isLive reports whether the content's file must be in entries/, not in deleted/.
func (t fileContent) isLive() bool { return t.status().Live() }

// isUnlearned reports whether the content is a user's turn from which Loci must still learn.
func (t fileContent) isUnlearned() bool {
	return t.Turn != nil && t.Turn.Role == memory.RoleUser && t.Turn.LearnedAt.IsZero() && !t.Turn.NoLearn
}

// isFromChat reports whether only a chat can create such content, and a person's new file cannot.
func (t fileContent) isFromChat() bool {
	return t.Turn != nil || t.Summary != nil || t.Conversation != nil
}

// folderAndName returns a content's folder, and its file name without ".md".
func (s *Store) folderAndName(owner memory.Owner, t fileContent) (folder, name string) {
	h := t.common()
	kind, name := "facts", ""
	switch {
	case t.Turn != nil:
		kind = path.Join("turns", escape(string(t.Turn.Role)))
	case t.Summary != nil && t.isCurrent:
		kind, name = "summaries", summaryName
	case t.Summary != nil:
		kind = "summaries"
	case t.Profile != nil:
		kind, name = "profile", escape(t.Profile.Key)
	case t.Context != nil:
		kind, name = contextsFolder, escape(t.Context.ID)
	case t.Conversation != nil:
		kind, name = "", conversationName
	}
	if name == "" {
		_, id, _ := strings.Cut(h.target, ":")
		name = fileName(h.created, id)
	}
	return s.folderOf(owner, h.conversation, !t.isLive(), kind), name
}
