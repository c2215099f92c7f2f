package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// TestUndoToATimeLeavesThePath edits a message and undoes everything since before: the
// chat goes on from where it is, and what it taught since is gone.
func TestUndoToATimeLeavesThePath(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, open)
			ctx, author := context.Background(), memory.Author{Kind: memory.ByPerson, Name: "ana"}
			play(t, s, `remember ana: User speaks Spanish
				named chat ana: c
				user ana: Hello there!
				user ana: I live in Rome.`)
			start := s.Time()
			s.clock.Advance(time.Hour)
			play(t, s, `edit ana: I play chess.
				forget ana: Spanish
				expect facts ana: User plays chess`)
			noError(t)(s.Curate.Undo(ctx, ana, curate.UndoRequest{ToTime: start}, author))
			play(t, s, `expect facts ana: User speaks Spanish`)
			turns := try(s.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "c"})).orFail(t)
			var said []string
			for _, turn := range turns {
				said = append(said, turn.Content)
			}
			if want := []string{"Hello there!", "OK.", "I play chess.", "OK."}; !slices.Equal(said, want) {
				t.Errorf("the chat is %q, want %q", said, want)
			}
		})
	}
}

// lightened is a store whose journal lost the words of all that was before.
type lightened struct{ memory.Store }

func (s lightened) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	page, err := s.Store.Changes(ctx, owner, q)
	for i, c := range page.Changes {
		page.Changes[i].Before = c.Before.Erased("erase")
	}
	return page, err
}

// TestUndoBringsNoFactWithoutWords: an erasure that was cut off took them out of the journal,
// and the fact is still there.
func TestUndoBringsNoFactWithoutWords(t *testing.T) {
	r := newRig(t, stores["inmem"])
	f := r.note(t, ana, "User drinks oolong tea")
	words := "User drinks sencha tea"
	noError(t)(r.Curate.EditFact(t.Context(), ana, f.ID, curate.FactEdit{Content: &words}, her))
	page := try(r.Changes(t.Context(), ana, memory.ChangeQuery{Limit: 1})).orFail(t)
	r.Store = lightened{r.Store}
	if _, err := r.Curate.Undo(t.Context(), ana, curate.UndoRequest{RunID: page.Changes[0].Run}, her); !errors.Is(err, memory.Conflict) {
		t.Errorf("got %v, want %v", err, memory.Conflict)
	}
	if found, err := r.Store.Get(t.Context(), ana, f.ID); err != nil || len(found) != 1 || found[0].Content() != words {
		t.Errorf("got %v, %v; want the fact as it was", found, err)
	}
}
