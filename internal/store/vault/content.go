package vault

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// fileContent is the content of a file. Exactly one pointer to a memory is set.
type thing struct {
	memory.FileContent
	current bool // whether a summary is the newest active summary of its conversation
}

const (
	summaryName      = "summary"
	contextsFolder   = "contexts"
	conversationName = "conversation"
)

// commonFields has the fields that all kinds of content have.
type head struct {
	target       string // in the form of [memory.Image.Target]
	words        string
	status       memory.Status
	conversation string // conversation id; "" for content of no conversation
	created      time.Time
	updated      time.Time // zero for content without the key updated_at
	version      int64
	erased       bool // whether the text was erased; only the id and the times remain
}

func (t thing) head() (h head) {
	switch {
	case t.Fact != nil:
		f := t.Fact
		h = head{factTarget + f.ID, f.Content, f.Status, f.Scope.Conversation, f.CreatedAt, f.UpdatedAt, f.Version, f.Content == ""}
	case t.Turn != nil:
		u := t.Turn
		h = head{turnTarget + u.ID, u.Content, u.Status, u.Conversation, u.CreatedAt, time.Time{}, u.Version, u.Content == "" && u.NoLearn}
	case t.Summary != nil:
		m := t.Summary
		h = head{summaryTarget + m.ID, m.Text, m.Status, m.Scope.Conversation, m.CreatedAt, time.Time{}, m.Version, m.Text == ""}
	case t.Profile != nil:
		p := t.Profile
		h = head{profileTarget + p.Key, p.Value, p.Status, "", time.Time{}, p.UpdatedAt, p.Version, p.Value == ""}
	case t.Conversation != nil:
		c := t.Conversation
		h = head{conversationTarget + c.ID, c.Rules, cmp.Or(c.Status, memory.Active), c.ID, c.CreatedAt, c.UpdatedAt, c.Version, c.Title+c.Rules == ""}
	case t.Context != nil:
		c := t.Context
		h = head{contextTarget + c.ID, c.Content, c.Status, "", c.CreatedAt, c.UpdatedAt, c.Version, c.Title+c.Content == ""}
	}
	h.erased = h.erased && h.status == memory.Retired
	return h
}

func (t thing) target() string        { return t.head().target }
func (t thing) words() string         { return t.head().words }
func (t thing) version() int64        { return t.head().version }
func (t thing) status() memory.Status { return t.head().status }
func (t thing) updatedAt() time.Time  { return t.head().updated }
func (t thing) erased() bool          { return t.head().erased }

// isLive reports whether the content's file must be outside deleted/.
func (t thing) live() bool { return t.status().Live() }

// isUnlearned reports whether the content is a turn from which Loci has not learned yet.
func (t thing) open() bool {
	return t.Turn != nil && t.Turn.Role == memory.RoleUser && t.Turn.LearnedAt.IsZero() && !t.Turn.NoLearn
}

// isFromChat reports whether the content can only come from a chat: a new file cannot create it.
func (t thing) ofChat() bool { return t.Turn != nil || t.Summary != nil || t.Conversation != nil }

// folderAndName returns a content's folder, and its file name without ".md".
func (s *Store) place(owner memory.Owner, t thing) (folder, name string) {
	h := t.head()
	kind, name := "facts", ""
	switch {
	case t.Turn != nil:
		kind = path.Join("turns", escape(string(t.Turn.Role)))
	case t.Summary != nil && t.current:
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
	return s.folderOf(owner, h.conversation, !t.live(), kind), name
}
