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

// PropagateShares handles share jobs. It updates the links to a job's facts. A job without facts is for a
// reopened owner.
func (e *Sharer) PropagateShares(ctx context.Context, job memory.Job) (jobs.End, error) {
	leave, err := e.Compare.Deciding(ctx, job.Owner)
	if err != nil {
		return "", err
	}
	defer leave()
	if len(job.Turns) == 0 {
		return jobs.Nothing, e.spreadMissed(ctx, job.Owner)
	}
	for _, id := range job.Turns {
		if err := e.spread(ctx, job.Owner, id); err != nil {
			return "", err
		}
	}
	return jobs.Nothing, nil
}

// updateLinks updates the links to a fact at all current and past receivers, and shares its replacement.
func (e *Sharer) spread(ctx context.Context, home memory.Owner, id string) error {
	ctx = memory.ForWrite(ctx)
	with, ever, err := e.EverShared(ctx, home, id)
	if err != nil {
		return err
	}
	found, err := e.Store.Get(ctx, home, id)
	switch {
	case err != nil:
		return fmt.Errorf("read the shared facts: %w", err)
	case len(found) == 0 || found[0].Fact == nil:
		return nil
	case found[0].Link != nil: // a link took the fact's place: see [Sharer.EraseLink]
		return e.backfillShares(ctx, home, *found[0].Fact)
	}
	var errs []error
	for _, to := range ever {
		if err := e.keepLink(ctx, to, *found[0].Fact, slices.Contains(with, to)); err != nil {
			errs = append(errs, fmt.Errorf("update the link to %s: %w", id, err))
		}
	}
	if core.WasErased(*found[0].Fact) && (traces.SeenByMany(ever) || home.Kind() != memory.UserKind) {
		_, err := e.Traces.EraseReaders(ctx, home, []string{id})
		errs = append(errs, err)
	}
	if f := *found[0].Fact; f.Status == memory.Superseded && f.SupersededBy != "" && len(with) > 0 {
		errs = append(errs, e.shareReplacement(ctx, f, with))
	}
	return errors.Join(errs...)
}

// AllReceivers returns a fact's current receivers, and all current and past receivers.
func (e *Sharer) EverShared(ctx context.Context, home memory.Owner, id string) (with, ever []memory.Owner, err error) {
	shared, err := e.sharedBy(ctx, home)
	if err != nil {
		return nil, nil, err
	}
	with = sharedIn(shared[id].Value)
	ever = slices.Clone(with)
	past, err := e.AllChanges(ctx, home, memory.ChangeQuery{Target: "profile:" + SharedKeys + id})
	if err != nil {
		return nil, nil, fmt.Errorf("read the receivers of %s: %w", id, err)
	}
	for _, c := range past {
		if c.After.Profile != nil {
			ever = append(ever, sharedIn(c.After.Profile.Value)...)
		}
	}
	slices.Sort(ever)
	ever = slices.DeleteFunc(slices.Compact(ever), func(o memory.Owner) bool { return o == home || o.Namespace() != home.Namespace() })
	return with, ever, nil
}

// updateLink creates, updates or ends a receiver's link to a fact. A closed receiver gets no link.
func (e *Sharer) keepLink(ctx context.Context, to memory.Owner, f memory.Fact, shared bool) error {
	if core.WasErased(f) {
		_, err := e.EraseLink(ctx, to, f.Scope.Owner, f.ID)
		return err
	}
	err := core.Replan(ctx, func() error { return e.keepLinkOnce(ctx, to, f, shared && showable(f)) })
	if errors.Is(err, memory.Gone) {
		return nil
	}
	return err
}

func (e *Sharer) keepLinkOnce(ctx context.Context, to memory.Owner, f memory.Fact, shown bool) error {
	found, err := e.Store.Get(ctx, to, f.ID)
	if err != nil {
		return err
	}
	link := memory.Link{Owner: to, Fact: CopyOf(f), HomeVersion: f.Version, CreatedAt: e.Time()}
	c := memory.Change{Action: memory.ActionLink, Reason: "shared by " + f.Scope.Owner.Called(), Author: BySharing}
	var was *memory.Link // the link before it ended
	if len(found) > 0 {
		if idTaken(found[0], f) { // concurrent creation, or ids from files
			if shown {
				e.Log.Warn("a shared fact is not shown to a user who has another memory with the same id", "fact", f.ID, "home", f.Scope.Owner, "owner", to)
			}
			return nil
		}
		was = found[0].Link
		link.CreatedAt, c.Base = was.CreatedAt, was.Version
		switch live := was.Status.Live(); {
		case !live && !shown, live && shown && was.HomeVersion == f.Version:
			return nil
		case live && shown:
			c.Action, c.Reason = memory.ActionUpdate, "changed at home"
		case live:
			link = *was
			c.Action, c.Reason = memory.ActionUnlink, "no longer shared"
		default:
			ended, hid, err := e.linkEnding(ctx, *was, f.Scope.Owner)
			if err != nil || hid {
				return err
			}
			was = ended.Before.Link
		}
	} else if !shown {
		return nil
	}
	run := memory.Run{ID: core.NewID(), Kind: "share", Author: BySharing}
	if !shown {
		link.Status = memory.Retired
	} else {
		if link.Status, err = e.linkStatus(ctx, was, f, to); err != nil {
			return err
		}
		if was == nil || c.Action == memory.ActionLink || was.Fact.Content != f.Content {
			if run.Vectors, err = e.TextVectors(ctx, f.ID, f.Content); err != nil {
				return err
			}
		}
	}
	c.After.Link = &link
	_, err = e.Store.Apply(ctx, to, run, c)
	return err
}

