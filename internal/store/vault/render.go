package vault

import (
	"cmp"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// thing is what a file shows: exactly one field is set, but for what a fact has beside.
type thing struct {
	fact         *memory.Fact
	relations    *[]memory.Relation // of a fact to others, nil for none; in order
	shared       *[]memory.Owner    // whom a fact is shared with, nil for nobody; in order
	turn         *memory.Turn
	summary      *memory.Summary
	profile      *memory.ProfileEntry
	conversation *memory.Conversation
	context      *memory.Context
	current      bool // of a summary: the newest active one of its conversation
}

const (
	summaryName      = "summary"
	contextsFolder   = "contexts"
	conversationName = "conversation"
)

// head is what all kinds of things have.
type head struct {
	target       string // as [memory.Image.Target] writes it
	words        string
	status       memory.Status
	conversation string // that it belongs to
	created      time.Time
	updated      time.Time // zero where no file says it
	version      int64
	erased       bool // nothing is left but its id and its times
}

func (t thing) head() (h head) {
	switch {
	case t.fact != nil:
		f := t.fact
		h = head{factTarget + f.ID, f.Content, f.Status, f.Scope.Conversation, f.CreatedAt, f.UpdatedAt, f.Version, f.Content == ""}
	case t.turn != nil:
		u := t.turn
		h = head{turnTarget + u.ID, u.Content, u.Status, u.Conversation, u.CreatedAt, time.Time{}, u.Version, u.Content == "" && u.NoLearn}
	case t.summary != nil:
		m := t.summary
		h = head{summaryTarget + m.ID, m.Text, m.Status, m.Scope.Conversation, m.CreatedAt, time.Time{}, m.Version, m.Text == ""}
	case t.profile != nil:
		p := t.profile
		h = head{profileTarget + p.Key, p.Value, p.Status, "", time.Time{}, p.UpdatedAt, p.Version, p.Value == ""}
	case t.conversation != nil:
		c := t.conversation
		h = head{conversationTarget + c.ID, c.Rules, cmp.Or(c.Status, memory.Active), c.ID, c.CreatedAt, c.UpdatedAt, c.Version, c.Title+c.Rules == ""}
	case t.context != nil:
		c := t.context
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

// live reports whether a thing is not among what is deleted.
func (t thing) live() bool { return t.status().Live() }

// place is the folder and the name that its file has.
func (s *Store) place(owner memory.Owner, t thing) (folder, name string) {
	h := t.head()
	kind, name := "facts", ""
	switch {
	case t.turn != nil:
		kind = path.Join("turns", escape(string(t.turn.Role)))
	case t.summary != nil && t.current:
		kind, name = "summaries", summaryName
	case t.summary != nil:
		kind = "summaries"
	case t.profile != nil:
		kind, name = "profile", escape(t.profile.Key)
	case t.context != nil:
		kind, name = contextsFolder, escape(t.context.ID)
	case t.conversation != nil:
		kind, name = "", conversationName
	}
	if name == "" {
		_, id, _ := strings.Cut(h.target, ":")
		name = fileName(h.created, id)
	}
	return s.folderOf(owner, h.conversation, !t.live(), kind), name
}

// names says what the file of a memory is called, for links.
type names func(id string) string

// fields is its front matter: what people and other programs look for, and everything
// else that would be missing if there were nothing but the file.
func (t thing) fields(link names) []field {
	switch {
	case t.fact != nil:
		return append(factFields(t.fact, link), t.tiedFields(link)...)
	case t.turn != nil:
		return turnFields(t.turn, link)
	case t.summary != nil:
		return summaryFields(t.summary)
	case t.profile != nil:
		p := t.profile
		return []field{
			{"id", quoted(p.Key)}, {"kind", "profile"}, {"status", quoted(string(p.Status))},
			{"updated_at", at(p.UpdatedAt)}, {"token_count", number(p.Tokens)},
		}
	case t.context != nil:
		c := t.context
		return []field{
			{"id", quoted(c.ID)}, {"kind", "context"}, {"title", optional(c.Title)}, {"status", quoted(string(c.Status))},
			{"created_at", at(c.CreatedAt)}, {"updated_at", at(c.UpdatedAt)},
		}
	}
	c := t.conversation
	return []field{
		{"id", quoted(c.ID)}, {"kind", "conversation"}, {"title", optional(c.Title)}, {"project", optional(c.Project)},
		{"agent", optional(c.Agent)}, {"contexts", listed(c.Contexts)}, {"created_at", at(c.CreatedAt)}, {"updated_at", at(c.UpdatedAt)},
	}
}

func factFields(f *memory.Fact, link names) []field {
	conversation := f.Scope.Conversation
	if conversation == "" {
		conversation = globalFolder
	}
	quote := ""
	if q := f.Provenance.Quote; q != nil {
		quote = quoted(strconv.Itoa(q.Start) + "-" + strconv.Itoa(q.End) + " " + link(q.Turn))
	}
	superseded, never := "", ""
	if f.SupersededBy != "" {
		superseded = quoted(link(f.SupersededBy))
	}
	if f.Core == memory.CoreNever {
		never = string(f.Core)
	}
	return []field{
		{"id", quoted(f.ID)}, {"conversation_id", quoted(conversation)}, {"role", "memory"}, {"kind", "fact"},
		{"created_at", at(f.CreatedAt)}, {"updated_at", at(f.UpdatedAt)},
		{"status", quoted(string(f.Status))}, {"superseded_by", superseded},
		{"category", optional(f.Category)}, {"tags", listed(f.Tags)}, {"pinned", yes(f.Pinned())}, {"core", never},
		{"subject", optional(f.Subject)}, {"attribute", optional(f.Attribute)},
		{"confidence", strconv.FormatFloat(f.Confidence, 'g', -1, 64)},
		{"observed_at", at(f.ObservedAt)}, {"observed_seq", number64(f.ObservedSeq)},
		{"valid_from", at(f.ValidFrom)}, {"valid_to", at(f.ValidTo)}, {"expires_at", at(f.ExpiresAt)},
		{"source", quoted(string(f.Source))}, {"trust", quoted(string(f.Trust))}, {"model", optional(f.Model)},
		{"project", optional(f.Scope.Project)}, {"agent", optional(f.Scope.Agent)},
		{"from_conversation", optional(f.Provenance.Conversation)}, {"from_turns", links(f.Provenance.Turns, link)}, {"quote", quote},
		{"metadata", optional(string(f.Metadata))},
	}
}

func turnFields(t *memory.Turn, link names) []field {
	parent := ""
	if t.Parent != "" {
		parent = quoted(link(t.Parent))
	}
	return []field{
		{"id", quoted(t.ID)}, {"conversation_id", quoted(t.Conversation)}, {"role", quoted(string(t.Role))}, {"kind", "turn"},
		{"created_at", at(t.CreatedAt)}, {"status", quoted(string(t.Status))},
		{"index", strconv.Itoa(t.Index)}, {"parent", parent}, {"name", optional(t.Name)}, {"ref", optional(t.Ref)},
		{"project", optional(t.Project)}, {"agent", optional(t.Agent)},
		{"learned_at", at(t.LearnedAt)}, {"no_learn", yes(t.NoLearn)}, {"history", yes(t.History)}, {"chain", optional(t.Chain)},
	}
}

func summaryFields(m *memory.Summary) []field {
	conversation := m.Scope.Conversation
	if conversation == "" {
		conversation = globalFolder
	}
	return []field{
		{"id", quoted(m.ID)}, {"conversation_id", quoted(conversation)}, {"role", "summary"}, {"kind", "summary"},
		{"summary_kind", "summary"}, {"created_at", at(m.CreatedAt)}, {"status", quoted(string(m.Status))},
		{"message_count", strconv.Itoa(m.MessageCount)}, {"model", optional(m.Model)},
		{"project", optional(m.Scope.Project)}, {"agent", optional(m.Scope.Agent)},
	}
}

func links(ids []string, link names) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = link(id)
	}
	return listed(texts)
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return quotedTime(memory.Time(t))
}

// quotedTime is a time as Obsidian reads one, and people.
func quotedTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

func optional(text string) string {
	if text == "" {
		return ""
	}
	return quoted(text)
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func number(n int) string { return number64(int64(n)) }

func number64(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
