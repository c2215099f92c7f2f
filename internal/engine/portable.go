package engine

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/loci-memory/loci/memory"
)

// What a person takes away and brings back. Export walks an owner's memory and
// writes it as it goes; Import reads records one by one and applies some hundreds at
// a time, so that neither holds more than a batch or a conversation. docs/portable.md
// specifies the formats well enough to write another reader.
//
//	memory → walk → record → JSONL, Markdown
//	JSONL, Markdown, lists, others' exports → record → importer → Append, Apply

// Format is how memory is written outside of Loci.
type Format string

// The formats. The first three are written and read; a zip of Markdown is read
// file by file. The rest are read alone.
const (
	JSONL       Format = "jsonl"
	Markdown    Format = "markdown"
	Zip         Format = "zip"          // of Markdown files
	List        Format = "list"         // a fact a line, bullets or not
	ChatGPT     Format = "chatgpt"      // conversations.json
	Claude      Format = "claude"       // conversations.json
	Mem0        Format = "mem0"         // a JSON list of memories
	BasicMemory Format = "basic-memory" // one note: front matter, observations
	AgentCLI    Format = "agent-cli"    // one memory: front matter and its words
)

// Part is a kind of thing that an export holds.
type Part string

// The parts, in the order they are written. Conversations come with their turns,
// relations with the facts that they begin at, contexts with the profile: both are
// written by hand and belong to no project.
const (
	TurnPart     Part = "turns"
	FactPart     Part = "facts"
	SummaryPart  Part = "summaries"
	ProfilePart  Part = "profile"
	RelationPart Part = "relations"
)

// allParts are all of them.
var allParts = []Part{TurnPart, FactPart, SummaryPart, ProfilePart, RelationPart}

// Taking is what an export holds. The zero Taking is everything.
type Taking struct {
	Format   Format // "": JSONL
	Parts    []Part // none: all
	Statuses []memory.Status
	Project  string // only what belongs to it; without the profile, which belongs to no project
	At       memory.At
}

// Bringing is how an import is to be read.
type Bringing struct {
	Format      Format // "": JSONL
	Project     string // of what says none itself; others' formats alone
	DryRun      bool
	Strict      bool // end at the first problem; what stood before it stays
	Learn       bool // from turns that wait for it
	First       int  // what the first line is called, for a part of a file; 0: 1
	Idempotency string
}

// Brought says what an import did, or would do.
type Brought struct {
	Read       int // records
	Added      Tally
	There      Tally // was there already
	Duplicates int   // facts that another live one says already
	Waiting    int   // of the added facts: those that wait for a person
	Redacted   int   // records that had secrets blanked
	Conflicts  []Trouble
	Problems   []Trouble
	// Conflicting and Broken count all of them; the lists are bounded.
	Conflicting, Broken int
	Sample              []memory.Image // of what was added, the first few
	Runs                []string       // what undo takes; the first few
	Jobs                int            // of learning that were queued
}

// Tally counts by kind.
type Tally struct {
	Conversations, Turns, Facts, Summaries, Profile, Relations, Contexts int
}

// Trouble is a record that was not taken, or not as it is.
type Trouble struct {
	Line   int    // 1-based: the line, or the item of a JSON list
	Target string // as [memory.Image.Target] writes it, or "conversation:ID"; "" if it could not be read
	Reason string
}

// Bounds of an import. A line is as long as the longest body a chat may have, since
// turns are as long as chats sent them.
const (
	maxLine     = 32 << 20
	batchLines  = ingestBatch
	batchBytes  = 4 << 20
	maxTroubles = 100
	maxSample   = 20
	maxRuns     = 100
)

const (
	formatName    = "loci"
	formatVersion = 1
)

// record is one thing on its way in or out. Exactly one pointer is set, or Header.
type record struct {
	line         int
	size         int  // bytes it was read from
	made         bool // of words of others: it has no id of Loci's own, and is there or not
	Header       *header
	Conversation *memory.Conversation
	Turn         *memory.Turn
	Fact         *memory.Fact
	Summary      *memory.Summary
	Profile      *memory.ProfileEntry
	Relation     *memory.Relation
	Context      *memory.Context
}

// header is the first line of an export. It names nobody.
type header struct {
	Type       string    `json:"type"`
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	ExportedAt time.Time `json:"exported_at"`
	AsOf       time.Time `json:"as_of,omitzero"`
	ValidAt    time.Time `json:"valid_at,omitzero"`
	Project    string    `json:"project,omitempty"`
}

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
		memory.Fact
		Scope   scopeLine `json:"scope,omitzero"`
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

// scope returns the scope of an owner.
func (s scopeLine) scope(owner memory.Owner) memory.Scope {
	return memory.Scope{Owner: owner, Project: s.Project, Agent: s.Agent, Conversation: s.Conversation}
}

func lineOfScope(s memory.Scope) scopeLine { return scopeLine{s.Project, s.Agent, s.Conversation} }

