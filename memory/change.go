package memory

import (
	"time"
)

// Action is what a change does, as named in the journal, REST and the page.
type Action string

// The actions. Each has exactly one target, and its After holds the whole resulting state.
const (
	ActionAdd       Action = "add"       // something that was not there
	ActionUpdate    Action = "update"    // the same thing with other text or marks
	ActionReinforce Action = "reinforce" // a duplicate was seen: more sure, observed again
	ActionReplace   Action = "replace"   // the old side of a replacement: superseded by NewID
	ActionRetire    Action = "retire"    // forgotten, expired or evicted
	ActionRestore   Action = "restore"   // back from superseded, retired or rejected
	ActionApprove   Action = "approve"   // pending → active
	ActionReject    Action = "reject"    // pending → rejected
	ActionLink      Action = "link"      // another owner's fact becomes visible
	ActionUnlink    Action = "unlink"    // and is hidden again
	ActionUndo      Action = "undo"      // an earlier change is reverted
	ActionErase     Action = "erase"     // its text is removed for good, see [Eraser]
)

// AuthorKind is who or what decided a change.
type AuthorKind string

// The kinds of author.
const (
	ByPerson AuthorKind = "person"
	ByModel  AuthorKind = "model"
	ByRule   AuthorKind = "rule"
)

// AuthorFile is the name of an unknown person who changed files of a vault.
const AuthorFile = "file"

// Author is who or what decided a change.
type Author struct {
	Kind   AuthorKind `json:"kind"`
	Name   string     `json:"name,omitempty"`   // the key's user, the model, the rule
	Prompt string     `json:"prompt,omitempty"` // hash of a model's prompt
	Admin  bool       `json:"admin,omitempty"`  // an administrator who acts as that user
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

// TurnMark is the part of a turn that can change. Its text cannot.
type TurnMark struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
}

// Target is the key of the image's thing: "fact:ID", "link:ID", "profile:KEY",
// "relation:FROM:TO:KIND", "summary:ID", "turn:ID", "context:ID" or "conversation:ID"; "" for the
// zero Image. It is unique within an owner.
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

// Change is one change of one thing. The writer sets the first part, the store the second; the
// journal returns both.
type Change struct {
	Action Action `json:"action"`
	After  Image  `json:"after"`
	// Base is the version of the target that the change was planned on (its Version field when
	// read). 0 means any version, except that an add needs its target absent, a link needs it
	// absent or not active, and every other action needs it present.
	Base   int64  `json:"base,omitempty" bson:"base,omitempty"`
	OldID  string `json:"old_id,omitempty" bson:"old_id,omitempty"` // of a replacement: the old fact
	NewID  string `json:"new_id,omitempty" bson:"new_id,omitempty"` // of a replacement: the new fact
	Reason string `json:"reason,omitempty" bson:"reason,omitempty"`
	Author Author `json:"author"` // the zero Author: the run's

	ID      string    `json:"id,omitempty"` // "RUN/3": the run and the place in it, from 1
	Owner   Owner     `json:"owner,omitempty"`
	Run     string    `json:"run,omitempty"`
	Version int64     `json:"version,omitempty"` // the owner's, shared by a run's changes
	At      time.Time `json:"at,omitzero"`       // the owner's clock: never goes back
	Before  Image     `json:"before,omitzero"`   // zero for an add
}

// Replace returns the two changes by which next replaces old: old becomes superseded and stays true
// until next began, next is added. at is the time of the decision. Both inputs are left unchanged.
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
	ID      string   `json:"id"`   // the caller's; applying an id again is a no-op that returns the first receipt
	Kind    string   `json:"kind"` // "learn", "manual", "import", "forget", "undo", …
	Author  Author   `json:"author"`
	Base    int64    `json:"-"`                 // the owner's version it was planned on, if no later write is allowed, see [PlannedOn]; 0: any version
	Lease   *Lease   `json:"-"`                 // of the job this run completes; nil without one
	Learned []string `json:"learned,omitempty"` // turns whose LearnedAt is set
	Vectors []Vector `json:"-"`                 // of the memories it adds or rewords
	Jobs    []Job    `json:"-"`                 // follow-up work, queued in the same transaction
}

// Unwritten is the [Run.Base] of a run planned before the owner's first write.
const Unwritten int64 = -1

// PlannedOn returns the Base of a run planned on a version of the owner.
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
	Version int64     `json:"version"` // the owner's after the run
	At      time.Time `json:"at"`
	Changes int       `json:"changes"`
	Again   bool      `json:"again,omitempty" bson:"-"` // the run was applied before; nothing was done now

	// Traces is how many other owners' traces with its text an erasure removed: of readers through
	// a pool or with everybody. No store sets it.
	Traces int `json:"traces,omitempty" bson:"-"`

	// Held is the ids of the owner's other things that repeat erased text, and stay: documents,
	// profile entries, titles and rules of chats. No store sets it.
	Held []string `json:"held,omitempty" bson:"-"`
}

// Vector is the embedding of one memory by one model.
type Vector struct {
	Memory string
	Model  string    // the embedder's Fingerprint
	Values []float32 // unit length; stores keep float16
}
