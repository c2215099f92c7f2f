package curate

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FactEdit is a person's edit of a fact. A nil field leaves the fact's field unchanged.
type FactEdit struct {
	Content    *string
	Category   *string
	Tags       *[]string
	Confidence *float64
	Core       *memory.Core
	ExpiresAt  *time.Time
	Metadata   *json.RawMessage

	IdempotencyKey string // a repeated key returns the first result
}

// EditFact changes an active or pending fact in place. New text supersedes the facts that it contradicts.
func (e *Curator) EditFact(ctx context.Context, owner memory.Owner, id string, edit FactEdit, author memory.Author) (memory.Fact, error) {
	return e.changeFact(ctx, owner, id, edit.IdempotencyKey, author, func(f *memory.Fact) (memory.Action, string, error) {
		if !f.Status.Live() {
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, f.Status)
		}
		if edit.Content != nil {
			content, err := e.CheckText("content", *edit.Content)
			if err != nil {
				return "", "", err
			}
			f.Content, f.Hash, f.Trust = content, text.Hash(content), memory.TrustPerson
			f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
		}
		setIfPresent(&f.Category, edit.Category)
		setIfPresent(&f.Confidence, edit.Confidence)
		setIfPresent(&f.Core, edit.Core)
		setIfPresent(&f.Metadata, edit.Metadata)
		if edit.Tags != nil {
			f.Tags = NormalizeTags(*edit.Tags)
		}
		if edit.ExpiresAt != nil {
			f.ExpiresAt = memory.Time(*edit.ExpiresAt)
		}
		return memory.ActionUpdate, "edited by hand", CheckFact(*f)
	})
}

func setIfPresent[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Restore restores a forgotten, superseded or rejected fact, which supersedes the facts that it
// contradicts. A repeated idempotency key returns the first result.
func (e *Curator) Restore(ctx context.Context, owner memory.Owner, id, key string, author memory.Author) (memory.Fact, error) {
	return e.changeFact(ctx, owner, id, key, author, func(f *memory.Fact) (memory.Action, string, error) {
		if core.WasErased(*f) {
			return "", "", core.ErrErased("fact:" + id)
		}
		restorable := []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}
		if !slices.Contains(restorable, f.Status) {
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; only these can be restored: %v", id, f.Status, restorable)
		}
		f.Status, f.SupersededBy, f.ValidTo = memory.Active, "", time.Time{}
		return memory.ActionRestore, "restore by a person", nil
	})
}

// changeFact reads a fact, calls edit with a copy and applies the change, again after each conflict.
// A restored or reworded fact supersedes the facts that it contradicts. With a repeated idempotency
// key it only returns the fact.
func (e *Curator) changeFact(ctx context.Context, owner memory.Owner, id, key string, author memory.Author, edit func(*memory.Fact) (memory.Action, string, error)) (memory.Fact, error) {
	ctx = memory.ForWrite(ctx)
	run := memory.Run{ID: core.IDForKey(owner, key), Kind: "manual", Author: author}
	earlier, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case len(earlier) > 0:
		return e.firstResult(ctx, owner, id, earlier[0])
	}
	unlock, err := e.Compare.LockDecisions(ctx, owner)
	if err != nil {
		return memory.Fact{}, err
	}
	defer unlock()
	var next memory.Fact
	err = core.RetryOnConflict(ctx, func() error {
		run.Base = 0
		previous, err := e.Fact(ctx, owner, id)
		if err != nil {
			return err
		}
		next = previous
		action, reason, err := edit(&next)
		if err != nil {
			return core.Permanent(err)
		}
		replacements, err := e.PrepareRevision(ctx, &run, previous, &next, reason, author)
		if err != nil {
			return err
		}
		receipt, err := e.Store.Apply(ctx, owner, run, compare.WithReplacements(replacements, memory.Change{
			Action: action, After: memory.State{Fact: &next}, Base: previous.Version, Reason: reason, Author: author,
		})...)
		next.Version = receipt.Version
		return err
	})
	if err != nil {
		return memory.Fact{}, err
	}
	return next, nil
}

// PrepareRevision completes next, which is the new state of the fact in previous. It adds to run the vector
// of a new text and, for a restored or reworded fact, the base and the ids of answers that repeat superseded
// facts. It returns the changes that supersede the facts that next contradicts.
func (e *Curator) PrepareRevision(ctx context.Context, run *memory.Run, previous memory.Fact, next *memory.Fact, reason string, author memory.Author) ([]memory.Change, error) {
	var err error
	next.UpdatedAt = e.Time()
	if next.Content != previous.Content {
		if run.Vectors, err = e.TextVectors(ctx, previous.ID, next.Content); err != nil {
			return nil, err
		}
	}
	if next.Status != memory.Active || previous.Status == memory.Active && next.Content == previous.Content {
		return nil, nil
	}
	if run.Base, err = e.Compare.RunBaseFor(ctx, *next); err != nil {
		return nil, err
	}
	contradicted, err := e.Compare.Conflicts(ctx, *next, "")
	if err != nil {
		return nil, err
	}
	replacements := e.Compare.ReplacementChanges(next, contradicted, reason+" what replaces it", author)
	run.Learned = e.Retrieve.AddRepeatingAnswers(ctx, replacements)
	return replacements, nil
}

// firstResult returns the current state of the fact that the first request with the same key changed.
func (e *Curator) firstResult(ctx context.Context, owner memory.Owner, id string, firstChange memory.Change) (memory.Fact, error) {
	if firstChange.Action == memory.ActionAdd || firstChange.After.Fact == nil || firstChange.After.Fact.ID != id {
		return memory.Fact{}, core.ErrOtherRequest
	}
	return e.Fact(ctx, owner, id)
}

// IsNewText reports whether no active, pending, rejected or forgotten fact of the scope has this text. If the
// facts cannot be read, it returns false.
func (e *Curator) IsNewText(ctx context.Context, scope memory.Scope, content string) bool {
	page, err := e.Store.List(ctx, scope.Owner, memory.Query{Hash: text.Hash(content), Statuses: core.ComparedStatuses})
	return err == nil && !slices.ContainsFunc(page.Memories, func(m memory.Memory) bool { return m.Fact.Scope == scope })
}
