package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/files"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// filing is a rig whose memory a person edits in files.
type filing struct {
	*rig
	t *testing.T
	n int // of edits
}

// onFiles runs a test on every store.
func onFiles(t *testing.T, do func(f *filing)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			f := &filing{rig: newRig(t, open), t: t}
			do(f)
			if wrong := f.unsound(t, ana); len(wrong) > 0 {
				t.Errorf("unsound: %q", wrong)
			}
		})
	}
}

func (f *filing) wrote(content string) memory.Fact {
	f.t.Helper()
	fact, _, err := f.Curate.Remember(context.Background(), ana, curate.FactInput{Content: content}, memory.Author{Kind: memory.ByPerson, Name: "ana"})
	if err != nil {
		f.t.Fatal(err)
	}
	return fact
}

// edit takes over an edit of its own.
func (f *filing) edit(was, says memory.FileContent) (string, error) {
	f.n++
	return f.Files.ApplyEdit(context.Background(), files.FileEdit{Owner: ana, IdempotencyKey: string(rune('a' + f.n)), Stored: was, Content: says})
}

// is returns a fact as it is.
func (f *filing) is(id string) memory.Fact {
	f.t.Helper()
	return try(f.Fact(context.Background(), ana, id)).orFail(f.t)
}

// rewords edits a fact's file.
func (f *filing) rewords(fact memory.Fact, do func(*memory.Fact)) error {
	f.t.Helper()
	says := fact
	do(&says)
	_, err := f.edit(memory.FileContent{Fact: &fact}, memory.FileContent{Fact: &says})
	return err
}

func (f *filing) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *filing) last(id string) memory.Change {
	f.t.Helper()
	page, err := f.History(context.Background(), ana, id, "")
	if err != nil || len(page.Changes) == 0 {
		f.t.Fatalf("no history of %s: %v", id, err)
	}
	return page.Changes[0]
}

func TestFileWithOtherWordsIsAnEditByAPerson(t *testing.T) {
	onFiles(t, func(f *filing) {
		lisbon := f.wrote("User lives in Lisbon")
		chess := f.wrote("User plays chess")
		f.must(f.rewords(chess, func(n *memory.Fact) { n.Content = "User lives in Porto\n" }))
		got := f.is(chess.ID)
		if got.Content != "User lives in Porto" || got.Hash != text.Hash(got.Content) || got.Source != memory.FromFile || got.Trust != memory.TrustPerson || got.Attribute != "home" {
			f.t.Errorf("the fact is %+v", got)
		}
		if old := f.is(lisbon.ID); old.Status != memory.Superseded || old.SupersededBy != chess.ID {
			f.t.Errorf("what it contradicts is %s by %q", old.Status, old.SupersededBy)
		}
		if c := f.last(chess.ID); c.Author != files.ByFile || c.Action != memory.ActionUpdate {
			f.t.Errorf("journalled %s by %+v", c.Action, c.Author)
		}
		found, err := f.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "Where do I live?", API: "test"})
		if err != nil || len(found.Hits) == 0 || found.Hits[0].Memory.ID() != chess.ID {
			f.t.Errorf("recalled %+v, %v", found.Hits, err)
		}
	})
}

func TestFrontMatterIsTakenOver(t *testing.T) {
	onFiles(t, func(f *filing) {
		fact := f.wrote("User plays chess")
		from := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
		f.must(f.rewords(fact, func(n *memory.Fact) {
			n.Tags, n.Category, n.Core, n.Confidence = []string{"game", "game", " fun "}, "hobby", memory.CoreAlways, 0.5
			n.ValidFrom, n.ExpiresAt, n.Scope.Project = from, from.AddDate(50, 0, 0), "club"
		}))
		got := f.is(fact.ID)
		if !slices.Equal(got.Tags, []string{"game", "fun"}) || got.Category != "hobby" || !got.Pinned() || got.Confidence != 0.5 ||
			!got.ValidFrom.Equal(from) || !got.ExpiresAt.Equal(from.AddDate(50, 0, 0)) || got.Scope.Project != "club" {
			f.t.Errorf("the fact is %+v", got)
		}
		if got.Source != memory.Manual {
			f.t.Errorf("its words are as they were, but their source is %s", got.Source)
		}
		f.must(f.rewords(got, func(n *memory.Fact) { n.Status, n.Confidence = memory.Pending, 0.4 }))
		f.must(f.rewords(f.is(fact.ID), func(n *memory.Fact) { n.Status = memory.Active }))
		if c := f.last(fact.ID); c.Action != memory.ActionApprove {
			f.t.Errorf("a pending fact that is active now was journalled as %s", c.Action)
		}
		if got := f.is(fact.ID); got.Confidence != 1 || got.Trust != memory.TrustPerson {
			f.t.Errorf("approved by its file it is as sure as by any other way, but: %+v", got)
		}
		if err := f.rewords(f.is(fact.ID), func(n *memory.Fact) { n.Confidence = 2 }); !errors.Is(err, memory.Invalid) {
			f.t.Errorf("confidence 2: %v", err)
		}
		if err := f.rewords(f.is(fact.ID), func(n *memory.Fact) { n.Content = " \n" }); !errors.Is(err, memory.Invalid) {
			f.t.Errorf("no words: %v", err)
		}
	})
}

