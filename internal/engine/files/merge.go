package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// mergedFact returns a fact with the changes that a person made in its file. For a restored file and
// a file from another machine, fields that only Loci maintains are applied too.
func (f FileEdit) mergedFact(e *Files, fact memory.Fact) (memory.Fact, error) {
	stored, content := *f.Stored.Fact, *f.Content.Fact
	next, err := e.mergeFact(fact, stored, content)
	if err != nil {
		return next, err
	}
	if content.Status != stored.Status && content.Status == memory.Superseded {
		next.SupersededBy = content.SupersededBy
	}
	if f.FromOtherMachine {
		next.UpdatedAt = memory.Time(content.UpdatedAt)
	}
	if f.Restored || f.FromOtherMachine {
		next.Source, next.Trust, next.Model, next.Provenance = content.Source, content.Trust, content.Model, content.Provenance
		next.Subject, next.Attribute, next.Confidence, next.ValidTo = content.Subject, content.Attribute, content.Confidence, content.ValidTo
		next.ObservedAt, next.ObservedSeq = content.ObservedAt, content.ObservedSeq
	}
	// A fact learned on this machine keeps its source while its text is the same.
	if learned := stored.Source == memory.Extracted && strings.TrimSpace(content.Content) == strings.TrimSpace(stored.Content); f.FromOtherMachine && !learned {
		next.Source = localSource(content.Source)
	}
	return next, curate.CheckFact(next)
}

func actionForStatus(before, after memory.Status) memory.Action {
	switch {
	case before == memory.Pending && after == memory.Active:
		return memory.ActionApprove
	case before.Live() && after == memory.Rejected:
		return memory.ActionReject
	case before.Live() && after == memory.Superseded:
		return memory.ActionReplace
	case before.Live() && !after.Live():
		return memory.ActionRetire
	case !before.Live() && after.Live():
		return memory.ActionRestore
	}
	return memory.ActionUpdate
}

// mergeFact applies a person's changes to f, the current fact: the person opened base and saved edited.
// It returns an error if the person and Loci both changed the text of base.
func (e *Files) mergeFact(f, base, edited memory.Fact) (memory.Fact, error) {
	if content, err := e.CheckText("the file", edited.Content); err != nil {
		return f, err
	} else if content != strings.TrimSpace(base.Content) {
		if f.Content != base.Content {
			return f, fmt.Errorf("%w: %s", core.ErrConcurrentEdit, f.ID)
		}
		f.Content, f.Hash = content, text.Hash(content)
		f.Source, f.Trust = memory.FromFile, memory.TrustPerson
		f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
	}
	if edited.Subject != base.Subject || edited.Attribute != base.Attribute {
		f.Subject, f.Attribute = edited.Subject, edited.Attribute
	}
	if edited.Status != base.Status {
		f.Status = edited.Status
		if f.Status == memory.Active {
			f.Trust = memory.TrustPerson
		}
		if base.Status == memory.Pending && f.Status == memory.Active { // an approved fact is certain, as in [curate.Curator.Judge]
			f.Confidence = 1
		}
		if f.Status.Live() && !base.Status.Live() {
			f.SupersededBy, f.ValidTo = "", time.Time{}
			base.ValidTo, edited.ValidTo = time.Time{}, time.Time{}
		}
	}
	if !slices.Equal(curate.NormalizeTags(edited.Tags), curate.NormalizeTags(base.Tags)) {
		f.Tags = curate.NormalizeTags(edited.Tags)
	}
	if !bytes.Equal(edited.Metadata, base.Metadata) {
		f.Metadata = edited.Metadata
	}
	copyIfEdited(&f.Category, base.Category, edited.Category)
	copyIfEdited(&f.Core, base.Core, edited.Core)
	copyIfEdited(&f.Confidence, base.Confidence, edited.Confidence)
	copyIfEdited(&f.Scope, base.Scope, edited.Scope)
	for _, t := range []struct{ merged, baseTime, editedTime *time.Time }{
		{&f.ObservedAt, &base.ObservedAt, &edited.ObservedAt}, {&f.ValidFrom, &base.ValidFrom, &edited.ValidFrom},
		{&f.ValidTo, &base.ValidTo, &edited.ValidTo}, {&f.ExpiresAt, &base.ExpiresAt, &edited.ExpiresAt},
	} {
		if !t.editedTime.Equal(*t.baseTime) {
			*t.merged = memory.Time(*t.editedTime)
		}
	}
	return f, curate.CheckFact(f)
}

