package memory

import (
	"time"
)

// Action is the kind of a change, as named in the journal, REST and the web page.
type Action string

// The actions. Each changes exactly one target; [Change.After] is the target's whole new state.
const (
	ActionAdd       Action = "add"       // the target is new
	ActionUpdate    Action = "update"    // the target gets another text or status
	ActionReinforce Action = "reinforce" // the fact was stated again: its confidence rises and ObservedAt is updated
	ActionReplace   Action = "replace"   // the target, an old fact, is superseded by the fact NewID
	ActionRetire    Action = "retire"    // the target is forgotten, expired or evicted
	ActionRestore   Action = "restore"   // a superseded, retired or rejected target is active again
	ActionApprove   Action = "approve"   // a pending target becomes active
	ActionReject    Action = "reject"    // a pending target becomes rejected
	ActionLink      Action = "link"      // another owner's fact becomes visible to this owner
	ActionUnlink    Action = "unlink"    // another owner's fact is hidden from this owner again
	ActionUndo      Action = "undo"      // an earlier change of the target is reverted
	ActionErase     Action = "erase"     // the target's text is removed permanently, see [Eraser]
)

// AuthorKind is the kind of person or program that decided a change.
type AuthorKind string

// The kinds of author.
const (
	ByPerson AuthorKind = "person"
	ByModel  AuthorKind = "model"
	ByRule   AuthorKind = "rule"
)

// AuthorFile is the author's name if the person who changed files of a vault is unknown.
const AuthorFile = "file"

// Author is the person or program that decided a change.
type Author struct {
	Kind   AuthorKind `json:"kind"`
	Name   string     `json:"name,omitempty"`   // name of the key's user, the model, or the rule
	Prompt string     `json:"prompt,omitempty"` // hash of the model's prompt
	Admin  bool       `json:"admin,omitempty"`  // whether an administrator acted as the user
}

// State is the whole state of one fact, link, turn or other target of a change. Exactly one field is set. The
// journal also stores the target's Hash and Version, which the JSON omits.
type State struct {
	Fact     *Fact         `json:"fact,omitempty"`
	Link     *Link         `json:"link,omitempty"`
	Profile  *ProfileEntry `json:"profile,omitempty"`
	Relation *Relation     `json:"relation,omitempty"`
	Summary  *Summary      `json:"summary,omitempty"`
	Turn     *TurnState    `json:"turn,omitempty"`
	Context  *Context      `json:"context,omitempty"`

	Conversation *ConversationState `json:"conversation,omitempty"`
}

// TurnState is the part of a turn that can change. The text of a turn never changes.
type TurnState struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
}

