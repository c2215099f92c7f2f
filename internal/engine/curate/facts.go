package curate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FactInput is a new fact as a person or a program submits it.
type FactInput struct {
	Content        string
	Category       string
	Tags           []string
	Project        string
	Agent          string
	Conversation   string   // source conversation; "": none
	Confidence     *float64 // nil: 1
	Core           memory.Core
	ObservedAt     time.Time // zero: now
	ExpiresAt      time.Time
	Metadata       json.RawMessage
	ReplacedID     string // id of the replaced fact; "": the facts that the new fact contradicts
	IdempotencyKey string // a repeated key returns the first result
}

// Remember adds a fact from a person or program. If an active or pending fact of the same scope has the same
// text, Remember merges the input into that fact, and created is false. The new fact supersedes the facts
// that it contradicts. A model's fact may become pending: see reviewReason.
func (e *Curator) Remember(ctx context.Context, owner memory.Owner, input FactInput, author memory.Author) (fact memory.Fact, created bool, err error) {
	ctx = memory.ForWrite(ctx)
	byModel := author.Kind == memory.ByModel
	if byModel {
		if err := e.CheckToolAccess(ctx, owner, true); err != nil {
			return memory.Fact{}, false, err
		}
		input.Content = learn.Redact(input.Content, e.Opts.Learn.RedactPersonal)
	}
	fact, err = e.FactFromInput(owner, input)
	if err != nil {
		return memory.Fact{}, false, err
	}
	if byModel {
		fact.Source, fact.Trust, fact.Model = memory.Extracted, memory.TrustUser, author.Name
	}
	vectors, err := e.TextVectors(ctx, fact.ID, fact.Content)
	if err != nil {
		return memory.Fact{}, false, err
	}
	var stored memory.Fact
	err = core.RetryOnConflict(ctx, func() error {
		stored, created, err = e.addFact(ctx, fact, vectors, input.ReplacedID, input.IdempotencyKey, author)
		if errors.Is(err, memory.Duplicate) {
			stored, err = e.mergeRepeated(ctx, fact, input.IdempotencyKey, author)
		}
		return err
	})
	return stored, created, err
}

// addFact adds a fact, or returns the fact that an earlier request with the same key added. It returns a
// Conflict after a concurrent write.
func (e *Curator) addFact(ctx context.Context, next memory.Fact, vectors []memory.Vector, replacedID, key string, author memory.Author) (_ memory.Fact, created bool, err error) {
	owner := next.Scope.Owner
	run := memory.Run{ID: core.IDForKey(owner, key), Kind: "manual", Author: author, Vectors: vectors}
	unlock, err := e.Compare.LockAddition(ctx, next)
	if err != nil {
		return memory.Fact{}, false, err
	}
	defer unlock()
	if run.Base, err = e.Compare.RunBaseFor(ctx, next); err != nil {
		return memory.Fact{}, false, err
	}
	contradicted, err := e.Compare.Conflicts(ctx, next, replacedID)
	if err != nil {
		return memory.Fact{}, false, err
	}
	add := memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &next}, NewID: next.ID, Reason: "written by hand", Author: author}
	replaceReason := "a person wrote what replaces it"
	if author.Kind == memory.ByModel {
		add.Reason, replaceReason = "written by a tool call", "a tool call wrote what replaces it"
		if reviewReason := e.reviewReason(ctx, next, contradicted); reviewReason != "" {
			next.Status, add.Reason = memory.Pending, reviewReason
			if len(contradicted) > 0 { // a pending fact replaces facts only on approval
				add.OldID, contradicted = contradicted[0].ID, nil
			}
		}
	}
	replacements := e.Compare.ReplacementChanges(&next, contradicted, replaceReason, author)
	run.Learned = e.Retrieve.AddRepeatingAnswers(ctx, replacements)
	changes := compare.WithReplacements(replacements, add)
	receipt, err := e.Store.Apply(ctx, owner, run, changes...)
	if err != nil {
		return memory.Fact{}, false, err
	}
	if receipt.Again {
		first, err := e.factOfRun(ctx, owner, run.ID)
		return first, false, err
	}
	next.Version = receipt.Version
	return next, true, nil
}