// isShareable reports whether a fact may be shown to other owners.
func showable(f memory.Fact) bool { return f.Status == memory.Active && !learn.Instructs(f.Content) }

// lastEnding returns the last change that ended a link to another owner's fact, or the zero Change, and
// whether the receiver made it by hiding or rejecting the fact. An erasure or reopening of the receiver
// cancels earlier endings.
func (e *Sharer) linkEnding(ctx context.Context, link memory.Link, home memory.Owner) (ended memory.Change, hid bool, err error) {
	past, err := e.AllChanges(ctx, link.Owner, memory.ChangeQuery{Target: "link:" + link.Fact.ID})
	if err != nil {
		return ended, false, fmt.Errorf("read who ended the link: %w", err)
	}
	i := slices.IndexFunc(past, func(c memory.Change) bool {
		return c.Before.Link != nil && c.Before.Link.Fact.Scope.Owner == home && c.Before.Status().Live() && !c.After.Status().Live()
	})
	if i < 0 {
		return ended, link.Fact.Scope.Owner == home, nil
	}
	if ended = past[i]; ended.Author == BySharing {
		return ended, false, nil
	}
	marks, err := e.AllChanges(ctx, link.Owner, memory.ChangeQuery{Target: "profile:" + core.ClosedKey})
	reopened := len(marks) > 0 && (marks[0].After.Status() == memory.Active || !marks[0].At.Before(ended.At))
	return ended, !reopened, err
}

// EraseLink removes the text of a receiver's copy of a fact, and reports whether the copy had text. If the
// journal has a later link to another owner's fact with this id, a job restores that link.
func (e *Sharer) EraseLink(ctx context.Context, to, home memory.Owner, id string) (had bool, err error) {
	found, err := e.Store.Get(ctx, to, id)
	if err != nil || len(found) == 0 || found[0].Link == nil {
		return false, err
	}
	run := memory.Run{ID: core.NewID(), Kind: EraseRun, Author: BySharing}
	if found[0].Fact.Scope.Owner == home {
		if found[0].Status() == memory.Retired && found[0].Content() == "" {
			return false, nil
		}
	} else {
		past, err := e.AllChanges(ctx, to, memory.ChangeQuery{Target: "link:" + id})
		if err != nil || !slices.ContainsFunc(past, func(c memory.Change) bool { return wordsOf(c.Before, home) || wordsOf(c.After, home) }) {
			return false, err
		}
		run.Jobs = []memory.Job{SpreadJob(to, run.ID, id)}
	}
	if _, err = e.Traces.EraseIDs(ctx, to, run, []string{id}); err == nil && len(run.Jobs) > 0 {
		e.Wake()
	}
	return true, err
}

// hasTextOf reports whether an image of a link has text of a fact of the home.
func wordsOf(i memory.Image, home memory.Owner) bool {
	return i.Link != nil && i.Link.Fact.Scope.Owner == home && i.Link.Fact.Content != ""
}

// SharedCopy returns a fact as other owners see it: text, category and validity, without
// provenance, tags and metadata. The owner's name becomes the subject of statements about the user.
func CopyOf(f memory.Fact) memory.Fact {
	out := memory.Fact{
		ID: f.ID, Scope: memory.Scope{Owner: f.Scope.Owner}, Content: f.Content, Category: f.Category,
		Subject: f.Subject, Attribute: f.Attribute, Confidence: f.Confidence, Status: f.Status, Source: f.Source, Trust: f.Trust,
		ObservedAt: f.ObservedAt, ObservedSeq: f.ObservedSeq, ValidFrom: f.ValidFrom, ValidTo: f.ValidTo,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, ExpiresAt: f.ExpiresAt, Hash: f.Hash, Version: f.Version,
	}
	if f.Subject == "user" && f.Scope.Owner.Kind() == memory.UserKind {
		out.Subject = f.Scope.Owner.Name()
	}
	return out
}

// IsAboutHome reports whether a memory is another user's fact about that user. Such a fact says nothing
// about its reader.
func IsAboutHome(m memory.Memory) bool {
	return m.Link != nil && m.Fact.Scope.Owner.Kind() == memory.UserKind && m.Fact.Subject == m.Fact.Scope.Owner.Name()
}
