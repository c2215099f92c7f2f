package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// PropagateShares handles share jobs. It updates the links to a job's facts. A job without facts links the
// facts that were shared while its owner was closed.
func (e *Sharer) PropagateShares(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	unlock, err := e.Compare.LockDecisions(ctx, job.Owner)
	if err != nil {
		return "", err
	}
	defer unlock()
	if len(job.Turns) == 0 {
		return jobs.Nothing, e.shareMissedFacts(ctx, job.Owner)
	}
	for _, id := range job.Turns {
		if err := e.updateLinks(ctx, job.Owner, id); err != nil {
			return "", err
		}
	}
	return jobs.Nothing, nil
}

// updateLinks updates the links to a fact at all current and past receivers, and shares its replacement.
func (e *Sharer) updateLinks(ctx context.Context, home memory.Owner, factID string) error {
	ctx = memory.ForWrite(ctx)
	current, currentAndPast, err := e.AllReceivers(ctx, home, factID)
	if err != nil {
		return err
	}
	memories, err := e.Store.Get(ctx, home, factID)
	switch {
	case err != nil:
		return fmt.Errorf("read the shared facts: %w", err)
	case len(memories) == 0 || memories[0].Fact == nil:
		return nil
	case memories[0].Link != nil: // a link took the fact's place: see [Sharer.EraseLink]
		return e.backfillLink(ctx, home, *memories[0].Fact)
	}
	var errs []error
	for _, receiver := range currentAndPast {
		if err := e.updateLink(ctx, receiver, *memories[0].Fact, slices.Contains(current, receiver)); err != nil {
			errs = append(errs, fmt.Errorf("update the link to %s: %w", factID, err))
		}
	}
	if core.WasErased(*memories[0].Fact) && (traces.HasManyReaders(currentAndPast) || home.Kind() != memory.UserKind) {
		_, err := e.Traces.EraseReaderTraces(ctx, home, []string{factID})
		errs = append(errs, err)
	}
	if f := *memories[0].Fact; f.Status == memory.Superseded && f.SupersededBy != "" && len(current) > 0 {
		errs = append(errs, e.shareReplacement(ctx, f, current))
	}
	return errors.Join(errs...)
}

// AllReceivers returns a fact's current receivers, and all current and past receivers.
func (e *Sharer) AllReceivers(ctx context.Context, home memory.Owner, factID string) (current, currentAndPast []memory.Owner, err error) {
	shared, err := e.shareEntries(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	current = parseReceivers(shared[factID].Value)
	currentAndPast = slices.Clone(current)
	changes, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "profile:" + ShareKeyPrefix + factID})
	if err != nil {
		return nil, nil, fmt.Errorf("read the receivers of %s: %w", factID, err)
	}
	for _, c := range changes {
		if c.After.Profile != nil {
			currentAndPast = append(currentAndPast, parseReceivers(c.After.Profile.Value)...)
		}
	}
	slices.Sort(currentAndPast)
	currentAndPast = slices.DeleteFunc(slices.Compact(currentAndPast), func(o memory.Owner) bool { return o == home || o.Namespace() != home.Namespace() })
	return current, currentAndPast, nil
}

// updateLink creates, updates or ends a receiver's link to a fact. A closed receiver gets no link.
func (e *Sharer) updateLink(ctx context.Context, receiver memory.Owner, f memory.Fact, isShared bool) error {
	if core.WasErased(f) {
		_, err := e.EraseLink(ctx, receiver, f.Scope.Owner, f.ID)
		return err
	}
	err := core.RetryOnConflict(ctx, func() error { return e.tryUpdateLink(ctx, receiver, f, isShared && isShareable(f)) })
	if errors.Is(err, memory.Gone) {
		return nil
	}
	return err
}

func (e *Sharer) tryUpdateLink(ctx context.Context, receiver memory.Owner, f memory.Fact, isShown bool) error {
	memories, err := e.Store.Get(ctx, receiver, f.ID)
	if err != nil {
		return err
	}
	link := memory.Link{Owner: receiver, Fact: SharedCopy(f), HomeVersion: f.Version, CreatedAt: e.Time()}
	c := memory.Change{Action: memory.ActionLink, Reason: "shared by " + f.Scope.Owner.DisplayName(), Author: BySharing}
	var previous *memory.Link // the receiver's current link or, if it ended, the link as it was before
	if len(memories) > 0 {
		if isIDTaken(memories[0], f) { // the id was taken concurrently, or comes from a file
			if isShown {
				e.Log.Warn("a shared fact is not shown to a user who has another memory with the same id", "fact", f.ID, "home", f.Scope.Owner, "owner", receiver)
			}
			return nil
		}
		previous = memories[0].Link
		link.CreatedAt, c.Base = previous.CreatedAt, previous.Version
		switch isLive := previous.Status.Live(); {
		case !isLive && !isShown, isLive && isShown && previous.HomeVersion == f.Version:
			return nil
		case isLive && isShown:
			c.Action, c.Reason = memory.ActionUpdate, "changed at home"
		case isLive:
			link = *previous
			c.Action, c.Reason = memory.ActionUnlink, "no longer shared"
		default:
			ending, byReceiver, err := e.lastLinkEnding(ctx, *previous, f.Scope.Owner)
			if err != nil || byReceiver {
				return err
			}
			previous = ending.Before.Link
		}
	} else if !isShown {
		return nil
	}
	run := memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}
	if !isShown {
		link.Status = memory.Retired
	} else {
		if link.Status, err = e.linkStatus(ctx, previous, f, receiver); err != nil {
			return err
		}
		if previous == nil || c.Action == memory.ActionLink || previous.Fact.Content != f.Content {
			if run.Vectors, err = e.TextVectors(ctx, f.ID, f.Content); err != nil {
				return err
			}
		}
	}
	c.After.Link = &link
	_, err = e.Store.Apply(ctx, receiver, run, c)
	return err
}