// ReplacedFacts returns the facts that were replaced in the run that wrote the current state of f.
func ReplacedFacts(ctx context.Context, e *core.Core, f memory.Fact) (replaced []memory.Memory) {
	page, err := e.Store.Changes(ctx, f.Scope.Owner, memory.ChangeQuery{Fact: f.ID, Action: memory.ActionReplace})
	if err != nil { // the fact is stored regardless
		e.Log.Warn("cannot list the facts that a new fact replaced", "fact", f.ID, "err", err)
	}
	for _, c := range page.Changes {
		if c.NewID == f.ID && c.Version == f.Version {
			replaced = append(replaced, memory.Memory{Fact: c.After.Fact})
		}
	}
	return replaced
}

// observationInterval is the interval after which a repeated input counts as a new observation.
const observationInterval = time.Minute

// mergeRepeated merges a repeated input into the active or pending fact with the same text: tags, other
// fields and the time of observation. A person's input approves a pending fact. It returns a Conflict if the
// fact is no longer active or pending.
func (e *Curator) mergeRepeated(ctx context.Context, next memory.Fact, key string, author memory.Author) (memory.Fact, error) {
	existing, err := e.factWithText(ctx, next)
	if err != nil {
		return memory.Fact{}, err
	}
	errUnchanged := errors.New("the input adds nothing to the stored fact")
	fact, err := e.changeFact(ctx, next.Scope.Owner, existing.ID, key, author, func(f *memory.Fact) (memory.Action, string, error) {
		if !f.Status.Live() {
			return "", "", memory.Errorf(memory.Conflict, "%s became %s during the write", f.ID, f.Status)
		}
		previous := *f
		if author.Kind != memory.ByModel {
			f.Status, f.Trust = memory.Active, next.Trust
		}
		if len(next.Tags) > 0 {
			f.Tags = NormalizeTags(slices.Concat(f.Tags, next.Tags))
		}
		f.Category = cmp.Or(next.Category, f.Category)
		f.Confidence = max(f.Confidence, next.Confidence)
		f.Core = cmp.Or(next.Core, f.Core)
		if !next.ExpiresAt.IsZero() || !f.Visible(next.CreatedAt) {
			f.ExpiresAt = next.ExpiresAt
		}
		if next.Metadata != nil {
			f.Metadata = next.Metadata
		}
		if next.ObservedAt.Sub(f.ObservedAt) >= observationInterval {
			f.ObservedAt = next.ObservedAt
		}
		if key == "" && reflect.DeepEqual(*f, previous) { // with a key, the request must be recorded
			existing = previous
			return "", "", errUnchanged
		}
		return memory.ActionUpdate, "written by hand again", CheckFact(*f)
	})
	if errors.Is(err, errUnchanged) {
		return existing, nil
	}
	return fact, err
}

// FactFromInput returns the fact that an input describes.
func (e *Curator) FactFromInput(owner memory.Owner, input FactInput) (memory.Fact, error) {
	content, err := e.CheckText("content", input.Content)
	if err != nil {
		return memory.Fact{}, err
	}
	now := e.Time()
	f := memory.Fact{
		ID:         core.NewID(),
		Scope:      memory.Scope{Owner: owner, Project: input.Project, Agent: input.Agent},
		Content:    content,
		Category:   input.Category,
		Tags:       NormalizeTags(input.Tags),
		Confidence: 1,
		Status:     memory.Active,
		Source:     memory.Manual,
		Trust:      memory.TrustPerson,
		Core:       input.Core,
		ObservedAt: memory.Time(input.ObservedAt),
		CreatedAt:  now,
		UpdatedAt:  now,
		ExpiresAt:  memory.Time(input.ExpiresAt),
		Metadata:   input.Metadata,
		Provenance: memory.Provenance{Conversation: input.Conversation},
		Hash:       text.Hash(content),
	}
	if f.ObservedAt.IsZero() {
		f.ObservedAt = now
	}
	if input.Confidence != nil {
		f.Confidence = *input.Confidence
	}
	f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
	return f, CheckFact(f)
}

// CheckFact returns an error for invalid fields of a fact.
func CheckFact(f memory.Fact) error {
	if f.Confidence < 0 || f.Confidence > 1 {
		return memory.Errorf(memory.Invalid, "confidence: %v is out of range; valid is 0 to 1", f.Confidence)
	}
	if len(f.Metadata) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(f.Metadata, &object) != nil {
			return memory.Errorf(memory.Invalid, "metadata: is not a JSON object")
		}
	}
	return nil
}

// NormalizeTags returns the trimmed tags without duplicates, in the same order.
func NormalizeTags(tags []string) []string {
	var normalized []string
	for _, t := range tags {
		if t = strings.TrimSpace(t); t != "" && !slices.Contains(normalized, t) {
			normalized = append(normalized, t)
		}
	}
	return normalized
}

