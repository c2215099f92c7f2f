package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestNearTakesAnyQuestion asks what nobody would, with and without a filter.
func TestNearTakesAnyQuestion(t *testing.T) {
	s := openNear(t, pgtest.Vector(t, true))
	for c := range 4 {
		texts := make([]string, 60)
		for i := range texts {
			texts[i] = fmt.Sprintf("everybody says word%d of thing%d o'clock C++ 🙂", i, i%7)
		}
		if _, err := s.Append(t.Context(), memtest.Ana, memtest.Batch(memtest.Ana, fmt.Sprint("c", c), 0, texts...)); err != nil {
			t.Fatal(err)
		}
	}
	fact := memtest.Fact(memtest.Ana, "everybody knows the harbour")
	fact.Tags, fact.Scope.Project = []string{"sea"}, "boat"
	if _, err := s.Apply(t.Context(), memtest.Ana, memtest.Run("facts"), memtest.Add(fact)); err != nil {
		t.Fatal(err)
	}
	buildNear(t, s, memtest.Ana)
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "word%d ", i)
	}
	for name, question := range map[string]string{
		"small words": "what was that with all of them", "operators": `'&|!():* <-> "everybody" \ & says' | !x`, "an emoji": "🙂 everybody", "what nobody said": "zebra",
		"in every memory": "everybody", "long": long.String(), "nothing": "", "the same often": strings.Repeat("everybody ", 40), "zero": "everybody\x00says",
	} {
		t.Run(name, func(t *testing.T) {
			q := askNear(question)
			if got := len(foundNear(t, s, q)); got == 0 && strings.Contains(question, "everybody") {
				t.Error("nothing is found, want what everybody says")
			}
			for name, narrow := range map[string]func(*memory.Search){
				"project": func(q *memory.Search) { q.Scopes[0].Project, q.Kinds = "boat", []memory.Kind{memory.KindFact} },
				"tag":     func(q *memory.Search) { q.Tag = "sea" }, "kind": func(q *memory.Search) { q.Kinds = []memory.Kind{memory.KindFact} },
				"none": func(q *memory.Search) { q.Conversation = "no such" },
			} {
				q := askNear(question)
				narrow(&q)
				got := foundNear(t, s, q)
				if want := strings.Contains(question, "everybody") && name != "none"; len(got) > 1 || got[fact.Content] != want {
					t.Errorf("by %s: got %v, want the fact: %v", name, got, want)
				}
			}
		})
	}
}
