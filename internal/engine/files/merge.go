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
func (f FileEdit) merged(e *Files, fact memory.Fact) (memory.Fact, error) {
	was, says := *f.Was.Fact, *f.Says.Fact
	next, err := e.merged(fact, was, says)
	if err != nil {
		return next, err
	}
	if says.Status != was.Status && says.Status == memory.Superseded {
		next.SupersededBy = says.SupersededBy
	}
	if f.Elsewhere {
		next.UpdatedAt = memory.Time(says.UpdatedAt)
	}
	if f.PutBack || f.Elsewhere {
		next.Source, next.Trust, next.Model, next.Provenance = says.Source, says.Trust, says.Model, says.Provenance
		next.Subject, next.Attribute, next.Confidence, next.ValidTo = says.Subject, says.Attribute, says.Confidence, says.ValidTo
		next.ObservedAt, next.ObservedSeq = says.ObservedAt, says.ObservedSeq
	}
	// Loci on another machine never changes the text of a learned fact.
	if learned := was.Source == memory.Extracted && strings.TrimSpace(says.Content) == strings.TrimSpace(was.Content); f.Elsewhere && !learned {
		next.Source = localSource(says.Source)
	}
	return next, curate.CheckFact(next)
}

func actionOf(was, is memory.Status) memory.Action {
	switch {
	case was == memory.Pending && is == memory.Active:
		return memory.ActionApprove
	case was.Live() && is == memory.Rejected:
		return memory.ActionReject
	case was.Live() && is == memory.Superseded:
		return memory.ActionReplace
	case was.Live() && !is.Live():
		return memory.ActionRetire
	case !was.Live() && is.Live():
		return memory.ActionRestore
	}
	return memory.ActionUpdate
}

// mergeFact applies a person's changes from base to edited to a fact, and keeps Loci's concurrent
// changes. It returns an error if both sides changed the text.
func (e *Files) merged(f, was, says memory.Fact) (memory.Fact, error) {
	if content, err := e.CheckText("the file", says.Content); err != nil {
		return f, err
	} else if content != strings.TrimSpace(was.Content) {
		if f.Content != was.Content {
			return f, fmt.Errorf("%w: %s", core.ErrConcurrentEdit, f.ID)
		}
		f.Content, f.Hash = content, text.Hash(content)
		f.Source, f.Trust = memory.FromFile, memory.TrustPerson
		f.Subject, f.Attribute = extract.Classify(content)
	}
	if says.Subject != was.Subject || says.Attribute != was.Attribute {
		f.Subject, f.Attribute = says.Subject, says.Attribute
	}
	if says.Status != was.Status {
		f.Status = says.Status
		if f.Status == memory.Active {
			f.Trust = memory.TrustPerson
		}
		if was.Status == memory.Pending && f.Status == memory.Active { // the rule of [curate.Curator.Judge]
			f.Confidence = 1
		}
		if f.Status.Live() && !was.Status.Live() {
			f.SupersededBy, f.ValidTo = "", time.Time{}
			was.ValidTo, says.ValidTo = time.Time{}, time.Time{}
		}
	}
	if !slices.Equal(curate.Tags(says.Tags), curate.Tags(was.Tags)) {
		f.Tags = curate.Tags(says.Tags)
	}
	if !bytes.Equal(says.Metadata, was.Metadata) {
		f.Metadata = says.Metadata
	}
	copyEdited(&f.Category, was.Category, says.Category)
	copyEdited(&f.Core, was.Core, says.Core)
	copyEdited(&f.Confidence, was.Confidence, says.Confidence)
	copyEdited(&f.Scope, was.Scope, says.Scope)
	for _, t := range []struct{ to, was, says *time.Time }{
		{&f.ObservedAt, &was.ObservedAt, &says.ObservedAt}, {&f.ValidFrom, &was.ValidFrom, &says.ValidFrom},
		{&f.ValidTo, &was.ValidTo, &says.ValidTo}, {&f.ExpiresAt, &was.ExpiresAt, &says.ExpiresAt},
	} {
		if !t.says.Equal(*t.was) {
			*t.to = memory.Time(*t.says)
		}
	}
	return f, curate.CheckFact(f)
}