// factWithText returns the active or pending fact with the text and scope of f.
func (e *Curator) factWithText(ctx context.Context, f memory.Fact) (memory.Fact, error) {
	page, err := e.Store.List(ctx, f.Scope.Owner, memory.Query{Hash: f.Hash, Statuses: []memory.Status{memory.Active, memory.Pending}})
	if err != nil {
		return memory.Fact{}, err
	}
	for _, m := range page.Memories {
		if m.Fact != nil && m.Fact.Scope == f.Scope {
			return *m.Fact, nil
		}
	}
	return memory.Fact{}, memory.Errorf(memory.Conflict, "the same fact was added and removed at the same time; try again")
}

// factOfRun returns the current state of the fact that a run wrote.
func (e *Curator) factOfRun(ctx context.Context, owner memory.Owner, runID string) (memory.Fact, error) {
	page, err := e.Store.Changes(ctx, owner, memory.ChangeQuery{Run: runID})
	if err != nil {
		return memory.Fact{}, err
	}
	for _, c := range page.Changes {
		if c.After.Fact != nil && c.Action != memory.ActionReplace {
			return e.Fact(ctx, owner, c.After.Fact.ID)
		}
	}
	return memory.Fact{}, core.ErrOtherRequest
}

// CheckToolAccess returns an error if a model's tools may not use an owner's memory:
// [memory.Conflict] while memory or, for a write, learning is paused.
func (e *Curator) CheckToolAccess(ctx context.Context, owner memory.Owner, forWrite bool) error {
	switch p := e.CurrentPause(ctx, owner); {
	case p == core.PauseUnknown:
		return core.ErrPauseUnknown
	case p == core.PauseMemory, forWrite && p == core.PauseLearning:
		return memory.Errorf(memory.Conflict, "the user has paused %s; nothing was done", p)
	}
	return nil
}

// EditByTool changes a fact for a model. New text becomes a new fact, which replaces the old fact or
// becomes pending: see reviewReason.
func (e *Curator) EditByTool(ctx context.Context, owner memory.Owner, id string, edit FactEdit, author memory.Author) (memory.Fact, error) {
	if err := e.CheckToolAccess(ctx, owner, true); err != nil {
		return memory.Fact{}, err
	}
	previous, err := e.Fact(ctx, owner, id)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case previous.Status != memory.Active:
		return memory.Fact{}, memory.Errorf(memory.Conflict, "%s is %s; only an active fact can be updated", id, previous.Status)
	case edit.Content == nil:
		return e.EditFact(ctx, owner, id, edit, author)
	}
	input := FactInput{
		Content: *edit.Content, Category: previous.Category, Tags: previous.Tags, Project: previous.Scope.Project, Agent: previous.Scope.Agent,
		ExpiresAt: previous.ExpiresAt, Metadata: previous.Metadata, ReplacedID: id, IdempotencyKey: edit.IdempotencyKey,
	}
	setIfPresent(&input.Category, edit.Category)
	setIfPresent(&input.Tags, edit.Tags)
	f, _, err := e.Remember(ctx, owner, input, author)
	return f, err
}

// reviewReason returns why a person must review a model's fact, or "" if no review is needed. The rules
// are those of learn.Plan. contradicted are the facts that f would replace.
func (e *Curator) reviewReason(ctx context.Context, f memory.Fact, contradicted []memory.Fact) string {
	review := e.Opts.Learn.Review
	reason := learn.ReviewReason(f.Content, f.Confidence, review.MinConfidence, f.Category, review.Categories)
	switch {
	case learn.ReadsLikeInstruction(f.Content):
		return "it reads like an instruction"
	case reason != "":
		return reason
	case slices.ContainsFunc(contradicted, core.IsConfirmed):
		return "it contradicts a more trusted statement"
	case len(contradicted) > 0 && review.Conflicts:
		return learn.ConflictReviewReason
	case !e.IsNewText(ctx, f.Scope, f.Content) && !e.hasLiveDuplicate(ctx, f):
		return "the same was rejected or forgotten before"
	}
	return ""
}

// hasLiveDuplicate reports whether an active or pending fact has the same text and scope.
func (e *Curator) hasLiveDuplicate(ctx context.Context, f memory.Fact) bool {
	_, err := e.factWithText(ctx, f)
	return err == nil
}
