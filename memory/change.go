package memory

import (
	"time"
)

// Action is the kind of a change, as named in the journal, REST and the page.
type Action string

// The actions. Each changes exactly one target; After holds the target's whole resulting state.
const (
	ActionAdd       Action = "add"       // the target did not exist before
	ActionUpdate    Action = "update"    // the same target with other text or status
	ActionReinforce Action = "reinforce" // a duplicate was seen: confidence rises, ObservedAt is updated
	ActionReplace   Action = "replace"   // the old fact of a replacement is superseded by NewID
	ActionRetire    Action = "retire"    // forgotten, expired or evicted
	ActionRestore   Action = "restore"   // the target is forgotten, expired or evicted
	ActionApprove   Action = "approve"   // a superseded, retired or rejected target is active again
	ActionReject    Action = "reject"    // pending → rejected
	ActionLink      Action = "link"      // another owner's fact becomes visible here
	ActionUnlink    Action = "unlink"    // another owner's fact is hidden again
	ActionUndo      Action = "undo"      // an earlier change is reverted
	ActionErase     Action = "erase"     // the target's text is removed for good, see [Eraser]
)

// AuthorKind is the kind of person or program that decided a change.
type AuthorKind string

// The kinds of author.
const (
	ByPerson AuthorKind = "person"
	ByModel  AuthorKind = "model"
	ByRule   AuthorKind = "rule"
)

// AuthorFile is the author's name if an unknown person changed files of a vault.
const AuthorFile = "file"

// Author is the person or program that decided a change.
type Author struct {
	Kind   AuthorKind `json:"kind"`
	Name   string     `json:"name,omitempty"`   // name of the key's user, the model, or the rule
	Prompt string     `json:"prompt,omitempty"` // hash of the model's prompt
	Admin  bool       `json:"admin,omitempty"`  // an administrator acted as that user
}

// Image is the whole state of one thing. Exactly one field is set. In the journal it includes the
// Hash and the Version of that state.
type Image struct {
	Fact     *Fact         `json:"fact,omitempty"`
	Link     *Link         `json:"link,omitempty"`
	Profile  *ProfileEntry `json:"profile,omitempty"`
	Relation *Relation     `json:"relation,omitempty"`
	Summary  *Summary      `json:"summary,omitempty"`
	Turn     *TurnMark     `json:"turn,omitempty"`
	Context  *Context      `json:"context,omitempty"`

	Conversation *ConversationMark `json:"conversation,omitempty"`
}

// TurnMark is the part of a turn that can change. The text of a turn never changes.
type TurnMark struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
}

// Target identifies the image's thing within its owner: "fact:ID", "link:ID", "profile:KEY",
// "relation:FROM:TO:KIND", "summary:ID", "turn:ID", "context:ID" or "conversation:ID"; "" for the
// zero Image.
func (i Image) Target() string {
	switch {
	case i.Fact != nil:
		return "fact:" + i.Fact.ID
	case i.Link != nil:
		return "link:" + i.Link.Fact.ID
	case i.Profile != nil:
		return "profile:" + i.Profile.Key
	case i.Relation != nil:
		return "relation:" + i.Relation.From + ":" + i.Relation.To + ":" + string(i.Relation.Kind)
	case i.Summary != nil:
		return "summary:" + i.Summary.ID
	case i.Turn != nil:
		return "turn:" + i.Turn.ID
	case i.Context != nil:
		return "context:" + i.Context.ID
	case i.Conversation != nil:
		return "conversation:" + i.Conversation.ID
	}
	return ""
}

// Status returns the image's status, "" for the zero Image.
func (i Image) Status() Status {
	switch {
	case i.Fact != nil:
		return i.Fact.Status
	case i.Link != nil:
		return i.Link.Status
	case i.Profile != nil:
		return i.Profile.Status
	case i.Relation != nil:
		return i.Relation.Status
	case i.Summary != nil:
		return i.Summary.Status
	case i.Turn != nil:
		return i.Turn.Status
	case i.Context != nil:
		return i.Context.Status
	case i.Conversation != nil:
		return i.Conversation.Status
	}
	return ""
}

// IsZero reports whether the image is empty.
func (i Image) IsZero() bool { return i.Target() == "" }

