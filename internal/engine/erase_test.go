package engine

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// TestErasedWordsAreGone tells, edits, recalls, sums up and forgets a fact, in chats
// and by hand, and erases it: no file of the store has the words.
func TestErasedWordsAreGone(t *testing.T) {
	dir := t.TempDir()
	s := newScene(t, func(t testing.TB, now func() time.Time) memory.Store {
		return try(sqlstore.OpenSQLite(context.Background(), filepath.Join(dir, "loci.db"), sqlstore.Options{Now: now})).orFail(t)
	})
	dropped := 0
	s.Searcher = dropping{s.Searcher, &dropped}
	ctx, author := context.Background(), memory.Author{Kind: memory.ByPerson, Name: "ana"}
	play(t, s, `set summaries.every: 2
		reply Noted, no marzipan for you.
		user ana: I am allergic to marzipan.
		reply Noted.
		user ana: I play chess.
		new chat ana
		reply I will remember that you are allergic to marzipan.
		user ana: Please remember that I am allergic to marzipan.
		ask ana: What am I allergic to?
		expect any hit: User is allergic to marzipan
		forget ana: marzipan`)
	s.writeWaiting(t)
	if len(filesWith(t, dir, sweet)) == 0 {
		t.Fatal("no file has the word before")
	}
	page, err := s.List(ctx, ana, memory.Query{Text: "marzipan", Statuses: []memory.Status{memory.Retired}})
	if err != nil || len(page.Memories) != 1 {
		t.Fatalf("%d facts are forgotten (%v), want one", len(page.Memories), err)
	}
	would, r, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{Query: "my marzipan allergy", Erase: true, DryRun: true}, author)
	if err != nil || len(would) < 4 || r.Changes != 0 || len(filesWith(t, dir, sweet)) == 0 {
		t.Errorf("preview: %d memories, %+v, %v; want the fact, what was said of it, and no change", len(would), r, err)
	}
	gone, r, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{page.Memories[0].ID()}, Erase: true, IdempotencyKey: "k"}, author)
	if err != nil {
		t.Fatal(err)
	}
	if len(gone) != len(would) || r.Changes != len(would) || dropped != 1 {
		t.Errorf("erased %d memories by %d changes, dropped the index %d times; want what was foreseen, %d, and once", len(gone), r.Changes, dropped, len(would))
	}
	wantNowhere(t, dir)
	noError(t)(s.work(ctx))
	play(t, s, `expect facts ana: User plays chess
		expect no summary ana: marzipan
		ask ana: What am I allergic to?
		expect no hit: marzipan`)
	s.writeWaiting(t)
	wantNowhere(t, dir)
	again, r, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{page.Memories[0].ID()}, Erase: true, IdempotencyKey: "k"}, author)
	if err != nil || !r.Again || len(again) != len(gone) {
		t.Errorf("the same key again: %d memories, %+v, %v; want the first result", len(again), r, err)
	}
	if _, _, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{page.Memories[0].ID()}, IdempotencyKey: "k"}, author); !errors.Is(err, memory.Conflict) {
		t.Errorf("the same key to forget: %v, want a conflict", err)
	}
}

// TestWhatIsErasedDoesNotComeBack tries every way back.
func TestWhatIsErasedDoesNotComeBack(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, open)
			ctx, author := context.Background(), memory.Author{Kind: memory.ByPerson, Name: "ana"}
			play(t, s, `remember ana: User lives in Rome`)
			start := s.Time()
			play(t, s, `at +1d
				remember ana: User plays chess
				remember ana: User lives in Oslo`)
			page, err := s.List(ctx, ana, memory.Query{Text: "Oslo"})
			if err != nil || len(page.Memories) != 1 {
				t.Fatal(page, err)
			}
			oslo := page.Memories[0].ID()
			written := try(s.Changes(ctx, ana, memory.ChangeQuery{Target: "fact:" + oslo})).orFail(t)
			_, erased, err := s.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{oslo}, Erase: true}, author)
			if err != nil {
				t.Fatal(err)
			}
			other := "User lives in Lima"
			for what, try := range map[string]func() error{
				"undo the erasure": func() error { return errOf(s.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: erased.Run}, author)) },
				"undo what wrote it": func() error {
					return errOf(s.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: written.Changes[0].Run}, author))
				},
				"undo what wrote it, cascade": func() error {
					return errOf(s.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: written.Changes[0].Run, Cascade: true}, author))
				},
				"see what that would be": func() error {
					return errOf(s.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: written.Changes[0].Run, DryRun: true}, author))
				},
				"restore it": func() error { _, err := s.Curate.Restore(ctx, ana, oslo, "", author); return err },
				"edit it": func() error {
					return errOf(s.Curate.EditFact(ctx, ana, oslo, curate.FactEdit{Content: &other}, author))
				},
			} {
				if err := try(); !errors.Is(err, memory.Conflict) {
					t.Errorf("%s: %v, want a conflict", what, err)
				}
			}
			if _, err := s.Curate.Undo(ctx, ana, curate.UndoRequest{ToTime: start}, author); err != nil {
				t.Errorf("undo all since: %v", err)
			}
			play(t, s, `expect facts ana: User lives in Rome`)
		})
	}
}

// dropping counts how often an index is told to forget an owner.
type dropping struct {
	memory.Searcher
	times *int
}

func (d dropping) Drop(owner memory.Owner) error {
	*d.times++
	return d.Searcher.(interface{ Drop(memory.Owner) error }).Drop(owner)
}
