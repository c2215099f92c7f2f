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

// Status is the state of a memory. Searches return only [Active] memories. [Active] and [Pending] facts are
// called live: in a scope, no two live facts have the same text.
type Status string

// The statuses. Facts have all except Replaced. Links have active, pending and retired. Turns have active,
// replaced and retired. Profile entries, relations, summaries, contexts and conversations have active and
// retired.
const (
	Active     Status = "active"
	Pending    Status = "pending"    // not used until a person approves it
	Superseded Status = "superseded" // another fact replaced it
	Replaced   Status = "replaced"   // a turn on an edited or regenerated branch, outside the conversation's current path
	Retired    Status = "retired"    // forgotten, expired, evicted or undone
	Rejected   Status = "rejected"   // a person refused to approve it
)

// Live reports whether s is active or pending.
func (s Status) Live() bool { return s == Active || s == Pending }

// FactSource says how a fact was created.
type FactSource string

// The sources of facts.
const (
	Extracted FactSource = "extracted" // learned from turns
	Manual    FactSource = "manual"    // written by a person through the API, the web page or the CLI
	Imported  FactSource = "imported"  // read from an export
	FromFile  FactSource = "file"      // edited in the vault
)

// Trust is a level of trust in the source of a fact, highest first.
type Trust string

// The levels of trust.
const (
	TrustPerson    Trust = "person"    // a person wrote or approved it
	TrustUser      Trust = "user"      // the user said it
	TrustAssistant Trust = "assistant" // a model said it
	TrustUntrusted Trust = "untrusted" // from a tool result or a web page
)