// words returns what the record says, nil for what says nothing.
func (r record) words() *string {
	switch {
	case r.Turn != nil:
		return &r.Turn.Content
	case r.Fact != nil:
		return &r.Fact.Content
	case r.Summary != nil:
		return &r.Summary.Text
	case r.Profile != nil:
		return &r.Profile.Value
	case r.Context != nil:
		return &r.Context.Content
	}
	return nil
}

// target names what the record is.
func (r record) target() string {
	switch {
	case r.Conversation != nil:
		return "conversation:" + r.Conversation.ID
	case r.Turn != nil:
		return "turn:" + r.Turn.ID
	}
	return r.image().Target()
}

// image is the record as a change has it; the zero Image for what no change adds.
func (r record) image() memory.Image {
	return memory.Image{Fact: r.Fact, Summary: r.Summary, Profile: r.Profile, Relation: r.Relation, Context: r.Context}
}

// value is what JSON says of the record, with its words or without.
func (r record) value(words *string) any {
	switch {
	case r.Header != nil:
		return r.Header
	case r.Conversation != nil:
		return conversationLine{Type: "conversation", Conversation: *r.Conversation, UpdatedAt: r.Conversation.UpdatedAt}
	case r.Turn != nil:
		return turnLine{Type: "turn", Turn: *r.Turn, Chain: r.Turn.Chain, Content: words}
	case r.Fact != nil:
		return factLine{Type: "fact", Fact: *r.Fact, Scope: lineOfScope(r.Fact.Scope), Content: words}
	case r.Summary != nil:
		return summaryLine{Type: "summary", Summary: *r.Summary, Scope: lineOfScope(r.Summary.Scope), Text: words}
	case r.Profile != nil:
		return profileLine{Type: "profile", ProfileEntry: *r.Profile, Value: words}
	case r.Context != nil:
		return contextLine{Type: "context", Context: *r.Context, Content: words}
	case r.Relation != nil:
		return relationLine{Type: "relation", Relation: *r.Relation}
	}
	return nil
}

// readRecord reads a line of JSON for an owner, whosever it was. carried reports
// whether it had its words. [memory.Invalid] says what is wrong with it.
func readRecord(owner memory.Owner, text []byte) (r record, carried bool, err error) {
	var kind struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		what := "is not JSON"
		if errors.As(err, new(*json.UnmarshalTypeError)) {
			what = "is no record"
		}
		return record{}, false, memory.Errorf(memory.Invalid, "%s: %s", what, amiss(err))
	}
	if kind.Type == "" && kind.Role != "" { // a line of a chat that another program kept
		kind.Type = "turn"
	}
	decode := func(to any) bool {
		if err = json.Unmarshal(text, to); err != nil {
			err = memory.Errorf(memory.Invalid, "is no %s: %s", kind.Type, amiss(err))
		}
		return err == nil
	}
	said := func(to, from *string) {
		if carried = from != nil; carried {
			*to = *from
		}
	}
	switch kind.Type {
	case "header":
		r.Header = &header{}
		decode(r.Header)
	case "conversation":
		var l conversationLine
		if decode(&l) {
			c := l.Conversation
			c.Owner, c.UpdatedAt, c.MessageCount = owner, l.UpdatedAt, 0
			r.Conversation = &c
		}
	case "turn":
		var l turnLine
		if decode(&l) {
			t := l.Turn
			t.Owner, t.Chain, t.RecordedAt = owner, l.Chain, time.Time{}
			said(&t.Content, l.Content)
			if t.ID == "" {
				othersTurn(&t)
				r.made = true
			}
			r.Turn = &t
		}
	case "fact":
		var l factLine
		if decode(&l) {
			f := l.Fact
			f.Scope = l.Scope.scope(owner)
			said(&f.Content, l.Content)
			r.Fact = &f
		}
	case "summary":
		var l summaryLine
		if decode(&l) {
			s := l.Summary
			s.Scope = l.Scope.scope(owner)
			said(&s.Text, l.Text)
			r.Summary = &s
		}
	case "profile":
		var l profileLine
		if decode(&l) {
			p := l.ProfileEntry
			p.Owner = owner
			said(&p.Value, l.Value)
			r.Profile = &p
		}
	case "context":
		var l contextLine
		if decode(&l) {
			c := l.Context
			c.Owner = owner
			said(&c.Content, l.Content)
			r.Context = &c
		}
	case "relation":
		var l relationLine
		if decode(&l) {
			x := l.Relation
			x.Owner = owner
			r.Relation = &x
		}
	default:
		return record{}, false, memory.Errorf(memory.Invalid, "type: %.40q is none of header, conversation, turn, fact, summary, profile, context and relation", kind.Type)
	}
	return r, carried, err
}

// othersTurn makes a turn of a line of a chat that another program kept, which has no id: the
// next of its conversation. Its id is made of what it has, so that the same line twice
// counts once.
func othersTurn(t *memory.Turn) {
	t.ID = derivedID(t.Owner, "turn", t.Conversation, t.Ref, string(t.Role), t.CreatedAt.UTC().Format(time.RFC3339Nano), t.Content)
	t.Index, t.Parent, t.Chain, t.Status = loose, "", "", memory.Active
}