// isShareable reports whether a fact may be shown to other owners.
func isShareable(f memory.Fact) bool {
	return f.Status == memory.Active && !learn.SteersModel(f.Content)
}

// lastLinkEnding returns the last change that ended a link to another owner's fact, or the zero Change, and
// whether the receiver made it by hiding or rejecting the fact. An erasure or reopening of the receiver
// cancels earlier endings.
func (e *Sharer) lastLinkEnding(ctx context.Context, link memory.Link, home memory.Owner) (ending memory.Change, byReceiver bool, err error) {
	changes, err := e.AllChanges(ctx, link.Owner, memory.ChangeQuery{Target: "link:" + link.Fact.ID})
	if err != nil {
		return ending, false, fmt.Errorf("read who ended the link: %w", err)
	}
	i := slices.IndexFunc(changes, func(c memory.Change) bool {
		return c.Before.Link != nil && c.Before.Link.Fact.Scope.Owner == home && c.Before.Status().Live() && !c.After.Status().Live()
	})
	if i < 0 {
		return ending, link.Fact.Scope.Owner == home, nil
	}
	if ending = changes[i]; ending.Author == BySharing {
		return ending, false, nil
	}
	closings, err := e.AllChanges(ctx, link.Owner, memory.ChangeQuery{Target: "profile:" + core.ClosedKey})
	reopened := len(closings) > 0 && (closings[0].After.Status() == memory.Active || !closings[0].At.Before(ending.At))
	return ending, !reopened, err
}

// EraseLink removes the text of a receiver's copy of a fact, and reports whether the copy had text. If the
// journal has a later link to another owner's fact with this id, a job restores that link.
func (e *Sharer) EraseLink(ctx context.Context, receiver, home memory.Owner, id string) (hadText bool, err error) {
	memories, err := e.Store.Get(ctx, receiver, id)
	if err != nil || len(memories) == 0 || memories[0].Link == nil {
		return false, err
	}
	run := memory.Run{ID: core.NewID(), Kind: EraseRun, Author: BySharing}
	if memories[0].Fact.Scope.Owner == home {
		if memories[0].Status() == memory.Retired && memories[0].Content() == "" {
			return false, nil
		}
	} else {
		changes, err := e.AllChanges(ctx, receiver, memory.ChangeQuery{Target: "link:" + id})
		if err != nil || !slices.ContainsFunc(changes, func(c memory.Change) bool { return hasTextOf(c.Before, home) || hasTextOf(c.After, home) }) {
			return false, err
		}
		run.Jobs = []memory.Job{NewJob(receiver, run.ID, id)}
	}
	if _, err = e.Traces.EraseIDs(ctx, receiver, run, []string{id}); err == nil && len(run.Jobs) > 0 {
		e.WakeJobRunner()
	}
	return true, err
}

// hasTextOf reports whether a state is that of a link with text of a fact of the home.
func hasTextOf(state memory.State, home memory.Owner) bool {
	return state.Link != nil && state.Link.Fact.Scope.Owner == home && state.Link.Fact.Content != ""
}

// SharedCopy returns a fact as other owners see it: text, category and validity, without
// provenance, tags and metadata. The owner's name becomes the subject of statements about the user.
func SharedCopy(f memory.Fact) memory.Fact {
	shared := memory.Fact{
		ID: f.ID, Scope: memory.Scope{Owner: f.Scope.Owner}, Content: f.Content, Category: f.Category,
		Subject: f.Subject, Attribute: f.Attribute, Confidence: f.Confidence, Status: f.Status, Source: f.Source, Trust: f.Trust,
		ObservedAt: f.ObservedAt, ObservedSeq: f.ObservedSeq, ValidFrom: f.ValidFrom, ValidTo: f.ValidTo,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, ExpiresAt: f.ExpiresAt, Hash: f.Hash, Version: f.Version,
	}
	if f.Subject == "user" && f.Scope.Owner.Kind() == memory.UserKind {
		shared.Subject = f.Scope.Owner.Name()
	}
	return shared
}

// IsAboutHome reports whether a memory is a shared fact about the user who shared it. Such a fact says
// nothing about its reader.
func IsAboutHome(m memory.Memory) bool {
	return m.Link != nil && m.Fact.Scope.Owner.Kind() == memory.UserKind && m.Fact.Subject == m.Fact.Scope.Owner.Name()
}
