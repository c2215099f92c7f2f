package portable

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/loci-memory/loci/memory"
)

// left is a field that is neither written nor read: whose it is, and what the store
// counts and stamps by itself.
type left = json.RawMessage

// The lines of JSONL. What is declared here takes the place of the field of the same
// name in the embedded struct.
type (
	conversationLine struct {
		Type string `json:"type"`
		memory.Conversation
		Owner        left      `json:"owner,omitempty"`
		MessageCount left      `json:"message_count,omitempty"`
		UpdatedAt    time.Time `json:"updated_at,omitzero"`
	}
	turnLine struct {
		Type string `json:"type"`
		memory.Turn
		Owner      left    `json:"owner,omitempty"`
		RecordedAt left    `json:"recorded_at,omitempty"`
		Chain      string  `json:"chain,omitempty"`
		Content    *string `json:"content,omitempty"`
	}
	scopeLine struct {
		Project      string `json:"project,omitempty"`
		Agent        string `json:"agent,omitempty"`
		Conversation string `json:"conversation,omitempty"`
	}
	factLine struct {
		Type string `json:"type"`
		FactFields
		Scope   scopeLine `json:"scope,omitzero"`
		Pinned  bool      `json:"pinned,omitempty"`
		Content *string   `json:"content,omitempty"`
	}
	summaryLine struct {
		Type string `json:"type"`
		memory.Summary
		Scope scopeLine `json:"scope,omitzero"`
		Text  *string   `json:"text,omitempty"`
	}
	profileLine struct {
		Type string `json:"type"`
		memory.ProfileEntry
		Owner left    `json:"owner,omitempty"`
		Value *string `json:"value,omitempty"`
	}
	contextLine struct {
		Type string `json:"type"`
		memory.Context
		Owner   left    `json:"owner,omitempty"`
		Content *string `json:"content,omitempty"`
	}
	relationLine struct {
		Type string `json:"type"`
		memory.Relation
		Owner left `json:"owner,omitempty"`
	}
)

// FactFields is a fact that is read and written with the rest of its line.
type FactFields memory.Fact

// scope returns the scope of an owner.
func (s scopeLine) scope(owner memory.Owner) memory.Scope {
	return memory.Scope{Owner: owner, Project: s.Project, Agent: s.Agent, Conversation: s.Conversation}
}

func scopeOf(s memory.Scope) scopeLine { return scopeLine{s.Project, s.Agent, s.Conversation} }

// value is what JSON says of the record, with its words or without.
func (r Record) value(words *string) any {
	switch {
	case r.Header != nil:
		return r.Header
	case r.Conversation != nil:
		return conversationLine{Type: "conversation", Conversation: *r.Conversation, UpdatedAt: r.Conversation.UpdatedAt}
	case r.Turn != nil:
		return turnLine{Type: "turn", Turn: *r.Turn, Chain: r.Turn.Chain, Content: words}
	case r.Fact != nil:
		return factLine{Type: "fact", FactFields: FactFields(*r.Fact), Pinned: r.Fact.Pinned(), Scope: scopeOf(r.Fact.Scope), Content: words}
	case r.Summary != nil:
		return summaryLine{Type: "summary", Summary: *r.Summary, Scope: scopeOf(r.Summary.Scope), Text: words}
	case r.Profile != nil:
		return profileLine{Type: "profile", ProfileEntry: *r.Profile, Value: words}
	case r.Context != nil:
		return contextLine{Type: "context", Context: *r.Context, Content: words}
	case r.Relation != nil:
		return relationLine{Type: "relation", Relation: *r.Relation}
	}
	return nil
}

// line is a line of JSONL as it is read. record returns what it is to an owner, whosever it
// was, without its words, and these, nil where it carries none.
type line interface {
	record(owner memory.Owner) (Record, *string)
}

func (l *conversationLine) record(owner memory.Owner) (Record, *string) {
	l.Conversation.Owner, l.Conversation.UpdatedAt, l.Conversation.MessageCount = owner, l.UpdatedAt, 0
	return Record{Conversation: &l.Conversation}, nil
}