// Change is one change of one thing. The caller sets the first part of the fields, the store the
// second part; the journal returns both.
type Change struct {
	Action Action `json:"action"`
	After  Image  `json:"after"`
	// Base is the target's Version when the change was planned; the store refuses the change if it
	// differs. 0 means any version, but an add needs an absent target, a link an absent or inactive
	// one, and every other action an existing one.
	Base   int64  `json:"base,omitempty" bson:"base,omitempty"`
	OldID  string `json:"old_id,omitempty" bson:"old_id,omitempty"` // of a replacement: the old fact
	NewID  string `json:"new_id,omitempty" bson:"new_id,omitempty"` // of a replacement: the new fact
	Reason string `json:"reason,omitempty" bson:"reason,omitempty"`
	Author Author `json:"author"` // zero: the run's author

	ID      string    `json:"id,omitempty"` // "RUN/3": the run's id and the change's position in the run, from 1
	Owner   Owner     `json:"owner,omitempty"`
	Run     string    `json:"run,omitempty"`
	Version int64     `json:"version,omitempty"` // the owner's version, shared by a run's changes
	At      time.Time `json:"at,omitzero"`       // the time of the owner's clock, which never goes back
	Before  Image     `json:"before,omitzero"`   // zero for an add
}

// Replace returns the two changes that replace old with next: old becomes superseded and stays
// valid until next began, and next is added. at is the time of the decision. The inputs are not
// modified.
func Replace(old, next Fact, at time.Time, reason string, author Author) []Change {
	gone := old
	gone.Status, gone.SupersededBy, gone.UpdatedAt = Superseded, next.ID, at
	if gone.ValidTo.IsZero() {
		gone.ValidTo = next.ValidFrom
		if gone.ValidTo.IsZero() {
			gone.ValidTo = next.ObservedAt
		}
	}
	return []Change{
		{Action: ActionReplace, After: Image{Fact: &gone}, Base: old.Version, OldID: old.ID, NewID: next.ID, Reason: reason, Author: author},
		{Action: ActionAdd, After: Image{Fact: &next}, OldID: old.ID, NewID: next.ID, Reason: reason, Author: author},
	}
}

// Run is one execution of a job or one request that changes memory. Its changes are applied
// together or not at all.
type Run struct {
	ID      string   `json:"id"`   // chosen by the caller; applying an id again is a no-op that returns the first receipt
	Kind    string   `json:"kind"` // "learn", "manual", "import", "forget", "undo", …
	Author  Author   `json:"author"`
	Base    int64    `json:"-"`                 // the owner's version when the run was planned, if no later write is allowed, see [PlannedOn]; 0: any version
	Lease   *Lease   `json:"-"`                 // lease of the job that this run completes; nil: no job
	Learned []string `json:"learned,omitempty"` // turns whose LearnedAt is set
	Vectors []Vector `json:"-"`                 // vectors of the memories that the run adds or changes
	Jobs    []Job    `json:"-"`                 // follow-up work, queued in the same transaction
}

// Unwritten is the [Run.Base] of a run that was planned before the owner's first write.
const Unwritten int64 = -1

// PlannedOn returns the Base of a run that was planned when the owner had this version.
func PlannedOn(version int64) int64 {
	if version == 0 {
		return Unwritten
	}
	return version
}

// Overtaken returns a Conflict if the owner's version is later than the run's Base.
func (r Run) Overtaken(version int64) error {
	if r.Base == 0 || r.Base == PlannedOn(version) {
		return nil
	}
	return Errorf(Conflict, "run %s was planned on version %d; the owner's is %d", r.ID, r.Base, version)
}

// Receipt is the result of a run.
type Receipt struct {
	Run     string    `json:"run"`
	Version int64     `json:"version"` // the owner's version after the run
	At      time.Time `json:"at"`
	Changes int       `json:"changes"`
	Again   bool      `json:"again,omitempty" bson:"-"` // the run was applied earlier; this call did nothing

	// Traces is the number of other owners' traces that an erasure removed because they showed its
	// text: of readers of a pool or of global memory. Stores leave it 0.
	Traces int `json:"traces,omitempty" bson:"-"`

	// Held lists the owner's other things that still contain erased text: documents, profile
	// entries, titles and rules of chats. Stores leave it nil.
	Held []string `json:"held,omitempty" bson:"-"`
}

// Vector is the embedding of one memory by one model.
type Vector struct {
	Memory string
	Model  string    // the embedder's Fingerprint
	Values []float32 // unit length; stores keep float16
}
