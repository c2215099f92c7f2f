package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// askers are invented people who also ask the program what it remembers, and are told: half of what
// they say are questions that tell nothing. Recall was mended by the first; of the others nothing
// but the sums was looked at.
var (
	askers     = []string{"dara", "milo", "rosalind", "ferran"}
	heldAskers = []string{"tamsin", "dmitri", "wanjiru", "howard"}
)

// askedFigures count the hits of questions: those with the answer, and others.
type askedFigures struct {
	everydayFigures
	shown                  int
	asked, restated, aside int // of them: bare questions, what the assistant said again, and what else does not answer
}

func (f askedFigures) String() string {
	return fmt.Sprintf("%v; shown %d: bare questions %d, said again by the assistant %d, else beside the answer %d",
		f.everydayFigures, f.shown, f.asked, f.restated, f.aside)
}

// TestEverydayAsked limits earlier questions of the user among the hits. The limits are a little above the current figures.
func TestEverydayAsked(t *testing.T) {
	p := newPupil(t)
	var seen, unseen askedFigures
	for _, name := range askers {
		p.asker(t, name, &seen, true)
	}
	for _, name := range heldAskers {
		p.asker(t, name, &unseen, *held)
	}
	for name, reached := range map[string]struct {
		got                            askedFigures
		first, eighth, silenced, asked int
	}{
		"looked at": {got: seen, first: 43, eighth: 55, silenced: 10, asked: 10},
		"held back": {got: unseen, first: 25, eighth: 32, silenced: 16, asked: 5},
	} {
		t.Logf("%s: %v", name, reached.got)
		if got := reached.got; got.first < reached.first || got.eighth < reached.eighth || got.silenced > reached.silenced || got.asked > reached.asked {
			t.Errorf("%s: %v; want at least first %d and in eight %d, at most %d refused and %d asked before", name, got, reached.first, reached.eighth, reached.silenced, reached.asked)
		}
	}
}

// asker sends one person's messages and questions, and counts the hits.
func (p *pupil) asker(t *testing.T, name string, f *askedFigures, show bool) {
	t.Helper()
	user := "asked/" + name
	names := tellEveryday(t, p, user)
	c := p.As(user)
	for _, q := range everydayQuestions(t, user) {
		found, err := c.Search(t.Context(), client.SearchRequest{Query: q.text, Explain: show})
		if err != nil {
			t.Fatal(err)
		}
		right := placeOf(found.Hits, names, q.answers)
		f.count(q, right, len(found.Hits))
		wrong := f.addHits(q, found.Hits, names)
		if show && (wrong > 0 || len(q.answers) > 0 && right != 0) {
			t.Logf("%s: %q wants %v, has it at %d of %d, %d others%s", name, q.text, q.answers, right+1, len(found.Hits), wrong, listed(found.Hits, names))
		}
	}
}

// addHits counts the hits of a question, and returns how many do not answer it.
func (f *askedFigures) addHits(q everydayQuestion, hits []client.Hit, names map[string]string) (wrong int) {
	for _, h := range hits {
		f.shown++
		switch sources := sourcesOf(h, names); {
		case slices.Contains(sources, "?"):
			f.asked++
		case slices.Contains(sources, "="):
			f.restated++
		case slices.ContainsFunc(sources, func(name string) bool { return slices.Contains(q.answers, name) }):
			continue
		default:
			f.aside++
		}
		wrong++
	}
	return wrong
}

// listed formats all hits for people.
func listed(hits []client.Hit, names map[string]string) string {
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "\n    %d %.2f %s %v: %.120q", i+1, h.Score, h.Kind, sourcesOf(h, names), h.Content)
	}
	return b.String()
}
