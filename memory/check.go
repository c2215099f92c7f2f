package memory

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Check returns [Invalid] for a run that every store must refuse for owner. It reads no stored data: the
// store itself detects conflicts and duplicates.
func (r Run) Check(owner Owner, changes ...Change) error {
	if r.ID == "" {
		return Errorf(Invalid, "a run needs an id")
	}
	for i, c := range changes {
		if err := c.check(owner); err != nil {
			return Errorf(Invalid, "change %d of run %s: %w", i+1, r.ID, err)
		}
	}
	return checkJobs(owner, r.Jobs)
}

// Check returns [Invalid] for a batch that every store must refuse for owner.
func (b Batch) Check(owner Owner) error {
	if b.Conversation.ID == "" || b.Conversation.Owner != owner {
		return Errorf(Invalid, "a batch needs a conversation of %s with an id", owner)
	}
	if s := b.Conversation.Status; s != "" && !slices.Contains(activeOrRetired, s) {
		return Errorf(Invalid, "a conversation's status must be one of %q, not %q", activeOrRetired, s)
	}
	for i, t := range b.Turns {
		if err := t.check(owner, b.Conversation.ID); err != nil {
			return Errorf(Invalid, "turn %d of the batch: %w", i+1, err)
		}
	}
	if len(b.Changes) > 0 && b.Run == "" {
		return Errorf(Invalid, "a batch with changes needs a run")
	}
	for i, c := range b.Changes {
		if c.After.Turn == nil && (c.After.Conversation == nil || c.After.Conversation.ID != b.Conversation.ID) {
			return Errorf(Invalid, "change %d of the batch must change a turn or the batch's conversation", i+1)
		}
		if err := c.check(owner); err != nil {
			return Errorf(Invalid, "change %d of the batch: %w", i+1, err)
		}
	}
	return checkJobs(owner, b.Jobs)
}

func checkJobs(owner Owner, jobs []Job) error {
	for _, j := range jobs {
		if j.ID == "" || j.Kind == "" || j.Owner != owner {
			return Errorf(Invalid, "a job needs an id, a kind and the owner %s; got %q, %q and %q", owner, j.ID, j.Kind, j.Owner)
		}
	}
	return nil
}

var allowedActions = []Action{
	ActionAdd, ActionUpdate, ActionReinforce, ActionReplace, ActionRetire, ActionRestore,
	ActionApprove, ActionReject, ActionLink, ActionUnlink, ActionUndo,
}

func (c Change) check(owner Owner) error {
	if !slices.Contains(allowedActions, c.Action) {
		return Errorf(Invalid, "unknown action %q", c.Action)
	}
	if (c.Action == ActionLink || c.Action == ActionUnlink) && c.After.Link == nil {
		return Errorf(Invalid, "the action %s needs a link as target", c.Action)
	}
	if c.Action == ActionAdd && c.After.Turn != nil {
		return Errorf(Invalid, "turns are added by Append, not by Apply")
	}
	if c.Action == ActionAdd && c.After.Conversation != nil {
		return Errorf(Invalid, "conversations are added by Append, not by Apply")
	}
	return c.After.check(owner)
}

var (
	factStatuses    = []Status{Active, Pending, Superseded, Retired, Rejected}
	turnStatuses    = []Status{Active, Replaced, Retired}
	linkStatuses    = []Status{Active, Pending, Retired}
	activeOrRetired = []Status{Active, Retired}
)

