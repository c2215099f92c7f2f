package memory_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func TestContainsFoldIgnoresCaseAlone(t *testing.T) {
	for _, test := range []struct {
		s, part string
		want    bool
	}{
		{"", "", true}, {"tea", "", true}, {"", "tea", false},
		{"Green TEA", "n te", true}, {"Green TEA", "m te", false},
		{"Straße", "STRASSE", false}, {"Łódź", "łÓDŹ", true}, {"Łódź", "lodz", false},
		{"ΟΔΥΣΣΕΥΣ", "σσευς", true}, {"K", "k", true}, {"100%", "_00%", false},
		{"z{", "Z[", false}, {"@", "`", false},
	} {
		if got := memory.ContainsFold(test.s, test.part); got != test.want {
			t.Errorf("ContainsFold(%q, %q): got %v, want %v", test.s, test.part, got, test.want)
		}
	}
}

func FuzzContainsFold(f *testing.F) {
	f.Add("Ana drinks TEA", "tea")
	f.Add("ΟΔΥΣΣΕΥΣ", "ς")
	f.Add("İstanbul", "i")
	f.Fuzz(func(t *testing.T, s, part string) {
		if !utf8.ValidString(s) || !utf8.ValidString(part) {
			t.Skip("stores hold valid UTF-8")
		}
		if got, want := memory.ContainsFold(s, part), containsSlowly(s, part); got != want {
			t.Errorf("ContainsFold(%q, %q): got %v, want %v", s, part, got, want)
		}
	})
}

// containsSlowly asks strings.EqualFold at every place.
func containsSlowly(s, part string) bool {
	runes, n := []rune(s), utf8.RuneCountInString(part)
	for i := 0; i+n <= len(runes); i++ {
		if strings.EqualFold(string(runes[i:i+n]), part) {
			return true
		}
	}
	return false
}

func TestMatchesLooksAtTheLinkFirst(t *testing.T) {
	link := memtest.Link(memtest.Ana, memtest.Fact(memtest.Team, "Standup at ten"))
	link.Fact.Scope.Project, link.Fact.Provenance.Conversation = "p", "c"
	m := memory.Memory{Fact: &link.Fact, Link: &link}
	if !(memory.Query{}).Matches(m) {
		t.Error("an active link to an active fact: got no match, want one")
	}
	for what, q := range map[string]memory.Query{"project": {Project: "p"}, "conversation": {Conversation: "c"}} {
		if q.Matches(m) {
			t.Errorf("the %s of its home: got a match, want none", what)
		}
	}
	link.Status = memory.Retired
	if (memory.Query{}).Matches(m) {
		t.Error("a retired link: got a match, want none")
	}
	link.Status, link.Fact.Status = memory.Active, memory.Superseded
	if (memory.Query{}).Matches(m) {
		t.Error("an active link to a superseded fact: got a match, want none")
	}
	if q := (memory.Query{At: memory.At{ValidAt: memtest.Epoch.Add(time.Hour)}}); !q.Matches(m) {
		t.Error("the same at a time when it was true: got no match, want one")
	}
}