func (l *turnLine) record(owner memory.Owner) (Record, *string) {
	l.Turn.Owner, l.Turn.Chain, l.Turn.RecordedAt = owner, l.Chain, time.Time{}
	return Record{Turn: &l.Turn}, l.Content
}

func (l *factLine) record(owner memory.Owner) (Record, *string) {
	f := memory.Fact(l.FactFields)
	f.Scope, f.Core = l.Scope.scope(owner), cmp.Or(f.Core, memory.Pin(l.Pinned))
	return Record{Fact: &f}, l.Content
}

func (l *summaryLine) record(owner memory.Owner) (Record, *string) {
	l.Summary.Scope = l.Scope.scope(owner)
	return Record{Summary: &l.Summary}, l.Text
}

func (l *profileLine) record(owner memory.Owner) (Record, *string) {
	l.ProfileEntry.Owner = owner
	return Record{Profile: &l.ProfileEntry}, l.Value
}

func (l *contextLine) record(owner memory.Owner) (Record, *string) {
	l.Context.Owner = owner
	return Record{Context: &l.Context}, l.Content
}

func (l *relationLine) record(owner memory.Owner) (Record, *string) {
	l.Relation.Owner = owner
	return Record{Relation: &l.Relation}, nil
}

func (h *Header) record(memory.Owner) (Record, *string) { return Record{Header: h}, nil }

// newLine makes an empty line of each type.
var newLine = map[string]func() line{
	"header":       func() line { return &Header{} },
	"conversation": func() line { return &conversationLine{} },
	"turn":         func() line { return &turnLine{} },
	"fact":         func() line { return &factLine{} },
	"summary":      func() line { return &summaryLine{} },
	"profile":      func() line { return &profileLine{} },
	"context":      func() line { return &contextLine{} },
	"relation":     func() line { return &relationLine{} },
}

// record reads a line of JSON. carried reports whether it had its words.
// [memory.Invalid] says what is wrong with it.
func (r Reader) record(text []byte) (rec Record, carried bool, err error) {
	var kind struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		what := "is not JSON"
		if errors.As(err, new(*json.UnmarshalTypeError)) {
			what = "is not a record"
		}
		return Record{}, false, memory.Errorf(memory.Invalid, "%s: %s", what, amiss(err))
	}
	if kind.Type == "" && kind.Role != "" { // a line of a chat that another program kept
		kind.Type = "turn"
	}
	made := newLine[kind.Type]
	if made == nil {
		return Record{}, false, memory.Errorf(memory.Invalid, "type: %.40q is none of header, conversation, turn, fact, summary, profile, context and relation", kind.Type)
	}
	l := made()
	if err := json.Unmarshal(text, l); err != nil {
		return Record{}, false, memory.Errorf(memory.Invalid, "is not a %s: %s", kind.Type, amiss(err))
	}
	rec, words := l.record(r.Owner)
	if words != nil {
		*rec.Words() = *words
	}
	if rec.Turn != nil && rec.Turn.ID == "" {
		r.othersTurn(rec.Turn)
		rec.Made = true
	}
	return rec, words != nil, nil
}

// othersTurn makes a turn of a line of a chat that another program kept, which has no id.
// Its id is made of what it has, so that the same line twice counts once.
func (r Reader) othersTurn(t *memory.Turn) {
	t.ID = r.ID("turn", t.Conversation, t.Ref, string(t.Role), t.CreatedAt.UTC().Format(time.RFC3339Nano), t.Content)
	t.Index, t.Parent, t.Chain, t.Status = 0, "", "", memory.Active
}

// lines writes JSON lines.
type lines struct{ *json.Encoder }

// Lines returns what writes JSON lines, in whatever order records come.
func Lines(out io.Writer) Writer {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return lines{enc}
}

func (l lines) Write(r Record) error { return l.Encode(r.value(r.Words())) }

func (l lines) Close() error { return nil }
