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

// FileEdit is a person's edit of a vault's file: the stored memory, empty for an added file, and the
// content of the file, empty for a deleted file.
type FileEdit struct {
	Owner memory.Owner
	Key   string // idempotency key: a second edit with the same key changes nothing
	Was   memory.FileContent
	Says  memory.FileContent

	// Restored means that the file equals an earlier version by Loci. All its fields are applied,
	// even fields that only Loci maintains. If it ends a fact, the fact's turns stay.
	PutBack bool

	// FromOtherMachine means that another machine's Loci wrote the file, after the state stored
	// here. Fields that only Loci maintains are applied too, except turns.
	Elsewhere bool

	// AddedFacts are the ids of facts whose files were added in the same scan.
	Coming map[string]bool

	// MovedAcross means that the file was moved to or from the folder of deleted memories.
	Moved bool
}

// ByFile is the author of changes made by editing files.
var ByFile = memory.Author{Kind: memory.ByPerson, Name: memory.AuthorFile}

// Reasons of changes in the journal.
const (
	inFile      = "edited in a file"
	fileWasBack = "its file was put back"
)

// errTurnEdited is the error for an edit of a turn's file.
var errVerbatim = memory.Errorf(memory.Invalid, "messages cannot be edited: delete the file to forget its message")

// ApplyEdit applies an edit and returns the memory's target. It ignores changes of fields that only
// Loci maintains: a fact's source, provenance and times. New text has the person as source, and
// supersedes the facts that it contradicts. A deleted file forgets its memory as
// [curate.Curator.Forget] does, and a restored file restores its memory.
//
// It returns [memory.Invalid] for an invalid edit, [memory.Conflict] if Loci changed the same text
// meanwhile, and [memory.Duplicate] if another live fact has the text.
func (e *Files) TakeFile(ctx context.Context, edit FileEdit) (target string, err error) {
	ctx = memory.ForWrite(ctx)
	switch was, says := edit.Was, edit.Says; {
	case says.Conversation != nil && was.Conversation != nil:
		return e.chatFile(ctx, edit)
	case says.Conversation != nil || was.Conversation != nil:
		return "", memory.Errorf(memory.Invalid, "a conversation cannot be created or deleted by its file")
	case says.Context != nil:
		return e.contextFile(ctx, edit)
	case says == memory.FileContent{}:
		return was.Image().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	case says.Fact != nil && was.Fact == nil:
		return e.addFile(ctx, edit, *says.Fact)
	case says.Fact != nil:
		return "fact:" + was.Fact.ID, e.editFile(ctx, edit)
	case says.Turn != nil:
		return e.turnFile(ctx, edit)
	case says.Summary != nil:
		return e.summaryFile(ctx, edit)
	case says.Profile != nil:
		return e.profileFile(ctx, edit)
	}
	return "", memory.Errorf(memory.Invalid, "the file does not belong to any memory that Loci knows")
}

// reason returns the journal's reason for an action caused by an edit.
func (f FileEdit) reason(action memory.Action) string {
	switch action {
	case memory.ActionAdd:
		return "written in a file"
	case memory.ActionUpdate:
		return inFile
	case memory.ActionApprove, memory.ActionReject: // the reasons of [curate.Curator.Judge]
		return string(action) + " by a person"
	}
	switch {
	case f.Says == memory.FileContent{}:
		return "its file was deleted"
	case f.PutBack:
		return fileWasBack + ", and says that it is " + string(f.Says.Image().Status())
	case f.Moved && action == memory.ActionRestore:
		return "its file was moved back from what is deleted"
	case f.Moved:
		return "its file was moved to what is deleted"
	}
	return "its file says that it is " + string(f.Says.Image().Status())
}

// run returns the run that applies an edit.
func (f FileEdit) run() memory.Run {
	return memory.Run{ID: core.IDFor(f.Owner, f.Key), Kind: "manual", Author: ByFile}
}

