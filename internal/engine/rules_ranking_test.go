package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// asking keeps how many candidates a searcher was asked for.
type asking struct {
	memory.Searcher
	limits *[]int
}

func (a asking) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	*a.limits = append(*a.limits, s.Limit)
	return a.Searcher.Search(ctx, s)
}

// TestCandidatesForEachThatIsShown is design 4's n_results = top_k · 3.
func TestCandidatesForEachThatIsShown(t *testing.T) {
	for each, want := range map[int]int{0: retrieve.Candidates, 3: 15, 100: retrieve.Candidates} {
		r := newRig(t, stores["inmem"])
		r.Opts.Recall.CandidatesPerHit, r.Opts.TopK = each, 5
		for i := range 30 {
			r.note(t, ana, fmt.Sprintf("Ana's tea number %d is oolong", i))
		}
		var limits []int
		r.Searcher = asking{r.Searcher, &limits}
		if got := r.ask(t, ana, "Which tea is oolong?", memory.At{}); len(got) == 0 {
			t.Error("nothing was found")
		}
		if len(limits) == 0 || limits[0] != want {
			t.Errorf("with %d for each of 5 the searcher is asked for %v, want %d", each, limits, want)
		}
	}
}

// TestEachScopeProposesAsManyCandidates: the conversation's own and the user's.
func TestEachScopeProposesAsManyCandidates(t *testing.T) {
	r := newRig(t, stores["inmem"])
	r.Opts.Recall.CandidatesPerHit, r.Opts.TopK, r.Opts.Learn.Scope = 3, 2, core.OfConversation
	for i := range 10 {
		r.said(t, "work", fmt.Sprintf("Tea number %%d, %d of the work is oolong", i), 1)
		r.said(t, "global", fmt.Sprintf("Tea number %%d, %d of all is oolong", i), 1)
		r.note(t, ana, fmt.Sprintf("Tea number %d of mine is oolong", i))
	}
	q := &retrieve.Source{Retriever: r.Retrieve, Question: retrieve.Question{Scope: memory.Scope{Owner: ana, Conversation: "work"}, Text: "Which tea is oolong?"}, Now: r.Time()}
	s := q.BuildSearch(context.Background(), q.Query())
	s.Scopes, s.Limit = []memory.Scope{q.Question.Scope}, r.Opts.Recall.CandidateLimit(s.Limit, 2)
	found, err := q.Search(context.Background(), s)
	own := 0
	for _, c := range found {
		m := try(r.Get(context.Background(), ana, c.ID)).orFail(t)
		if m.Turn != nil && m.Turn.Conversation == "work" {
			own++
		}
	}
	if err != nil || own != 6 || len(found) != 12 {
		t.Errorf("%d candidates, %d of the conversation, %v; want 6 of each scope", len(found), own, err)
	}
}
