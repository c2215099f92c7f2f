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
		return memory.Hit{Memory: memory.Memory{Turn: &memory.Turn{ID: id, Role: memory.RoleUser, Content: "I live in Berlin"}}, Now: now}
	}
	hits := []memory.Hit{turn("old", lisbon), turn("older", lisbon), turn("other"), {Memory: memory.Memory{Fact: &lisbon}}, turn("elsewhere", memory.Fact{ID: "no hit"})}
	var got []string
	for _, h := range Overtaken(hits) {
		got = append(got, h.Memory.ID())
	}
	if want := "lisbon old older other elsewhere"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
	block := Render(Core{}, []memory.Hit{turn("old", lisbon)}, RenderOptions{}).Text
	if want := "I live in Berlin [no longer so, since 2026-05-03: User lives in Lisbon]"; !strings.Contains(block, want) {
		t.Errorf("block %q lacks %q", block, want)
	}
}

// TestBeforeIsWhatIsWorthTelling: the latest, and nothing that the fact says itself.
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
		for _, f := range Before(fact(c.now), were) {
			got = append(got, f.Content)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q after %q: told with %q, want %q", c.now, c.were, got, c.want)
		}
	}
}