// Target identifies the changed object among the owner's objects: "fact:ID", "link:ID", "profile:KEY",
// "relation:FROM:TO:KIND", "summary:ID", "turn:ID", "context:ID" or "conversation:ID"; "" for the zero State.
func (i State) Target() string {
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

// Status returns the target's status, "" for the zero State.
func (i State) Status() Status {
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

// IsZero reports whether no field of the state is set.
func (i State) IsZero() bool { return i.Target() == "" }

// Change is one change of one target. The caller sets the fields from Action to Author, the store sets the
// fields from ID to Before.
type Change struct {
	Action Action `json:"action"`
	After  State  `json:"after"`
	// Base is the target's Version when the change was planned; the store refuses the change if the current
	// Version differs. 0 means any version, but an add needs a new target, a link a new or inactive target,
	// and every other action an existing target.
	Base   int64  `json:"base,omitempty" bson:"base,omitempty"`
	OldID  string `json:"old_id,omitempty" bson:"old_id,omitempty"` // of a replacement: id of the replaced fact
	NewID  string `json:"new_id,omitempty" bson:"new_id,omitempty"` // of a replacement: id of the new fact
	Reason string `json:"reason,omitempty" bson:"reason,omitempty"`
	Author Author `json:"author"` // zero means the run's author

	ID      string    `json:"id,omitempty"` // "RUN/N": the run's id and the change's position in the run, from 1
	Owner   Owner     `json:"owner,omitempty"`
	Run     string    `json:"run,omitempty"`
	Version int64     `json:"version,omitempty"` // owner's version after the run; equal for all changes of the run
	At      time.Time `json:"at,omitzero"`       // time of the run by the owner's clock, which never goes back
	Before  State     `json:"before,omitzero"`   // state before the change; zero for an add
}

// Replace returns the two changes that replace the fact old with replacement: old becomes superseded and its
// validity ends when replacement became valid; replacement is added. at is the time of the decision. The
// arguments are not modified.
func Replace(old, replacement Fact, at time.Time, reason string, author Author) []Change {
	superseded := old
	superseded.Status, superseded.SupersededBy, superseded.UpdatedAt = Superseded, replacement.ID, at
	if superseded.ValidTo.IsZero() {
		superseded.ValidTo = replacement.ValidFrom
		if superseded.ValidTo.IsZero() {
			superseded.ValidTo = replacement.ObservedAt
		}
	}
	return []Change{
		{Action: ActionReplace, After: State{Fact: &superseded}, Base: old.Version, OldID: old.ID, NewID: replacement.ID, Reason: reason, Author: author},
		{Action: ActionAdd, After: State{Fact: &replacement}, OldID: old.ID, NewID: replacement.ID, Reason: reason, Author: author},
	}
}

// Run is one execution of a job or one request that changes memory. Its changes are applied
// together or not at all.
type Run struct {
	ID      string   `json:"id"`   // set by the caller; applying a run with the same id again is a no-op that returns the first receipt
	Kind    string   `json:"kind"` // "learn", "manual", "import", "forget", "undo", …
	Author  Author   `json:"author"`
	Base    int64    `json:"-"`                 // [RunBase] of the owner's version when the run was planned: the store refuses the run after a later write; 0 allows later writes
	Lease   *Lease   `json:"-"`                 // lease of the job that this run completes; nil if there is no job
	Learned []string `json:"learned,omitempty"` // ids of the turns that the run learned from; the store sets their LearnedAt
	Vectors []Vector `json:"-"`                 // embeddings of the memories that the run adds or changes
	Jobs    []Job    `json:"-"`                 // jobs queued in the same transaction
}

// BaseUnwritten is the [Run.Base] of a run that was planned before the owner's first write.
const BaseUnwritten int64 = -1

// RunBase returns the [Run.Base] of a run that was planned at this version of the owner.
func RunBase(version int64) int64 {
	if version == 0 {
		return BaseUnwritten
	}
	return version
}

// CheckBase returns [Conflict] if the run has a Base that does not match the owner's version.
func (r Run) CheckBase(version int64) error {
	if r.Base == 0 || r.Base == RunBase(version) {
		return nil
	}
	return Errorf(Conflict, "run %s was planned on version %d; the owner's version is %d", r.ID, r.Base, version)
}

// Receipt is the result of a run.
type Receipt struct {
	Run     string    `json:"run"`
	Version int64     `json:"version"` // owner's version after the run
	At      time.Time `json:"at"`
	Changes int       `json:"changes"`
	Again   bool      `json:"again,omitempty" bson:"-"` // the run was applied earlier; this call did nothing

	// Traces is the number of other owners' traces that an erasure removed because they contained the
	// erased text: readers of a pool or of global memory had recalled it. Stores return 0.
	Traces int `json:"traces,omitempty" bson:"-"`

	// TextRemainsIn lists the places that still contain the erased text: the owner's documents, profile
	// entries, and titles and rules of chats. Stores return nil.
	TextRemainsIn []string `json:"held,omitempty" bson:"-"`
}

// Vector is the embedding of one memory by one embedding model.
type Vector struct {
	Memory string    // id of the memory
	Model  string    // the embedder's Fingerprint
	Values []float32 // unit length; stores round to float16
}