// TestBothSidesOfAnEditAreKept edits a file of a fact that Loci has changed since it
// was read.
func TestBothSidesOfAnEditAreKept(t *testing.T) {
	onFiles(t, func(f *filing) {
		fact := f.wrote("User plays chess")
		pinned := memory.CoreAlways
		noError(f.t)(f.Curate.EditFact(context.Background(), ana, fact.ID, curate.FactEdit{Core: &pinned}, files.ByFile))
		f.must(f.rewords(fact, func(n *memory.Fact) { n.Content = "User plays go" }))
		if got := f.is(fact.ID); got.Content != "User plays go" || !got.Pinned() {
			f.t.Errorf("the fact is %+v", got)
		}
		err := f.rewords(fact, func(n *memory.Fact) { n.Content = "User plays poker" })
		if got := f.is(fact.ID); !errors.Is(err, memory.Conflict) || got.Content != "User plays go" {
			f.t.Errorf("the same words changed by both: %v, and the fact says %q", err, got.Content)
		}
	})
}

func TestDeletedFileIsForgottenAndComesBack(t *testing.T) {
	onFiles(t, func(f *filing) {
		ctx := context.Background()
		fact := f.wrote("User plays chess")
		batch := memtest.Batch(ana, "c", 0, "I play chess")
		noError(f.t)(f.Store.Append(ctx, ana, batch))
		gone := files.FileEdit{Owner: ana, IdempotencyKey: "gone", Stored: memory.FileContent{Fact: &fact}}
		for range 2 { // as after a crash before it was accepted
			target, err := f.Files.ApplyEdit(ctx, gone)
			if err != nil || target != "fact:"+fact.ID {
				f.t.Fatalf("%q, %v", target, err)
			}
		}
		retired := f.is(fact.ID)
		turn, err := f.Get(ctx, ana, batch.Turns[0].ID)
		if err != nil || retired.Status != memory.Retired || turn.Status() != memory.Retired {
			f.t.Errorf("the fact is %s, what was said %s, %v", retired.Status, turn.Status(), err)
		}
		f.must(f.rewords(retired, func(n *memory.Fact) { n.Status = memory.Active }))
		if c := f.last(fact.ID); f.is(fact.ID).Status != memory.Active || c.Action != memory.ActionRestore {
			f.t.Errorf("it is %s by %s", f.is(fact.ID).Status, c.Action)
		}
		if _, err := f.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: f.last(fact.ID).Run}, files.ByFile); err != nil {
			f.t.Errorf("undo: %v", err)
		}
		f.must(f.rewords(f.is(fact.ID), func(n *memory.Fact) { n.Tags = []string{"game"} })) // among what is deleted
		if got := f.is(fact.ID); got.Status != memory.Retired || len(got.Tags) != 1 {
			f.t.Errorf("the forgotten fact is %+v", got)
		}
	})
}