func (i State) check(owner Owner) error {
	switch set := i.countSetFields(); {
	case set == 0:
		return Errorf(Invalid, "the change has no target")
	case set > 1:
		return Errorf(Invalid, "the change has %d targets", set)
	case i.Fact != nil:
		return i.Fact.check(owner)
	case i.Link != nil:
		return i.Link.check(owner)
	case i.Profile != nil:
		return checkTarget("profile entry", i.Profile.Key != "", owner, i.Profile.Owner, i.Profile.Status, activeOrRetired)
	case i.Relation != nil:
		r := i.Relation
		return checkTarget("relation", r.From != "" && r.To != "" && r.Kind != "", owner, r.Owner, r.Status, activeOrRetired)
	case i.Summary != nil:
		if !utf8.ValidString(i.Summary.Text) {
			return Errorf(Invalid, "the summary's text is not UTF-8")
		}
		return checkTarget("summary", i.Summary.ID != "", owner, i.Summary.Scope.Owner, i.Summary.Status, activeOrRetired)
	case i.Context != nil:
		return i.Context.check(owner)
	case i.Conversation != nil:
		return i.Conversation.check(owner)
	}
	return checkTarget("turn", i.Turn.ID != "", owner, owner, i.Turn.Status, turnStatuses)
}

func (c *Context) check(owner Owner) error {
	if !utf8.ValidString(c.Title) || !utf8.ValidString(c.Content) {
		return Errorf(Invalid, "the context's text is not UTF-8")
	}
	return checkTarget("context", c.ID != "", owner, c.Owner, c.Status, activeOrRetired)
}

func (c *ConversationState) check(owner Owner) error {
	if !utf8.ValidString(c.Title) || !utf8.ValidString(c.Rules) {
		return Errorf(Invalid, "the conversation's text is not UTF-8")
	}
	return checkTarget("conversation", c.ID != "", owner, owner, c.Status, activeOrRetired)
}

func (i State) countSetFields() int {
	n := 0
	for _, set := range []bool{
		i.Fact != nil, i.Link != nil, i.Profile != nil, i.Relation != nil, i.Summary != nil, i.Turn != nil,
		i.Context != nil, i.Conversation != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (f *Fact) check(owner Owner) error {
	switch {
	case f.Hash == "":
		return Errorf(Invalid, "fact %s has no hash", f.ID)
	case !utf8.ValidString(f.Content):
		return Errorf(Invalid, "the fact's content is not UTF-8")
	case !slices.Contains(coreValues, f.Core):
		return Errorf(Invalid, "a fact's core must be auto, always or never, not %q", f.Core)
	case len(f.Metadata) > 0 && !(json.Valid(f.Metadata) && bytes.HasPrefix(bytes.TrimSpace(f.Metadata), []byte("{"))):
		return Errorf(Invalid, "the fact's metadata is not a JSON object")
	}
	return checkTarget("fact", f.ID != "", owner, f.Scope.Owner, f.Status, factStatuses)
}

func (l *Link) check(owner Owner) error {
	if err := l.Fact.check(l.Fact.Scope.Owner); err != nil {
		return err
	}
	if !l.Fact.Scope.Owner.Valid() || l.Fact.Scope.Owner == owner {
		return Errorf(Invalid, "a link must show a fact of another owner, not of %q", l.Fact.Scope.Owner)
	}
	return checkTarget("link", true, owner, l.Owner, l.Status, linkStatuses)
}

func (t *Turn) check(owner Owner, conversation string) error {
	if t.Conversation != conversation {
		return Errorf(Invalid, "the turn is in conversation %q, but the batch is for %q", t.Conversation, conversation)
	}
	if !utf8.ValidString(t.Content) {
		return Errorf(Invalid, "the turn's content is not UTF-8")
	}
	return checkTarget("turn", t.ID != "", owner, t.Owner, t.Status, turnStatuses)
}

func checkTarget(kind string, hasID bool, owner, actualOwner Owner, status Status, allowed []Status) error {
	switch {
	case !hasID:
		return Errorf(Invalid, "a %s needs an id", kind)
	case actualOwner != owner:
		return Errorf(Invalid, "the %s belongs to %q, not to %s", kind, actualOwner, owner)
	case !slices.Contains(allowed, status):
		return Errorf(Invalid, "the status of a %s must be one of %q, not %q", kind, allowed, status)
	}
	return nil
}
