package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

// TestAPersonPrevailsWhateverTheTimes writes facts whose times of observation are the
// other way round: what is written last holds, and is the newest from then on.
func TestAPersonPrevailsWhateverTheTimes(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r, ctx := newRig(t, open), context.Background()
			author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
			first, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: "User lives in Rome", ObservedAt: r.Time().AddDate(0, 1, 0), Core: memory.CoreAlways}, author)
			if err != nil {
				t.Fatal(err)
			}
			second, _, err := r.Curate.Remember(ctx, ana, curate.FactInput{Content: "User lives in Oslo", ObservedAt: r.Time().AddDate(-1, 0, 0)}, author)
			if err != nil {
				t.Fatal(err)
			}
			was := try(r.Fact(ctx, ana, first.ID)).orFail(t)
			if was.Status != memory.Superseded || was.SupersededBy != second.ID {
				t.Errorf("the first is %s by %q, want superseded by %s", was.Status, was.SupersededBy, second.ID)
			}
			if !second.Pinned() || second.ObservedAt.Before(second.CreatedAt) {
				t.Errorf("the second is pinned %v and observed at %v, want it pinned and as new as its writing at %v", second.Pinned(), second.ObservedAt, second.CreatedAt)
			}
		})
	}
}

// TestWithoutASearchItIsWritten writes a fact while nothing can be searched: it is
// written, and takes the place of what has the same attribute.
func TestWithoutASearchItIsWritten(t *testing.T) {
	r, ctx := newRig(t, stores["inmem"]), context.Background()
	author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
	r.Searcher = failing{}
	for _, words := range []string{"User lives in Rome", "User lives in Oslo"} {
		noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: words}, author))
	}
	page := try(r.List(ctx, ana, memory.Query{})).orFail(t)
	if len(page.Memories) != 1 || page.Memories[0].Content() != "User lives in Oslo" {
		t.Errorf("there are %d facts, want the one written last", len(page.Memories))
	}
}

type failing struct{}

func (failing) Search(context.Context, memory.Search) ([]memory.Candidate, error) {
	return nil, errors.New("broken")
}

// TestOfTwoApprovedTogetherTheNewerHolds approves contradicting facts in one request,
// in either order.
func TestOfTwoApprovedTogetherTheNewerHolds(t *testing.T) {
	for name, open := range stores {
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				s, ctx := newScene(t, open), context.Background()
				author := memory.Author{Kind: memory.ByPerson, Name: "ana"}
				play(t, s, `set review.confidence: 1.0
					user ana: I live in Rome.
					at +1d
					user ana: I play the cello.
					user ana: I live in Oslo.
					expect pending ana: User lives in Rome | User plays the cello | User lives in Oslo`)
				page, err := s.Curate.PendingFacts(ctx, ana, 0, "")
				if err != nil || len(page.Facts) != 3 {
					t.Fatal(page, err)
				}
				var judgements []curate.Judgement
				for _, i := range order {
					judgements = append(judgements, curate.Judgement{ID: page.Facts[i].Memory.Fact.ID, Action: memory.ActionApprove})
				}
				facts, _, err := s.Curate.Judge(ctx, ana, judgements, "", author)
				if err != nil {
					t.Fatal(err)
				}
				for i, f := range facts {
					if f.ID() != judgements[i].ID {
						t.Errorf("fact %d is %s, want that of the judgement, %s", i, f.ID(), judgements[i].ID)
					}
				}
				play(t, s, `expect facts ana: User plays the cello | User lives in Oslo
					expect superseded ana: User lives in Rome
					undo ana
					expect pending ana: User lives in Rome | User plays the cello | User lives in Oslo`)
			})
		}
	}
}