// copyEdited copies a field if the person changed it.
func copyEdited[T comparable](field *T, was, says T) {
	if says != was {
		*field = says
	}
}

// sameEditableFields reports whether two facts are equal in the fields that a person can edit.
func sameButTimes(f, g memory.Fact) bool {
	return f.Content == g.Content && f.Status == g.Status && f.Category == g.Category && f.Core == g.Core && f.Confidence == g.Confidence &&
		f.Scope == g.Scope && f.Subject == g.Subject && f.Attribute == g.Attribute && slices.Equal(f.Tags, g.Tags) && bytes.Equal(f.Metadata, g.Metadata) &&
		f.ObservedAt.Equal(g.ObservedAt) && f.ValidFrom.Equal(g.ValidFrom) && f.ValidTo.Equal(g.ValidTo) && f.ExpiresAt.Equal(g.ExpiresAt)
}

// adjustEnding adjusts an edit that ends a fact to the current fact f: an ended fact does not end
// again, and a replacement must exist. turnsStay reports that only the fact ends, but not its turns.
func (e *Files) endedByFile(ctx context.Context, edit FileEdit, f memory.Fact) (_ FileEdit, alone bool, err error) {
	was, says := edit.Was.Fact, *edit.Says.Fact
	if !was.Status.Live() || says.Status.Live() {
		return edit, true, nil
	}
	alone = edit.PutBack || says.Status == memory.Superseded
	switch {
	case says.Status == memory.Superseded:
		if says, err = e.successor(ctx, edit, says); err != nil {
			return edit, alone, err
		}
	case says.Status == memory.Retired && !f.Status.Live():
		says.Status = was.Status
	}
	edit.Says.Fact = &says
	return edit, alone, nil
}

// localFact returns the fact of another machine's file in the form stored here.
func (f FileEdit) localFact(ctx context.Context, e *Files, fact memory.Fact) (memory.Fact, error) {
	fact.Source = localSource(fact.Source)
	if fact.Status != memory.Superseded {
		return fact, nil
	}
	return e.successor(ctx, f, fact)
}

// localSource returns the source to store for another machine's fact, whose turns are missing here.
func localSource(there memory.FactSource) memory.FactSource {
	if there == memory.Manual || there == memory.Imported {
		return there
	}
	return memory.FromFile
}

// relatedChanges returns changes that retire the turns that state a forgotten or rejected fact, and the
// turns' summaries. It adds their jobs to the run.
func (e *Files) endRelated(ctx context.Context, run *memory.Run, f memory.Fact, change memory.Change) (related []memory.Change, err error) {
	owner := f.Scope.Owner
	switch {
	case change.Action == memory.ActionRetire:
		run.Kind = "forget"
		related, run.Jobs, err = e.Curate.Forgetting(ctx, owner, run.ID, []memory.Memory{{Fact: &f}}, change.Reason, ByFile)
		related = slices.DeleteFunc(related, func(c memory.Change) bool { return c.After.Target() == change.After.Target() })
	case change.Action == memory.ActionReject && f.Status == memory.Pending:
		run.Kind = "review"
		related, run.Jobs, err = e.Curate.Gate(ctx, owner, run.ID, []memory.Change{change}, ByFile)
	}
	return related, err
}

// checkReplacement returns a superseded fact, which is retired instead if its replacement is missing.
func (e *Files) successor(ctx context.Context, edit FileEdit, says memory.Fact) (memory.Fact, error) {
	if edit.Coming[says.SupersededBy] && says.SupersededBy != says.ID {
		return says, nil
	}
	by, err := e.Fact(ctx, edit.Owner, says.SupersededBy)
	none := errors.Is(err, memory.NotFound) || errors.Is(err, memory.Forbidden) || errors.Is(err, memory.Invalid)
	if err != nil && !none {
		return says, err
	}
	if none || by.ID == says.ID || core.WasErased(by) {
		says.Status, says.SupersededBy = memory.Retired, ""
	}
	return says, nil
}
