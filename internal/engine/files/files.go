// Package files converts edits of a vault's files to changes of memory, and stores the files of
// Anthropic's memory tool.
package files

import (
	"context"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// FileEdit is a person's edit of a vault's file. Stored is the memory in the store, empty for an added
// file; Content is the content of the file, empty for a deleted file.
type FileEdit struct {
	Owner          memory.Owner
	IdempotencyKey string // a second edit with the same key changes nothing
	Stored         memory.FileContent
	Content        memory.FileContent

	// Restored means that the file equals an earlier version that Loci wrote. All its fields are applied,
	// even fields that only Loci maintains. If that version's fact is inactive, its turns still stay active.
	Restored bool

	// FromOtherMachine means that another machine's Loci wrote the file, later than this machine changed
	// the memory. Fields that only Loci maintains are applied too.
	FromOtherMachine bool

	// AddedFactIDs are the ids of the facts whose files were added in the same scan.
	AddedFactIDs map[string]bool

	// MovedAcross means that the file was moved to or from the folder of deleted memories.
	MovedAcross bool
}

// ByFile is the author of changes made by editing files.
var ByFile = memory.Author{Kind: memory.ByPerson, Name: memory.AuthorFile}

// Reasons of changes in the journal.
const (
	editedInFile = "edited in a file"
	fileRestored = "its file was put back"
)

// errTurnEdited is the error for an edit of a turn's file.
var errTurnEdited = memory.Errorf(memory.Invalid, "messages cannot be edited: delete the file to forget its message")

// ApplyEdit applies an edit and returns the memory's target. It ignores changes of fields that only
// Loci maintains: a fact's source, provenance and times. New text counts as written by the person, and
// supersedes the facts that it contradicts. For a deleted file it forgets the memory as
// [curate.Curator.Forget] does, and for a restored file it restores the memory.
//
// It returns [memory.Invalid] for an invalid edit, [memory.Conflict] if Loci changed the same text
// meanwhile, and [memory.Duplicate] if another active or pending fact has the text.
func (e *Files) ApplyEdit(ctx context.Context, edit FileEdit) (target string, err error) {
	ctx = memory.ForWrite(ctx)
	switch stored, content := edit.Stored, edit.Content; {
	case content.Conversation != nil && stored.Conversation != nil:
		return e.applyConversationEdit(ctx, edit)
	case content.Conversation != nil || stored.Conversation != nil:
		return "", memory.Errorf(memory.Invalid, "a conversation cannot be created or deleted by its file")
	case content.Context != nil:
		return e.applyContextEdit(ctx, edit)
	case content == memory.FileContent{}:
		return stored.State().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	case content.Fact != nil && stored.Fact == nil:
		return e.addFact(ctx, edit, *content.Fact)
	case content.Fact != nil:
		return "fact:" + stored.Fact.ID, e.applyFactEdit(ctx, edit)
	case content.Turn != nil:
		return e.applyTurnEdit(ctx, edit)
	case content.Summary != nil:
		return e.applySummaryEdit(ctx, edit)
	case content.Profile != nil:
		return e.applyProfileEdit(ctx, edit)
	}
	return "", memory.Errorf(memory.Invalid, "the file does not belong to any memory that Loci knows")
}

// reason returns the journal's reason for an action caused by an edit.
func (f FileEdit) reason(action memory.Action) string {
	switch action {
	case memory.ActionAdd:
		return "written in a file"
	case memory.ActionUpdate:
		return editedInFile
	case memory.ActionApprove, memory.ActionReject: // [curate.Curator.Judge] gives changes the same reasons
		return string(action) + " by a person"
	}
	switch {
	case f.Content == memory.FileContent{}:
		return "its file was deleted"
	case f.Restored:
		return fileRestored + ", and says that it is " + string(f.Content.State().Status())
	case f.MovedAcross && action == memory.ActionRestore:
		return "its file was moved back from what is deleted"
	case f.MovedAcross:
		return "its file was moved to what is deleted"
	}
	return "its file says that it is " + string(f.Content.State().Status())
}

// run returns the run that applies an edit.
func (f FileEdit) run() memory.Run {
	return memory.Run{ID: core.IDForKey(f.Owner, f.IdempotencyKey), Kind: "manual", Author: ByFile}
}

// Forget retires the memories of deleted files, as [curate.Curator.Forget] does: facts, turns and
// summaries in one run, profile entries and contexts in a second run.
func (e *Files) Forget(ctx context.Context, owner memory.Owner, edits []FileEdit) error {
	ctx = memory.ForWrite(ctx)
	run, reason := edits[0].run(), edits[0].reason(memory.ActionRetire)
	if len(edits) > 1 {
		run.ID, reason = run.ID+"-together", "its file was deleted, with others"
	}
	var ids []string
	var entries []memory.Change
	for _, f := range edits {
		image := f.Stored.State()
		if !image.Status().Live() {
			continue
		}
		switch now := e.Time(); {
		case image.Profile != nil:
			entry := *image.Profile
			entry.Status, entry.UpdatedAt, image.Profile = memory.Retired, now, &entry
		case image.Context != nil:
			entry := *image.Context
			entry.Status, entry.UpdatedAt, image.Context = memory.Retired, now, &entry
		default:
			_, id, _ := strings.Cut(image.Target(), ":")
			ids = append(ids, id)
			continue
		}
		entries = append(entries, memory.Change{Action: memory.ActionRetire, After: image, Reason: reason, Author: ByFile})
	}
	if len(ids) > 0 {
		if _, err := e.Curate.ForgetInRun(ctx, owner, run.ID, ids, reason, ByFile); err != nil {
			return err
		}
		run.ID += "-entries"
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := e.Store.Apply(ctx, owner, run, entries...)
	return err
}

// applyChange applies an edit's change if isNeeded is set, and returns the memory's target.
func (e *Files) applyChange(ctx context.Context, f FileEdit, action memory.Action, after memory.State, isNeeded bool) (string, error) {
	if !isNeeded {
		return after.Target(), nil
	}
	run := f.run()
	if s := after.Summary; s != nil && s.Status == memory.Active {
		var err error
		if run.Vectors, err = e.TextVectors(ctx, s.ID, s.Text); err != nil {
			return "", err
		}
	}
	_, err := e.Store.Apply(ctx, f.Owner, run, memory.Change{Action: action, After: after, Reason: f.reason(action), Author: ByFile})
	return after.Target(), err
}

// addFact adds the fact of a file that Loci did not write. If the file has an id, for example from
// another machine, the fact gets this id.
func (e *Files) addFact(ctx context.Context, edit FileEdit, f memory.Fact) (string, error) {
	owner, key := edit.Owner, edit.IdempotencyKey
	content, err := e.CheckText("the file", f.Content)
	if err != nil {
		return "", err
	}
	run := memory.Run{ID: core.IDForKey(owner, key), Kind: "manual", Author: ByFile}
	f.Content, f.Hash, f.Tags = content, text.Hash(content), curate.NormalizeTags(f.Tags)
	if edit.FromOtherMachine {
		if f, err = edit.localFact(ctx, e, f); err != nil {
			return "", err
		}
	} else {
		f.Source, f.Trust, f.SupersededBy = memory.FromFile, memory.TrustPerson, ""
		f.UpdatedAt = e.Time()
	}
	if f.ID == "" {
		f.ID = core.DerivedID(owner, "file", key)
	}
	now := e.Time()
	for _, t := range []*time.Time{&f.CreatedAt, &f.ObservedAt} {
		if t.IsZero() {
			*t = now
		}
	}
	if f.Attribute == "" && !edit.FromOtherMachine {
		f.Subject, f.Attribute = extract.SubjectAndAttribute(content)
	}
	if run.Vectors, err = e.TextVectors(ctx, f.ID, content); err != nil {
		return "", err
	}
	release, err := e.Compare.LockDecisions(ctx, owner)
	if err != nil {
		return "", err
	}
	defer release()
	return "fact:" + f.ID, core.RetryOnConflict(ctx, func() error { return e.tryAddFact(ctx, edit, run, f) })
}

// tryAddFact adds a file's fact, or returns [memory.Conflict] if memory changed meanwhile.
func (e *Files) tryAddFact(ctx context.Context, edit FileEdit, run memory.Run, f memory.Fact) error {
	var endings []memory.Change
	if f.Status == memory.Active {
		var err error
		if run.Base, err = e.Compare.RunBaseFor(ctx, f); err != nil {
			return err
		}
		conflicts, err := e.Compare.Conflicts(ctx, f, "")
		if err != nil {
			return err
		}
		endings = e.Compare.ReplacementChanges(&f, conflicts, "a file says what replaces it", ByFile)
		run.Learned = e.Retrieve.AddRepeatingAnswers(ctx, endings)
	}
	_, err := e.Store.Apply(ctx, edit.Owner, run, compare.WithReplacements(endings, memory.Change{
		Action: memory.ActionAdd, After: memory.State{Fact: &f}, NewID: f.ID, Reason: edit.reason(memory.ActionAdd), Author: ByFile,
	})...)
	return err
}

// applyFactEdit applies the edit of a fact's file.
func (e *Files) applyFactEdit(ctx context.Context, edit FileEdit) error {
	stored := edit.Stored.Fact
	merged, err := edit.mergedFact(e, *stored)
	if err != nil {
		return err
	}
	if sameEditableFields(merged, *stored) && (!edit.FromOtherMachine || merged.UpdatedAt.Equal(stored.UpdatedAt)) {
		return nil
	}
	if done, err := e.ChangesByKey(ctx, edit.Owner, edit.IdempotencyKey); err != nil || len(done) > 0 {
		return err
	}
	release, err := e.Compare.LockDecisions(ctx, edit.Owner)
	if err != nil {
		return err
	}
	defer release()
	return core.RetryOnConflict(ctx, func() error { return e.tryFactEdit(ctx, edit) })
}

// tryFactEdit applies a file's content to its fact in one run, or returns [memory.Conflict]. New
// text supersedes the facts that it contradicts, unless the edit also makes the fact inactive.
func (e *Files) tryFactEdit(ctx context.Context, edit FileEdit) error {
	run := edit.run()
	f, err := e.Fact(ctx, edit.Owner, edit.Stored.Fact.ID)
	switch {
	case err != nil:
		return err
	case core.WasErased(f):
		return core.ErrErased("fact:" + f.ID)
	}
	edit, turnsStay, err := e.adjustStatusEdit(ctx, edit, f)
	if err != nil {
		return err
	}
	next, err := edit.mergedFact(e, f)
	if err != nil {
		return err
	}
	written := next.UpdatedAt
	endings, err := e.Curate.PrepareRevision(ctx, &run, f, &next, editedInFile, ByFile)
	if err != nil {
		return err
	}
	if edit.FromOtherMachine {
		next.UpdatedAt = written
	}
	action := actionForStatus(f.Status, next.Status)
	change := memory.Change{Action: action, After: memory.State{Fact: &next}, Base: f.Version, Reason: edit.reason(action), Author: ByFile}
	if action == memory.ActionReplace {
		change.OldID, change.NewID = f.ID, next.SupersededBy
	}
	changes := compare.WithReplacements(endings, change)
	if !turnsStay {
		related, err := e.relatedChanges(ctx, &run, f, change)
		if err != nil {
			return err
		}
		changes = append(changes, related...)
	}
	_, err = e.Store.Apply(ctx, edit.Owner, run, changes...)
	if err == nil && len(run.Jobs) > 0 {
		e.WakeJobRunner()
	}
	return err
}

// applyTurnEdit applies the edit of a turn's file, which can forget or restore the turn but not change
// its text.
func (e *Files) applyTurnEdit(ctx context.Context, edit FileEdit) (string, error) {
	stored, content := edit.Stored.Turn, edit.Content.Turn
	switch {
	case stored == nil:
		return "", memory.Errorf(memory.Invalid, "a file cannot add a message: write a fact into a facts folder")
	case strings.TrimSpace(content.Content) != strings.TrimSpace(stored.Content):
		return "", errTurnEdited
	case stored.Status == memory.Active && content.Status != memory.Active:
		return edit.Stored.State().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	case stored.Status == memory.Retired && content.Status == memory.Active && stored.Content != "":
		mark := &memory.TurnState{ID: stored.ID, Status: memory.Active}
		return e.applyChange(ctx, edit, memory.ActionRestore, memory.State{Turn: mark}, true)
	case stored.Status != content.Status:
		return "", memory.Errorf(memory.Invalid, "the status of the message cannot change: another message replaced it, or its text was erased")
	}
	return "", errTurnEdited
}

// applySummaryEdit applies the edit of a summary's file: it changes, forgets or restores the summary.
func (e *Files) applySummaryEdit(ctx context.Context, edit FileEdit) (string, error) {
	stored, content := edit.Stored.Summary, edit.Content.Summary
	if stored == nil {
		return "", memory.Errorf(memory.Invalid, "a file cannot add a summary: edit the existing summary of the chat")
	}
	if stored.Text == "" {
		return "", core.ErrErased("summary:" + stored.ID)
	}
	if stored.Status == memory.Active && content.Status != memory.Active {
		return edit.Stored.State().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	}
	words, err := e.CheckText("the file", content.Text)
	if err != nil {
		return "", err
	}
	next := *stored
	next.Text, next.Status = words, content.Status
	action := memory.ActionUpdate
	if stored.Status != content.Status {
		action = memory.ActionRestore
	}
	return e.applyChange(ctx, edit, action, memory.State{Summary: &next}, next != *stored)
}

// applyProfileEdit applies the edit of a profile entry's file.
func (e *Files) applyProfileEdit(ctx context.Context, edit FileEdit) (string, error) {
	content := *edit.Content.Profile
	value, err := e.CheckText("the file", content.Value)
	if err != nil {
		return "", err
	}
	next := memory.ProfileEntry{Owner: edit.Owner, Key: content.Key}
	action, needed := memory.ActionAdd, true
	if stored := edit.Stored.Profile; stored != nil {
		next = *stored
		action, needed = actionForStatus(stored.Status, content.Status), stored.Value != value || stored.Status != content.Status
	}
	if value != next.Value {
		next.Tokens = text.EstimateTokens(value)
	}
	next.Value, next.Status, next.UpdatedAt = value, content.Status, e.Time()
	if edit.FromOtherMachine { // store the file's time even if all other fields are equal
		needed, next.Tokens, next.UpdatedAt = true, content.Tokens, memory.Time(content.UpdatedAt)
	}
	return e.applyChange(ctx, edit, action, memory.State{Profile: &next}, needed)
}

// Files applies edits of a vault's files, and stores the files of Anthropic's memory tool.
type Files struct {
	*core.Core
	Chats    *chats.Chats
	Curate   *curate.Curator
	Compare  *compare.Comparer
	Retrieve *retrieve.Retriever
}
