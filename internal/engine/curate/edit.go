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

// Edit is a person's edit of a fact. A nil field leaves the fact's field unchanged.
type Edit struct {
	Content    *string
	Category   *string
	Tags       *[]string
	Confidence *float64
	Core       *memory.Core
	ExpiresAt  *time.Time
	Metadata   *json.RawMessage

	Idempotency string // a repeated key returns the first result
}

// EditFact changes a live fact in place. New text supersedes the facts that it contradicts.
func (e *Curator) EditFact(ctx context.Context, owner memory.Owner, id string, edit Edit, author memory.Author) (memory.Fact, error) {
	return e.change(ctx, owner, id, edit.Idempotency, author, func(f *memory.Fact) (memory.Action, string, error) {
		if !f.Status.Live() {
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; restore it first", id, f.Status)
		}
		if edit.Content != nil {
			content, err := e.CheckText("content", *edit.Content)
			if err != nil {
				return "", "", err
			}
			f.Content, f.Hash, f.Trust = content, text.Hash(content), memory.TrustPerson
			f.Subject, f.Attribute = extract.Classify(content)
		}
		set(&f.Category, edit.Category)
		set(&f.Confidence, edit.Confidence)
		set(&f.Core, edit.Core)
		set(&f.Metadata, edit.Metadata)
		if edit.Tags != nil {
			f.Tags = Tags(*edit.Tags)
		}
		if edit.ExpiresAt != nil {
			f.ExpiresAt = memory.Time(*edit.ExpiresAt)
		}
		return memory.ActionUpdate, "edited by hand", CheckFact(*f)
	})
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// Restore restores a forgotten, superseded or rejected fact, which supersedes the facts that it
// contradicts. A repeated idempotency key returns the first result.
func (e *Curator) Restore(ctx context.Context, owner memory.Owner, id, key string, author memory.Author) (memory.Fact, error) {
	return e.change(ctx, owner, id, key, author, func(f *memory.Fact) (memory.Action, string, error) {
		if core.WasErased(*f) {
			return "", "", core.ErrErased("fact:" + id)
		}
		from := []memory.Status{memory.Superseded, memory.Retired, memory.Rejected}
		if !slices.Contains(from, f.Status) {
			return "", "", memory.Errorf(memory.Conflict, "%s is %s; only these can be restored: %v", id, f.Status, from)
		}
		f.Status, f.SupersededBy, f.ValidTo = memory.Active, "", time.Time{}
		return memory.ActionRestore, "restore by a person", nil
	})
}

// changeFact reads a fact, calls edit with a copy and applies the change, again after each conflict.
// A restored or reworded fact supersedes the facts that it contradicts. With a repeated idempotency
// key it only returns the fact.
func (e *Curator) change(ctx context.Context, owner memory.Owner, id, key string, author memory.Author, edit func(*memory.Fact) (memory.Action, string, error)) (memory.Fact, error) {
	ctx = memory.ForWrite(ctx)
	run := memory.Run{ID: core.IDFor(owner, key), Kind: "manual", Author: author}
	done, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return memory.Fact{}, err
	case len(done) > 0:
		return e.sameFact(ctx, owner, id, done[0])
	}
	leave, err := e.Compare.Deciding(ctx, owner)
	if err != nil {
		return memory.Fact{}, err
	}
	defer leave()
	var next memory.Fact
	err = core.Replan(ctx, func() error {
		run.Base = 0
		was, err := e.Fact(ctx, owner, id)
		if err != nil {
			return err
		}
		next = was
		action, reason, err := edit(&next)
		if err != nil {
			return core.Lasting(err)
		}
		ends, err := e.Revise(ctx, &run, was, &next, reason, author)
		if err != nil {
			return err
		}
		receipt, err := e.Store.Apply(ctx, owner, run, compare.Replacing(ends, memory.Change{
			Action: action, After: memory.Image{Fact: &next}, Base: was.Version, Reason: reason, Author: author,
		})...)
		next.Version = receipt.Version
		return err
	})
	if err != nil {
		return memory.Fact{}, err
	}
	return next, nil
}

// PrepareRevision completes next, the new state of the fact previous. It adds the vector of new text to run
// and, for a restored or reworded fact, the base and the ids of answers that repeat superseded facts.
// It returns the changes that supersede the facts that next contradicts.
func (e *Curator) Revise(ctx context.Context, run *memory.Run, was memory.Fact, next *memory.Fact, reason string, author memory.Author) ([]memory.Change, error) {
	var err error
	next.UpdatedAt = e.Time()
	if next.Content != was.Content {
		if run.Vectors, err = e.TextVectors(ctx, was.ID, next.Content); err != nil {
			return nil, err
		}
	}
	if next.Status != memory.Active || was.Status == memory.Active && next.Content == was.Content {
		return nil, nil
	}
	if run.Base, err = e.Compare.PlannedOn(ctx, *next); err != nil {
		return nil, err
	}
	olds, err := e.Compare.Conflicts(ctx, *next, "")
	if err != nil {
		return nil, err
	}
	ends := e.Compare.Prevail(next, olds, reason+" what replaces it", author)
	run.Learned = e.Retrieve.Repeats(ctx, ends)
	return ends, nil
}

// firstResult returns the current state of the fact that the first request with the same key changed.
func (e *Curator) sameFact(ctx context.Context, owner memory.Owner, id string, done memory.Change) (memory.Fact, error) {
	if done.Action == memory.ActionAdd || done.After.Fact == nil || done.After.Fact.ID != id {
		return memory.Fact{}, core.ErrOtherRequest
	}
	return e.Fact(ctx, owner, id)
}

// IsNewText reports whether no live, rejected or forgotten fact of the scope has this text. If the
// facts cannot be read, it returns false.
func (e *Curator) Free(ctx context.Context, scope memory.Scope, words string) bool {
	page, err := e.Store.List(ctx, scope.Owner, memory.Query{Hash: text.Hash(words), Statuses: core.ComparedStatuses})
	return err == nil && !slices.ContainsFunc(page.Memories, func(m memory.Memory) bool { return m.Fact.Scope == scope })
}
