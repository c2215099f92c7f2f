package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Kind is one of the three kinds of memory that a search can return.
type Kind string

// The kinds of memory.
const (
	KindFact    Kind = "fact"
	KindTurn    Kind = "turn"
	KindSummary Kind = "summary"
)

// Status is the state of a memory. Searches return only [Active] memories. [Active] and [Pending]
// facts are live: a scope has at most one live fact with the same text.
type Status string

// The statuses. Facts use all except Replaced; links use active, pending and retired; profile
// entries, relations, summaries, contexts and conversations use active and retired; turns use
// active, replaced (on an edited or regenerated branch) and retired (forgotten).
const (
	Active     Status = "active"
	Pending    Status = "pending"    // waits for a person's approval
	Superseded Status = "superseded" // another fact replaced it
	Replaced   Status = "replaced"   // a turn outside the conversation's current path
	Retired    Status = "retired"    // forgotten, expired, evicted or undone
	Rejected   Status = "rejected"   // a person rejected it
)

// Live reports whether s is active or pending.
func (s Status) Live() bool { return s == Active || s == Pending }

// FactSource is how a fact was created.
type FactSource string

// The sources.
const (
	Extracted FactSource = "extracted" // learned from turns
	Manual    FactSource = "manual"    // written by a person
	Imported  FactSource = "imported"  // read from an export
	FromFile  FactSource = "file"      // edited in the vault
)

// Trust is the trust in the source of a fact, highest first.
type Trust string

// The trust tiers.
const (
	TrustPerson    Trust = "person"    // a person wrote or approved it
	TrustUser      Trust = "user"      // the user said it
	TrustAssistant Trust = "assistant" // a model said it
	TrustUntrusted Trust = "untrusted" // from a tool result or a web page
)

