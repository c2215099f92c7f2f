package vault

import (
	"cmp"
	"path"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// thing is the content of a file. Exactly one pointer to a memory is set.
type thing struct {
	memory.FileContent
	current bool // for a summary: whether it is the conversation's newest active one
}

const (
	summaryName      = "summary"
	contextsFolder   = "contexts"
	conversationName = "conversation"
)

// head has the fields that all kinds of things share.
type head struct {
	target       string // in the form of [memory.Image.Target]
	words        string
	status       memory.Status
	conversation string // id of the conversation that it belongs to
	created      time.Time
	updated      time.Time // zero if the files do not contain it
	version      int64
	erased       bool // only the id and the times remain
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

// live reports whether a thing belongs outside deleted/.
func (t thing) live() bool { return t.status().Live() }

// open reports whether the thing is a turn from which Loci has not learned yet.
func (t thing) open() bool {
	return t.Turn != nil && t.Turn.Role == memory.RoleUser && t.Turn.LearnedAt.IsZero() && !t.Turn.NoLearn
}

// ofChat reports whether a thing can only come from a chat: a new file cannot create it.
func (t thing) ofChat() bool { return t.Turn != nil || t.Summary != nil || t.Conversation != nil }

// place returns a thing's folder and file name.
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
