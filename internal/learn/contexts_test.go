package learn

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

func TestInContext(t *testing.T) {
	contexts := []memory.Context{{ID: "1", Title: "Team", Content: "Ada leads the team,  and Bo tests. The office is in Porto."}, {ID: "2", Content: "likes tea"}}
	for _, test := range []struct {
		text, quote string
		remember    bool
		want        string
	}{
		{text: "the office is in porto", want: "Team"},                      // the context holds it
		{text: "User likes tea", want: "2"},                                 // it holds the context
		{text: "User likes teapots"},                                        // whole words alone
		{text: "Office: Porto", quote: "the OFFICE is in Porto.", want: ""}, // five words may be chance
		{text: "Bo is a tester", quote: "Ada leads the team, and Bo tests", want: "Team"},
		{text: "User likes tea", remember: true},
		{text: "User lives in Berlin"},
	} {
		if got := ContextContaining(extract.Candidate{Text: test.text, RememberRequested: test.remember}, test.quote, contexts); got != test.want {
			t.Errorf("%q, quoting %q: got %q, want %q", test.text, test.quote, got, test.want)
		}
	}
}

func TestNearContext(t *testing.T) {
	document := memory.Context{Title: "Me"}
	for _, test := range []struct {
		passage, text string
		similarity    float64
		want          string
	}{
		{"User is allergic to nuts", "User is allergic to peanuts", 0.9, "Me"},
		{"User is allergic to nuts", "User is allergic to peanuts", 0.89, ""},
		{"User is not allergic to peanuts", "User is allergic to peanuts", 0.97, ""},
		{"User has 2 dogs", "User has 3 dogs", 0.97, ""},
		{"Ada lives in Porto", "User lives in Lisbon", 0.95, ""},
	} {
		if got := SimilarContext(extract.Candidate{Text: test.text}, document, test.passage, test.similarity, 0); got != test.want {
			t.Errorf("%q near %q at %v: got %q, want %q", test.text, test.passage, test.similarity, got, test.want)
		}
	}
}

func TestPassagesHoldAllOfADocument(t *testing.T) {
	document := "One. Two is longer.\n\n" + strings.Repeat("Words and words follow here. ", 100) + strings.Repeat("x", 3*passageBytes)
	passages := Passages(document, 0, nil)
	if len(passages) < 103 || passages[0] != "One." || passages[1] != "Two is longer." {
		t.Fatalf("%d passages, the first %q", len(passages), passages[:2])
	}
	for _, p := range passages {
		if p == "" || len(p) > passageBytes {
			t.Errorf("a passage of %d bytes; want 1 to %d", len(p), passageBytes)
		}
	}
	if got := Passages(" \n\t", 0, nil); len(got) != 0 {
		t.Errorf("nothing has passages %q", got)
	}
}

// TestPassagesAreAsLongAsTheEmbedderReads counts words in place of tokens.
func TestPassagesAreAsLongAsTheEmbedderReads(t *testing.T) {
	words := func(s string) int { return len(strings.Fields(s)) }
	longest := 0
	for _, p := range Passages(strings.Repeat("Five words are in this. ", 40), 20, words) {
		longest = max(longest, words(p))
	}
	if longest != 20 {
		t.Errorf("the longest passage has %d words, want 20", longest)
	}
}