func TestFileOfAPersonsOwnIsAFact(t *testing.T) {
	onFiles(t, func(f *filing) {
		ctx := context.Background()
		old := f.wrote("User lives in Lisbon")
		says := memory.Fact{Scope: memory.Scope{Owner: ana}, Content: "User lives in Porto", Confidence: 1, Status: memory.Active, Tags: []string{"home"}}
		added := files.FileEdit{Owner: ana, IdempotencyKey: "added", Content: memory.FileContent{Fact: &says}}
		first := try(f.Files.ApplyEdit(ctx, added)).orFail(f.t)
		again, err := f.Files.ApplyEdit(ctx, added)
		if err != nil || again != first {
			f.t.Errorf("taken over twice: %q and %q, %v", first, again, err)
		}
		got := f.is(first[len("fact:"):])
		if got.Source != memory.FromFile || got.CreatedAt.IsZero() || got.ObservedAt.IsZero() || got.Attribute != "home" || f.is(old.ID).Status != memory.Superseded {
			f.t.Errorf("the fact is %+v, the old one %s", got, f.is(old.ID).Status)
		}
		added.IdempotencyKey = "other"
		if _, err := f.Files.ApplyEdit(ctx, added); !errors.Is(err, memory.Duplicate) {
			f.t.Errorf("a second file of the same words: %v", err)
		}
		named := says
		named.ID, named.Content = "of-old", "User plays go"
		if target, err := f.edit(memory.FileContent{}, memory.FileContent{Fact: &named}); err != nil || target != "fact:of-old" {
			f.t.Errorf("a file that names its id: %q, %v", target, err)
		}
	})
}

func TestWhatWasSaidIsNotEdited(t *testing.T) {
	onFiles(t, func(f *filing) {
		ctx := context.Background()
		batch := memtest.Batch(ana, "c", 0, "I play chess")
		noError(f.t)(f.Store.Append(ctx, ana, batch))
		read := func() *memory.Turn {
			f.t.Helper()
			m := try(f.Get(ctx, ana, batch.Turns[0].ID)).orFail(f.t)
			return m.Turn
		}
		was, other := read(), *read()
		other.Content = "I play go"
		for what, e := range map[string]files.FileEdit{
			"other words":    {Stored: memory.FileContent{Turn: was}, Content: memory.FileContent{Turn: &other}},
			"one of its own": {Content: memory.FileContent{Turn: &other}},
			"a conversation": {Content: memory.FileContent{Conversation: &memory.Conversation{ID: "c"}}},
		} {
			e.Owner, e.IdempotencyKey = ana, what
			if _, err := f.Files.ApplyEdit(ctx, e); !errors.Is(err, memory.Invalid) {
				f.t.Errorf("%s: %v, want it refused", what, err)
			}
		}
		_, err := f.edit(memory.FileContent{Turn: was}, memory.FileContent{})
		f.must(err)
		gone, back := read(), *read()
		if gone.Status != memory.Retired {
			f.t.Errorf("a deleted turn is %s", gone.Status)
		}
		back.Status = memory.Active
		noError(f.t)(f.edit(memory.FileContent{Turn: gone}, memory.FileContent{Turn: &back}))
		if got := read(); got.Status != memory.Active || got.Content != "I play chess" {
			f.t.Errorf("a turn that was put back is %s and says %q", got.Status, got.Content)
		}
	})
}

func TestSummariesAndProfileAreEdited(t *testing.T) {
	onFiles(t, func(f *filing) {
		ctx := context.Background()
		summary := memtest.Summary(ana, "c", "They spoke of chess")
		noError(f.t)(f.Store.Apply(ctx, ana, memory.Run{ID: "sum", Author: files.ByFile}, memory.Change{Action: memory.ActionAdd, After: memory.State{Summary: &summary}, Reason: "test"}))
		other := summary
		other.Text = "They spoke of go"
		noError(f.t)(f.edit(memory.FileContent{Summary: &summary}, memory.FileContent{Summary: &other}))
		m, err := f.Get(ctx, ana, summary.ID)
		if err != nil || m.Content() != other.Text {
			f.t.Errorf("the summary says %q, %v", m.Content(), err)
		}
		zone := memory.ProfileEntry{Owner: ana, Key: "zone", Value: "Lisbon", Status: memory.Active}
		noError(f.t)(f.edit(memory.FileContent{}, memory.FileContent{Profile: &zone}))
		moved := zone
		moved.Value = "Porto"
		noError(f.t)(f.edit(memory.FileContent{Profile: &zone}, memory.FileContent{Profile: &moved}))
		entries, err := f.Store.Profile(ctx, ana, memory.At{})
		if err != nil || len(entries) != 1 || entries[0].Value != "Porto" {
			f.t.Errorf("the profile is %+v, %v", entries, err)
		}
		noError(f.t)(f.edit(memory.FileContent{Profile: &moved}, memory.FileContent{}))
		if entries, err := f.Store.Profile(ctx, ana, memory.At{}); err != nil || len(entries) > 0 {
			f.t.Errorf("the profile is %+v, %v", entries, err)
		}
	})
}