// Span is a piece of a turn's content: bytes [Start, End).
type Span struct {
	Turn  string `json:"turn"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Core is whether a fact is put into prompts without being searched for.
type Core string

// The values of [Core].
const (
	CoreAuto   Core = ""       // depends on importance and free space; written as "auto"
	CoreAlways Core = "always" // in every prompt: the fact is pinned
	CoreNever  Core = "never"  // only found by search
)

var cores = []Core{CoreAuto, CoreAlways, CoreNever}

// Pin returns the Core value for a pinned or an unpinned fact.
func Pin(pinned bool) Core {
	if pinned {
		return CoreAlways
	}
	return CoreAuto
}

// UnmarshalText parses a text that String returns; any other text is [Invalid].
func (c *Core) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(cores, func(one Core) bool { return string(one) == string(text) || one.String() == string(text) })
	if i < 0 {
		return Errorf(Invalid, "core is auto, always or never, not %.20q", text)
	}
	*c = cores[i]
	return nil
}

// MarshalText returns the text of String.
func (c Core) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns auto, always or never.
func (c Core) String() string { return cmp.Or(string(c), "auto") }

// Provenance is where a fact comes from.
type Provenance struct {
	Conversation string   `json:"conversation,omitempty"`
	Turns        []string `json:"turns,omitempty"` // turn ids, in order
	Quote        *Span    `json:"quote,omitempty"` // the part of a turn that supports the fact
}

// Fact is one short, standalone statement.
type Fact struct {
	ID           string          `json:"id"` // UUIDv7
	Scope        Scope           `json:"scope"`
	Content      string          `json:"content"`
	Category     string          `json:"category,omitempty" bson:"category,omitempty"`
	Tags         []string        `json:"tags,omitempty" bson:"tags,omitempty"`
	Subject      string          `json:"subject,omitempty" bson:"subject,omitempty"`     // e.g. "user"
	Attribute    string          `json:"attribute,omitempty" bson:"attribute,omitempty"` // e.g. "home"; facts with the same subject and attribute may contradict each other
	Confidence   float64         `json:"confidence"`                                     // 0 to 1
	Status       Status          `json:"status"`
	Source       FactSource      `json:"source"`
	Trust        Trust           `json:"trust"`
	Core         Core            `json:"core,omitempty" bson:"pinned,omitempty"`
	Provenance   Provenance      `json:"provenance,omitzero"`
	ObservedAt   time.Time       `json:"observed_at" bson:"observed"`                          // when the fact was stated
	ObservedSeq  int64           `json:"observed_seq,omitempty" bson:"observed_seq,omitempty"` // order among statements of the same time: turn index, then offset
	ValidFrom    time.Time       `json:"valid_from,omitzero" bson:"valid_from"`                // when it became true; zero: unknown
	ValidTo      time.Time       `json:"valid_to,omitzero" bson:"valid_to"`                    // when it stopped being true; zero: still true
	CreatedAt    time.Time       `json:"created_at,omitzero" bson:"created"`
	UpdatedAt    time.Time       `json:"updated_at,omitzero" bson:"updated"`
	ExpiresAt    time.Time       `json:"expires_at,omitzero" bson:"expires"`
	SupersededBy string          `json:"superseded_by,omitempty" bson:"superseded_by,omitempty"`
	Model        string          `json:"model,omitempty" bson:"model,omitempty"`       // the model and prompt hash, or the rule, that created the fact
	Metadata     json.RawMessage `json:"metadata,omitempty" bson:"metadata,omitempty"` // a JSON object for the caller's use
	Hash         string          `json:"-"`                                            // hash of the normalized content, set by the writer; unique among live facts of a scope
	Version      int64           `json:"-"`                                            // the owner's version of the last change; set by the store
}

// Pinned reports whether the fact is put into every prompt.
func (f *Fact) Pinned() bool { return f.Core == CoreAlways }

// MarshalJSON also writes the field pinned, which programs read.
func (f Fact) MarshalJSON() ([]byte, error) {
	type fields Fact
	return json.Marshal(struct {
		fields
		Pinned bool `json:"pinned,omitempty"`
	}{fields(f), f.Pinned()})
}

// UnmarshalJSON also reads the field pinned, which facts had before [Core] existed.
func (f *Fact) UnmarshalJSON(data []byte) error {
	type Fields Fact
	in := struct {
		*Fields
		Pinned bool `json:"pinned"`
	}{Fields: (*Fields)(f)}
	err := json.Unmarshal(data, &in)
	f.Core = cmp.Or(f.Core, Pin(in.Pinned))
	return err
}

// Newer reports whether f was stated after g: by time, then by order within that time. It is false
// for equal ones.
func (f *Fact) Newer(g *Fact) bool {
	if !f.ObservedAt.Equal(g.ObservedAt) {
		return f.ObservedAt.After(g.ObservedAt)
	}
	return f.ObservedSeq > g.ObservedSeq
}

// Visible reports whether searches may return the fact at the time now.
func (f *Fact) Visible(now time.Time) bool {
	return f.Status == Active && (f.ExpiresAt.IsZero() || now.Before(f.ExpiresAt))
}

// ValidAt reports whether the fact was true at t. A fact without ValidFrom counts as true from
// ObservedAt on.
func (f *Fact) ValidAt(t time.Time) bool {
	from := f.ValidFrom
	if from.IsZero() {
		from = f.ObservedAt
	}
	return !t.Before(from) && (f.ValidTo.IsZero() || t.Before(f.ValidTo))
}

// Link shows one owner's fact to another owner, the receiver, who owns the link. The link has a
// copy of the fact at HomeVersion, so that searches read only one owner's rows. A pending link
// needs the receiver's consent; searches do not return it.
type Link struct {
	Owner       Owner     `json:"owner"`                            // the receiver
	Fact        Fact      `json:"fact"`                             // the copy; Fact.Scope.Owner is the sharing owner
	HomeVersion int64     `json:"home_version" bson:"home_version"` // version of the original fact; also the Fact.Version that reads return
	Status      Status    `json:"status" bson:"link_status"`
	CreatedAt   time.Time `json:"created_at,omitzero" bson:"linked"`
	Version     int64     `json:"-"`
}

// ProfileEntry is a key with a value about a user, e.g. "timezone" = "Europe/Lisbon".
type ProfileEntry struct {
	Owner     Owner     `json:"owner"`
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	Tokens    int       `json:"tokenCount" bson:"tokenCount"`
	Status    Status    `json:"status"`
	UpdatedAt time.Time `json:"updated_at,omitzero" bson:"updated"`
	Version   int64     `json:"-"`
}

// RelationKind is a kind of relation between facts.
type RelationKind string

// The kinds of relation.
const (
	SameSubject RelationKind = "same_subject"
	Refines     RelationKind = "refines"
	Contradicts RelationKind = "contradicts"
	Follows     RelationKind = "follows"
)

// Relation connects two facts of one owner. It does not affect who can see them.
type Relation struct {
	Owner     Owner        `json:"owner"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	Kind      RelationKind `json:"kind"`
	Status    Status       `json:"status"`
	CreatedAt time.Time    `json:"created_at,omitzero" bson:"created"`
	Version   int64        `json:"-"`
}

