package portable

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/loci-memory/loci/memory"
)

// omitted is the type of fields that are not written: the owner, and values that the store computes.
type omitted = json.RawMessage

// The lines of JSONL. A declared field hides the field of the same name in the embedded struct.
type (
	conversationLine struct {
		Type string `json:"type"`
		memory.Conversation
		Owner        omitted   `json:"owner,omitempty"`
		MessageCount omitted   `json:"message_count,omitempty"`
		UpdatedAt    time.Time `json:"updated_at,omitzero"`
	}
	turnLine struct {
		Type string `json:"type"`
		memory.Turn
		Owner      omitted `json:"owner,omitempty"`
		RecordedAt omitted `json:"recorded_at,omitempty"`
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
		Owner omitted `json:"owner,omitempty"`
		Value *string `json:"value,omitempty"`
	}
	contextLine struct {
		Type string `json:"type"`
		memory.Context
		Owner   omitted `json:"owner,omitempty"`
		Content *string `json:"content,omitempty"`
	}
	relationLine struct {
		Type string `json:"type"`
		memory.Relation
		Owner omitted `json:"owner,omitempty"`
	}
)

// FactFields is a fact without its methods: an embedded MarshalJSON would encode the whole factLine.
type FactFields memory.Fact

func scopeLineOf(s memory.Scope) scopeLine { return scopeLine{s.Project, s.Agent, s.Conversation} }

// jsonValue returns the record as a value for encoding/json, with text as its text; nil omits the text.
func (r Record) jsonValue(text *string) any {
	switch {
	case r.Header != nil:
		return r.Header
	case r.Conversation != nil:
		return conversationLine{Type: "conversation", Conversation: *r.Conversation, UpdatedAt: r.Conversation.UpdatedAt}
	case r.Turn != nil:
		return turnLine{Type: "turn", Turn: *r.Turn, Chain: r.Turn.Chain, Content: text}
	case r.Fact != nil:
		return factLine{Type: "fact", FactFields: FactFields(*r.Fact), Pinned: r.Fact.Pinned(), Scope: scopeLineOf(r.Fact.Scope), Content: text}
	case r.Summary != nil:
		return summaryLine{Type: "summary", Summary: *r.Summary, Scope: scopeLineOf(r.Summary.Scope), Text: text}
	case r.Profile != nil:
		return profileLine{Type: "profile", ProfileEntry: *r.Profile, Value: text}
	case r.Context != nil:
		return contextLine{Type: "context", Context: *r.Context, Content: text}
	case r.Relation != nil:
		return relationLine{Type: "relation", Relation: *r.Relation}
	}
	return nil
}

// decode sets *dst to a new value, and decodes JSON into the value.
func decode[T any](text []byte, dst **T) error {
	*dst = new(T)
	return json.Unmarshal(text, *dst)
}

// decoders maps the type of a line to its decoder.
var decoders = map[string]func(text []byte, rec *Record) error{
	"header":       func(text []byte, rec *Record) error { return decode(text, &rec.Header) },
	"conversation": func(text []byte, rec *Record) error { return decode(text, &rec.Conversation) },
	"turn":         func(text []byte, rec *Record) error { return decode(text, &rec.Turn) },
	"fact":         func(text []byte, rec *Record) error { return decode(text, &rec.Fact) },
	"summary":      func(text []byte, rec *Record) error { return decode(text, &rec.Summary) },
	"profile":      func(text []byte, rec *Record) error { return decode(text, &rec.Profile) },
	"context":      func(text []byte, rec *Record) error { return decode(text, &rec.Context) },
	"relation":     func(text []byte, rec *Record) error { return decode(text, &rec.Relation) },
}

// setOwner sets the owner of the record, and clears the values that the store computes.
func (r Record) setOwner(owner memory.Owner) {
	switch {
	case r.Conversation != nil:
		r.Conversation.Owner, r.Conversation.MessageCount = owner, 0
	case r.Turn != nil:
		r.Turn.Owner, r.Turn.RecordedAt = owner, time.Time{}
	case r.Fact != nil:
		r.Fact.Scope.Owner = owner
	case r.Summary != nil:
		r.Summary.Scope.Owner = owner
	case r.Profile != nil:
		r.Profile.Owner = owner
	case r.Context != nil:
		r.Context.Owner = owner
	case r.Relation != nil:
		r.Relation.Owner = owner
	}
}

// decodeRecord decodes a line of JSONL. hasText reports whether the line contains the record's text.
// The error is [memory.Invalid], and describes the invalid field.
func (r Reader) decodeRecord(text []byte) (rec Record, hasText bool, err error) {
	var line struct {
		Type    string           `json:"type"`
		Role    string           `json:"role"`
		Chain   string           `json:"chain"`
		Content *json.RawMessage `json:"content"`
		Text    *json.RawMessage `json:"text"`
		Value   *json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		problem := "is not JSON"
		if errors.As(err, new(*json.UnmarshalTypeError)) {
			problem = "is not a record"
		}
		return Record{}, false, memory.Errorf(memory.Invalid, "%s: %s", problem, explainJSON(err))
	}
	if line.Type == "" && line.Role != "" { // a line of another program's chat
		line.Type = "turn"
	}
	decoder := decoders[line.Type]
	if decoder == nil {
		return Record{}, false, memory.Errorf(memory.Invalid, "type: %.40q is not header, conversation, turn, fact, summary, profile, context or relation", line.Type)
	}
	if err := decoder(text, &rec); err != nil {
		return Record{}, false, memory.Errorf(memory.Invalid, "is not a %s: %s", line.Type, explainJSON(err))
	}
	rec.setOwner(r.Owner)
	if rec.Turn != nil {
		if rec.Turn.Chain = line.Chain; rec.Turn.ID == "" {
			r.completeTurn(rec.Turn)
			rec.Foreign = true
		}
	}
	return rec, line.Content != nil || line.Text != nil || line.Value != nil, nil
}

// completeTurn completes a turn from a line of another program's chat. The id is derived from the
// line's fields, so that equal lines are one turn.
func (r Reader) completeTurn(t *memory.Turn) {
	t.ID = r.DeriveID("turn", t.Conversation, t.Ref, string(t.Role), t.CreatedAt.UTC().Format(time.RFC3339Nano), t.Content)
	t.Index, t.Parent, t.Chain, t.Status = 0, "", "", memory.Active
}

// jsonlWriter writes JSON lines.
type jsonlWriter struct{ *json.Encoder }

// NewJSONLWriter returns a writer of JSON lines, which accepts records in any order.
func NewJSONLWriter(out io.Writer) Writer {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return jsonlWriter{enc}
}

func (l jsonlWriter) Write(r Record) error { return l.Encode(r.jsonValue(r.Text())) }

func (l jsonlWriter) Close() error { return nil }