// copyIfEdited copies a field from edited if the person changed the field.
func copyIfEdited[T comparable](field *T, base, edited T) {
	if edited != base {
		*field = edited
	}
}

// sameEditableFields reports whether two facts are equal in the fields that a person can edit.
func sameEditableFields(f, g memory.Fact) bool {
	return f.Content == g.Content && f.Status == g.Status && f.Category == g.Category && f.Core == g.Core && f.Confidence == g.Confidence &&
		f.Scope == g.Scope && f.Subject == g.Subject && f.Attribute == g.Attribute && slices.Equal(f.Tags, g.Tags) && bytes.Equal(f.Metadata, g.Metadata) &&
		f.ObservedAt.Equal(g.ObservedAt) && f.ValidFrom.Equal(g.ValidFrom) && f.ValidTo.Equal(g.ValidTo) && f.ExpiresAt.Equal(g.ExpiresAt)
}

// adjustStatusEdit adjusts an edit that makes a fact inactive. If f, the current fact, is inactive already, it
// is not retired again; a missing replacement means retired. turnsStay means that f's turns stay active.
func (e *Files) adjustStatusEdit(ctx context.Context, edit FileEdit, f memory.Fact) (_ FileEdit, turnsStay bool, err error) {
	stored, content := edit.Stored.Fact, *edit.Content.Fact
	if !stored.Status.Live() || content.Status.Live() {
		return edit, true, nil
	}
	turnsStay = edit.Restored || content.Status == memory.Superseded
	switch {
	case content.Status == memory.Superseded:
		if content, err = e.checkReplacement(ctx, edit, content); err != nil {
			return edit, turnsStay, err
		}
	case content.Status == memory.Retired && !f.Status.Live():
		content.Status = stored.Status
	}
	edit.Content.Fact = &content
	return edit, turnsStay, nil
}

// localFact returns the fact to store on this machine for the fact in another machine's file.
func (f FileEdit) localFact(ctx context.Context, e *Files, fact memory.Fact) (memory.Fact, error) {
	fact.Source = localSource(fact.Source)
	if fact.Status != memory.Superseded {
		return fact, nil
	}
	return e.checkReplacement(ctx, f, fact)
}

// localSource returns the source to store for another machine's fact, whose turns are missing here.
func localSource(remote memory.FactSource) memory.FactSource {
	if remote == memory.Manual || remote == memory.Imported {
		return remote
	}
	return memory.FromFile
}

// relatedChanges returns changes that retire the turns that state a forgotten or rejected fact, and the
// turns' summaries. It adds the jobs of these changes to the run.
func (e *Files) relatedChanges(ctx context.Context, run *memory.Run, f memory.Fact, change memory.Change) (related []memory.Change, err error) {
	owner := f.Scope.Owner
	switch {
	case change.Action == memory.ActionRetire:
		run.Kind = "forget"
		related, run.Jobs, err = e.Curate.ForgetChanges(ctx, owner, run.ID, []memory.Memory{{Fact: &f}}, change.Reason, ByFile)
		related = slices.DeleteFunc(related, func(c memory.Change) bool { return c.After.Target() == change.After.Target() })
	case change.Action == memory.ActionReject && f.Status == memory.Pending:
		run.Kind = "review"
		related, run.Jobs, err = e.Curate.ReviewChanges(ctx, owner, run.ID, []memory.Change{change}, ByFile)
	}
	return related, err
}

// checkReplacement returns a superseded fact unchanged, or as retired if its replacement is missing.
func (e *Files) checkReplacement(ctx context.Context, edit FileEdit, fact memory.Fact) (memory.Fact, error) {
	if edit.AddedFactIDs[fact.SupersededBy] && fact.SupersededBy != fact.ID {
		return fact, nil
	}
	replacement, err := e.Fact(ctx, edit.Owner, fact.SupersededBy)
	none := errors.Is(err, memory.NotFound) || errors.Is(err, memory.Forbidden) || errors.Is(err, memory.Invalid)
	if err != nil && !none {
		return fact, err
	}
	if none || replacement.ID == fact.ID || core.WasErased(replacement) {
		fact.Status, fact.SupersededBy = memory.Retired, ""
	}
	return fact, nil
}
