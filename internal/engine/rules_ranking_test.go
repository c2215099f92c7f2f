package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
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
		r.Opts.Recall.Each, r.Opts.TopK = each, 5
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

func TestRulesSetTheRanking(t *testing.T) {
	var o recall.Options
	(&core.Rules{}).Ranking(&o)
	if o.Lambda != nil || o.SinceSaid || o.Decay != 0 {
		t.Errorf("without rules: %+v, want what ranking does by itself", o)
	}
	(&core.Rules{Lambda: 0.3, SinceSaid: true, Decay: time.Hour}).Ranking(&o)
	if o.Lambda == nil || *o.Lambda != 0.3 || !o.SinceSaid || o.Decay != time.Hour {
		t.Errorf("with rules: %+v", o)
	}
}