// Span is a part of a turn's content: the bytes [Start, End).
type Span struct {
	Turn  string `json:"turn"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Core says whether prompts contain a fact without a search for it.
type Core string

// The values of [Core].
const (
	CoreAuto   Core = ""       // depends on importance and free space in the prompt; its text form is "auto"
	CoreAlways Core = "always" // every prompt contains the fact: the fact is pinned
	CoreNever  Core = "never"  // only a search returns the fact
)

var coreValues = []Core{CoreAuto, CoreAlways, CoreNever}

// Pin returns the Core value for a pinned or an unpinned fact.
func Pin(pinned bool) Core {
	if pinned {
		return CoreAlways
	}
	return CoreAuto
}

// UnmarshalText parses a text returned by String; any other text is [Invalid].
func (c *Core) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(coreValues, func(core Core) bool { return string(core) == string(text) || core.String() == string(text) })
	if i < 0 {
		return Errorf(Invalid, "core must be auto, always or never, not %.20q", text)
	}
	*c = coreValues[i]
	return nil
}

// MarshalText returns the text that String returns.
func (c Core) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns "auto", "always" or "never".
func (c Core) String() string { return cmp.Or(string(c), "auto") }

// Provenance is the origin of a fact.
type Provenance struct {
	Conversation string   `json:"conversation,omitempty"`
	Turns        []string `json:"turns,omitempty"` // ids of the turns from which the fact was learned, in order
	Quote        *Span    `json:"quote,omitempty"` // the part of a turn that supports the fact
}

// Fact is one short, standalone statement.
type Fact struct {
	ID           string          `json:"id"` // UUID version 7
	Scope        Scope           `json:"scope"`
	Content      string          `json:"content"`
	Category     string          `json:"category,omitempty" bson:"category,omitempty"`
	Tags         []string        `json:"tags,omitempty" bson:"tags,omitempty"`
	Subject      string          `json:"subject,omitempty" bson:"subject,omitempty"`     // e.g. "user"
	Attribute    string          `json:"attribute,omitempty" bson:"attribute,omitempty"` // e.g. "home"; facts with equal subject and attribute may contradict each other
	Confidence   float64         `json:"confidence"`                                     // 0 to 1
	Status       Status          `json:"status"`
	Source       FactSource      `json:"source"`
	Trust        Trust           `json:"trust"`
	Core         Core            `json:"core,omitempty" bson:"pinned,omitempty"`
	Provenance   Provenance      `json:"provenance,omitzero"`
	ObservedAt   time.Time       `json:"observed_at" bson:"observed"`                          // when the fact was stated
	ObservedSeq  int64           `json:"observed_seq,omitempty" bson:"observed_seq,omitempty"` // order of statements made at the same time: the turn's index, then the offset in the turn
	ValidFrom    time.Time       `json:"valid_from,omitzero" bson:"valid_from"`                // start of the time when the fact was true; zero if unknown
	ValidTo      time.Time       `json:"valid_to,omitzero" bson:"valid_to"`                    // end of the time when the fact was true; zero if still true
	CreatedAt    time.Time       `json:"created_at,omitzero" bson:"created"`
	UpdatedAt    time.Time       `json:"updated_at,omitzero" bson:"updated"`
	ExpiresAt    time.Time       `json:"expires_at,omitzero" bson:"expires"`
	SupersededBy string          `json:"superseded_by,omitempty" bson:"superseded_by,omitempty"`
	Model        string          `json:"model,omitempty" bson:"model,omitempty"`       // model and prompt hash, or name of the rule, that created the fact
	Metadata     json.RawMessage `json:"metadata,omitempty" bson:"metadata,omitempty"` // JSON object for the caller's use
	Hash         string          `json:"-"`                                            // hash of the normalized content, set by the caller; unique among the active and pending facts of a scope
	Version      int64           `json:"-"`                                            // owner's version at the last change of the fact; set by the store
}

// Pinned reports whether every prompt contains the fact.
func (f *Fact) Pinned() bool { return f.Core == CoreAlways }

// MarshalJSON also writes the field pinned, for clients that read it.
func (f Fact) MarshalJSON() ([]byte, error) {
	type fields Fact
	return json.Marshal(struct {
		fields
		Pinned bool `json:"pinned,omitempty"`
	}{fields(f), f.Pinned()})
}

// UnmarshalJSON also reads the field pinned of older exports, which have no [Core].
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

// Newer reports whether f was stated after g, by ObservedAt and then by ObservedSeq. It is false if both are
// equal.
func (f *Fact) Newer(g *Fact) bool {
	if !f.ObservedAt.Equal(g.ObservedAt) {
		return f.ObservedAt.After(g.ObservedAt)
	}
	return f.ObservedSeq > g.ObservedSeq
}

// Visible reports whether searches at the time now may return the fact.
func (f *Fact) Visible(now time.Time) bool {
	return f.Status == Active && (f.ExpiresAt.IsZero() || now.Before(f.ExpiresAt))
}

// ValidAt reports whether the fact was true at t. If ValidFrom is zero, the fact counts as true from
// ObservedAt.
func (f *Fact) ValidAt(t time.Time) bool {
	from := f.ValidFrom
	if from.IsZero() {
		from = f.ObservedAt
	}
	return !t.Before(from) && (f.ValidTo.IsZero() || t.Before(f.ValidTo))
}

// Link makes one owner's fact visible to another owner, the receiver, who owns the link. It contains a copy
// of the fact at HomeVersion, so that searches read only rows of one owner. Searches do not return a pending
// link, which needs the receiver's consent.
type Link struct {
	Owner       Owner     `json:"owner"`                            // the receiver
	Fact        Fact      `json:"fact"`                             // copy of the fact; Fact.Scope.Owner is the sharing owner
	HomeVersion int64     `json:"home_version" bson:"home_version"` // version of the copied original; reads return it as Fact.Version
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

// Relation connects two facts of one owner. It does not change who may read the facts.
type Relation struct {
	Owner     Owner        `json:"owner"`
	From      string       `json:"from"`
	To        string       `json:"to"`
	Kind      RelationKind `json:"kind"`
	Status    Status       `json:"status"`
	CreatedAt time.Time    `json:"created_at,omitzero" bson:"created"`
	Version   int64        `json:"-"`
}

// Summary is a summary of a conversation so far. Earlier summaries remain stored; the newest active summary
// is used.
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

// Context is a document that its owner attaches to conversations. The prompts of these conversations contain
// its whole text, so Loci neither searches the document nor learns from it.
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

// Memory is a fact, turn or summary. A shared fact of another owner has both Fact and Link set.
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

// ID returns the memory's id, "" for the zero Memory.
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

// Content returns the memory's text, "" for the zero Memory.
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

// CreatedAt returns the memory's time of creation, zero for the zero Memory.
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

// Version returns the memory's version in the reading owner's data: of a linked fact, the link's version. It
// is 0 for the zero Memory.
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

// Scope returns the memory's scope in the reading owner's data: of a linked fact, the link's owner.
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

// Status returns the memory's status for the reading owner: an active link has the status of its fact.
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

// Visible reports whether searches at the time now may return the memory.
func (m Memory) Visible(now time.Time) bool {
	switch {
	case m.Link != nil:
		return m.Link.Status == Active && m.Fact.Visible(now)
	case m.Fact != nil:
		return m.Fact.Visible(now)
	case m.Turn != nil:
		return m.Turn.Status == Active && m.Turn.Informative()
	case m.Summary != nil:
		return m.Summary.Status == Active
	}
	return false
}

// Time returns t in the form that stores return: UTC, whole microseconds, no monotonic clock reading. The
// zero time is returned unchanged.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
