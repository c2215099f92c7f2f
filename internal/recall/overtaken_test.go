package recall

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func TestOvertakenTurnsStandBehindWhatHoldsNow(t *testing.T) {
	lisbon := memory.Fact{ID: "lisbon", Content: "User lives in Lisbon", ObservedAt: time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)}
	turn := func(id string, now ...memory.Fact) memory.Hit {
		return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Role: memory.RoleUser, Content: "I live in Berlin"}}, Replacements: now}
	}
	hits := []memory.Hit{turn("old", lisbon), turn("older", lisbon), turn("other"), {Memory: memory.Memory{Fact: &lisbon}}, turn("elsewhere", memory.Fact{ID: "no hit"})}
	var got []string
	for _, h := range CurrentFactsFirst(hits) {
		got = append(got, h.Memory.ID())
	}
	if want := "lisbon old older other elsewhere"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
	block := Render(Core{}, []memory.Hit{turn("old", lisbon)}, RenderOptions{}).Text
	if want := "I live in Berlin [no longer so, since 2026-05-03 Sun: User lives in Lisbon]"; !strings.Contains(block, want) {
		t.Errorf("block %q lacks %q", block, want)
	}
}

// An answer follows its question, which joins it if the budget has room.
func TestAnswerFollowsItsQuestion(t *testing.T) {
	turn := func(id string, role memory.Role, parent string) memory.Memory {
		return memory.Memory{Turn: &memory.Turn{ID: id, Role: role, Parent: parent, Content: "The words of " + id}}
	}
	hits := func(all ...memory.Memory) (out []memory.Hit) {
		for _, m := range all {
			out = append(out, memory.Hit{Memory: m})
		}
		return out
	}
	q, a, other := turn("q", memory.RoleUser, ""), turn("a", memory.RoleAssistant, "q"), turn("other", memory.RoleUser, "")
	more, late := turn("more", memory.RoleAssistant, "q"), turn("late", memory.RoleUser, "a")
	for name, c := range map[string]struct {
		hits      []memory.Hit
		questions []memory.Memory
		budget    int
		want      string
	}{
		"both are hits":         {hits(other, a, late, q), nil, 100, "other q a late"},
		"the question is first": {hits(q, other, a), nil, 100, "q a other"},
		"it is no hit":          {hits(other, a), []memory.Memory{q}, 100, "other q a"},
		"it has no room":        {hits(other, a), []memory.Memory{q}, 21, "other a"},
		"it has two answers":    {hits(more, other, a), []memory.Memory{q, q}, 100, "q more a other"},
		"nothing is asked":      {hits(other, late), nil, 100, "other late"},
	} {
		var got []string
		for _, h := range PairAnswers(c.hits, c.questions, c.budget) {
			got = append(got, h.Memory.ID())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestBeforeIsWhatIsWorthTelling: the latest, and none whose words the fact has.
func TestBeforeIsWhatIsWorthTelling(t *testing.T) {
	fact := func(content string) memory.Fact { return memory.Fact{Content: content} }
	for _, c := range []struct {
		now  string
		were []string
		want []string
	}{
		{"User lives in Lisbon", []string{"User lives in Berlin"}, []string{"User lives in Berlin"}},
		{"User has a dog named Rex", []string{"User has a dog", "User has a cat"}, []string{"User has a cat"}},
		{"User is lives in Lisbon", []string{"User lives in Lisbon."}, nil},
		{"User works as a baker", []string{"User works as a cook", "User works as a clerk", "User works as a pilot"}, []string{"User works as a cook", "User works as a clerk"}},
		{"User works as a baker", []string{""}, nil},
	} {
		var were []memory.Fact
		for _, w := range c.were {
			were = append(were, fact(w))
		}
		var got []string
		for _, f := range ReplacedFacts(fact(c.now), were) {
			got = append(got, f.Content)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q after %q: told with %q, want %q", c.now, c.were, got, c.want)
		}
	}
}