// Summary is a conversation's summary so far. Earlier summaries stay; the newest active one is
// current.
type Summary struct {
	ID           string    `json:"id"`
	Scope        Scope     `json:"scope"` // Scope.Conversation is the summarized conversation
	Text         string    `json:"text"`
	MessageCount int       `json:"message_count" bson:"message_count"`
	Model        string    `json:"model"` // a model's name, or "rule_based"
	Status       Status    `json:"status"`
	CreatedAt    time.Time `json:"created_at,omitzero" bson:"created"`
	Version      int64     `json:"-"`
}

// Context is a document that its owner attaches to conversations. While it is attached, the prompt
// contains its whole text; so Loci neither searches it nor learns from it.
type Context struct {
	ID        string    `json:"id"`
	Owner     Owner     `json:"owner"`
	Title     string    `json:"title,omitempty" bson:"title,omitempty"`
	Content   string    `json:"content"`
	Status    Status    `json:"status"` // active or retired
	CreatedAt time.Time `json:"created_at,omitzero" bson:"created"`
	UpdatedAt time.Time `json:"updated_at,omitzero" bson:"updated"`
	Version   int64     `json:"-"`
}

// Memory is a fact, turn or summary. For another owner's fact, Link is set in addition to Fact.
type Memory struct {
	Fact    *Fact    `json:"fact,omitempty"`
	Turn    *Turn    `json:"turn,omitempty"`
	Summary *Summary `json:"summary,omitempty"`
	Link    *Link    `json:"-"`
}

// Kind returns the memory's kind, "" for the zero Memory.
func (m Memory) Kind() Kind {
	switch {
	case m.Fact != nil:
		return KindFact
	case m.Turn != nil:
		return KindTurn
	case m.Summary != nil:
		return KindSummary
	}
	return ""
}

// ID returns the memory's id.
func (m Memory) ID() string {
	switch m.Kind() {
	case KindFact:
		return m.Fact.ID
	case KindTurn:
		return m.Turn.ID
	case KindSummary:
		return m.Summary.ID
	}
	return ""
}

// Content returns the memory's text.
func (m Memory) Content() string {
	switch m.Kind() {
	case KindFact:
		return m.Fact.Content
	case KindTurn:
		return m.Turn.Content
	case KindSummary:
		return m.Summary.Text
	}
	return ""
}

// CreatedAt returns the memory's time of creation.
func (m Memory) CreatedAt() time.Time {
	switch m.Kind() {
	case KindFact:
		return m.Fact.CreatedAt
	case KindTurn:
		return m.Turn.CreatedAt
	case KindSummary:
		return m.Summary.CreatedAt
	}
	return time.Time{}
}

// Version returns the version of the memory in the data of the owner who reads it, 0 for the zero
// Memory.
func (m Memory) Version() int64 {
	switch {
	case m.Link != nil:
		return m.Link.Version
	case m.Fact != nil:
		return m.Fact.Version
	case m.Turn != nil:
		return m.Turn.Version
	case m.Summary != nil:
		return m.Summary.Version
	}
	return 0
}

// Scope returns the memory's scope in the data of the owner who reads it.
func (m Memory) Scope() Scope {
	switch {
	case m.Link != nil:
		return Scope{Owner: m.Link.Owner}
	case m.Fact != nil:
		return m.Fact.Scope
	case m.Turn != nil:
		return Scope{Owner: m.Turn.Owner, Project: m.Turn.Project, Agent: m.Turn.Agent}
	case m.Summary != nil:
		return m.Summary.Scope
	}
	return Scope{}
}

// Status returns the status for the owner who reads the memory: an active link has its fact's
// status.
func (m Memory) Status() Status {
	switch {
	case m.Link != nil && m.Link.Status != Active:
		return m.Link.Status
	case m.Fact != nil:
		return m.Fact.Status
	case m.Turn != nil:
		return m.Turn.Status
	case m.Summary != nil:
		return m.Summary.Status
	}
	return ""
}

// Visible reports whether searches may return the memory at the time now.
func (m Memory) Visible(now time.Time) bool {
	switch {
	case m.Link != nil:
		return m.Link.Status == Active && m.Fact.Visible(now)
	case m.Fact != nil:
		return m.Fact.Visible(now)
	case m.Turn != nil:
		return m.Turn.Status == Active && m.Turn.Tells()
	case m.Summary != nil:
		return m.Summary.Status == Active
	}
	return false
}

// Time returns t as Loci stores it: UTC, microseconds, no monotonic part. The zero time stays zero.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