// Forget retires the memories of deleted files, as [curate.Curator.Forget] does: facts, turns and
// summaries in one run, profile entries and contexts in a second run.
func (e *Files) Forget(ctx context.Context, owner memory.Owner, gone []FileEdit) error {
	ctx = memory.ForWrite(ctx)
	run, why := gone[0].run(), gone[0].reason(memory.ActionRetire)
	if len(gone) > 1 {
		run.ID, why = run.ID+"-together", "its file was deleted, with others"
	}
	var ids []string
	var entries []memory.Change
	for _, f := range gone {
		was := f.Was.Image()
		if !was.Status().Live() {
			continue
		}
		switch now := e.Time(); {
		case was.Profile != nil:
			entry := *was.Profile
			entry.Status, entry.UpdatedAt, was.Profile = memory.Retired, now, &entry
		case was.Context != nil:
			entry := *was.Context
			entry.Status, entry.UpdatedAt, was.Context = memory.Retired, now, &entry
		default:
			_, id, _ := strings.Cut(was.Target(), ":")
			ids = append(ids, id)
			continue
		}
		entries = append(entries, memory.Change{Action: memory.ActionRetire, After: was, Reason: why, Author: ByFile})
	}
	if len(ids) > 0 {
		if _, err := e.Curate.ForgetAll(ctx, owner, run.ID, ids, why, ByFile); err != nil {
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

// applyChange applies an edit's change, if a change is needed.
func (e *Files) applyFile(ctx context.Context, f FileEdit, action memory.Action, after memory.Image, needed bool) (string, error) {
	if !needed {
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
// another machine, the fact has the same id.
func (e *Files) addFile(ctx context.Context, edit FileEdit, f memory.Fact) (string, error) {
	owner, key := edit.Owner, edit.Key
	content, err := e.CheckText("the file", f.Content)
	if err != nil {
		return "", err
	}
	run := memory.Run{ID: core.IDFor(owner, key), Kind: "manual", Author: ByFile}
	f.Content, f.Hash, f.Tags = content, text.Hash(content), curate.Tags(f.Tags)
	if edit.Elsewhere {
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
	if f.Attribute == "" && !edit.Elsewhere {
		f.Subject, f.Attribute = extract.Classify(content)
	}
	if run.Vectors, err = e.TextVectors(ctx, f.ID, content); err != nil {
		return "", err
	}
	leave, err := e.Compare.Deciding(ctx, owner)
	if err != nil {
		return "", err
	}
	defer leave()
	return "fact:" + f.ID, core.Replan(ctx, func() error { return e.tryAddFile(ctx, edit, run, f) })
}

// tryAddFact adds a file's fact, or returns [memory.Conflict] if memory changed meanwhile.
func (e *Files) tryAddFile(ctx context.Context, edit FileEdit, run memory.Run, f memory.Fact) error {
	var ends []memory.Change
	if f.Status == memory.Active {
		var err error
		if run.Base, err = e.Compare.PlannedOn(ctx, f); err != nil {
			return err
		}
		olds, err := e.Compare.Conflicts(ctx, f, "")
		if err != nil {
			return err
		}
		ends = e.Compare.Prevail(&f, olds, "a file says what replaces it", ByFile)
		run.Learned = e.Retrieve.Repeats(ctx, ends)
	}
	_, err := e.Store.Apply(ctx, edit.Owner, run, compare.Replacing(ends, memory.Change{
		Action: memory.ActionAdd, After: memory.Image{Fact: &f}, NewID: f.ID, Reason: edit.reason(memory.ActionAdd), Author: ByFile,
	})...)
	return err
}

// applyFactEdit applies the edit of a fact's file.
func (e *Files) editFile(ctx context.Context, edit FileEdit) error {
	was := edit.Was.Fact
	merged, err := edit.merged(e, *was)
	if err != nil {
		return err
	}
	if sameButTimes(merged, *was) && (!edit.Elsewhere || merged.UpdatedAt.Equal(was.UpdatedAt)) {
		return nil
	}
	if done, err := e.ChangesByKey(ctx, edit.Owner, edit.Key); err != nil || len(done) > 0 {
		return err
	}
	leave, err := e.Compare.Deciding(ctx, edit.Owner)
	if err != nil {
		return err
	}
	defer leave()
	return core.Replan(ctx, func() error { return e.tryFile(ctx, edit) })
}

// tryFactEdit applies a file's content to its fact in one run, or returns [memory.Conflict]. New
// text supersedes the facts that it contradicts, unless the same edit ends the fact.
func (e *Files) tryFile(ctx context.Context, edit FileEdit) error {
	run := edit.run()
	f, err := e.Fact(ctx, edit.Owner, edit.Was.Fact.ID)
	switch {
	case err != nil:
		return err
	case core.WasErased(f):
		return core.ErrErased("fact:" + f.ID)
	}
	edit, alone, err := e.endedByFile(ctx, edit, f)
	if err != nil {
		return err
	}
	next, err := edit.merged(e, f)
	if err != nil {
		return err
	}
	written := next.UpdatedAt
	ends, err := e.Curate.Revise(ctx, &run, f, &next, inFile, ByFile)
	if err != nil {
		return err
	}
	if edit.Elsewhere {
		next.UpdatedAt = written
	}
	action := actionOf(f.Status, next.Status)
	change := memory.Change{Action: action, After: memory.Image{Fact: &next}, Base: f.Version, Reason: edit.reason(action), Author: ByFile}
	if action == memory.ActionReplace {
		change.OldID, change.NewID = f.ID, next.SupersededBy
	}
	changes := compare.Replacing(ends, change)
	if !alone {
		related, err := e.endRelated(ctx, &run, f, change)
		if err != nil {
			return err
		}
		changes = append(changes, related...)
	}
	_, err = e.Store.Apply(ctx, edit.Owner, run, changes...)
	if err == nil && len(run.Jobs) > 0 {
		e.Wake()
	}
	return err
}

// applyTurnEdit applies the edit of a turn's file, which can forget or restore the turn but not change
// its text.
func (e *Files) turnFile(ctx context.Context, edit FileEdit) (string, error) {
	was, says := edit.Was.Turn, edit.Says.Turn
	switch {
	case was == nil:
		return "", memory.Errorf(memory.Invalid, "messages come from chats: write facts into a facts folder")
	case strings.TrimSpace(says.Content) != strings.TrimSpace(was.Content):
		return "", errVerbatim
	case was.Status == memory.Active && says.Status != memory.Active:
		return edit.Was.Image().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	case was.Status == memory.Retired && says.Status == memory.Active && was.Content != "":
		mark := &memory.TurnMark{ID: was.ID, Status: memory.Active}
		return e.applyFile(ctx, edit, memory.ActionRestore, memory.Image{Turn: mark}, true)
	case was.Status != says.Status:
		return "", memory.Errorf(memory.Invalid, "the status of the message cannot change: another message replaced it, or its text was erased")
	}
	return "", errVerbatim
}

// applySummaryEdit applies the edit of a summary's file: it changes, forgets or restores the summary.
func (e *Files) summaryFile(ctx context.Context, edit FileEdit) (string, error) {
	was, says := edit.Was.Summary, edit.Says.Summary
	if was == nil {
		return "", memory.Errorf(memory.Invalid, "a file cannot add a summary: edit the existing summary of the chat")
	}
	if was.Text == "" {
		return "", core.ErrErased("summary:" + was.ID)
	}
	if was.Status == memory.Active && says.Status != memory.Active {
		return edit.Was.Image().Target(), e.Forget(ctx, edit.Owner, []FileEdit{edit})
	}
	words, err := e.CheckText("the file", says.Text)
	if err != nil {
		return "", err
	}
	next := *was
	next.Text, next.Status = words, says.Status
	action := memory.ActionUpdate
	if was.Status != says.Status {
		action = memory.ActionRestore
	}
	return e.applyFile(ctx, edit, action, memory.Image{Summary: &next}, next != *was)
}

// applyProfileEdit applies the edit of a profile entry's file.
func (e *Files) profileFile(ctx context.Context, edit FileEdit) (string, error) {
	says := *edit.Says.Profile
	value, err := e.CheckText("the file", says.Value)
	if err != nil {
		return "", err
	}
	next := memory.ProfileEntry{Owner: edit.Owner, Key: says.Key}
	action, needed := memory.ActionAdd, true
	if was := edit.Was.Profile; was != nil {
		next = *was
		action, needed = actionOf(was.Status, says.Status), was.Value != value || was.Status != says.Status
	}
	if value != next.Value {
		next.Tokens = text.Tokens(value)
	}
	next.Value, next.Status, next.UpdatedAt = value, says.Status, e.Time()
	if edit.Elsewhere { // the entries differ, so a change is needed
		needed, next.Tokens, next.UpdatedAt = true, says.Tokens, memory.Time(says.UpdatedAt)
	}
	return e.applyFile(ctx, edit, action, memory.Image{Profile: &next}, needed)
}

// Files applies edits of a vault's files, and stores the files of Anthropic's memory tool.
type Files struct {
	*core.Core
	Chats    *chats.Chats
	Curate   *curate.Curator
	Compare  *compare.Comparer
	Retrieve *retrieve.Retriever
}
