package recall

import (
	"reflect"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// The correction of a misspelt word has the same cues: a speaker, somebody close, a kind of thing.
func TestAMisspeltWordAsksForWhatItIsTakenFor(t *testing.T) {
	for _, c := range []struct {
		question, rightly, word, meant string
		cue                            string
	}{
		{"What does Melanei like?", "What does Melanie like?", "melanei", "melani", "cue.speaker"},
		{"Which instruemnt is it?", "Which instrument is it?", "instruemnt", "instrument", "cue.class"},
	} {
		first := candidate("a", "lexical", .5)
		first.Speaker, first.Classes = "Melanie Ray", ^uint32(0)
		want, _ := Rank(NewQuery(c.rightly, now, QueryOptions{}), []memory.Candidate{first}, RankOptions{}, now)
		first.Misspelt = []memory.Misspelt{{Word: c.word, Meant: []string{c.meant}}}
		got, _ := Rank(NewQuery(c.question, now, QueryOptions{}), []memory.Candidate{first}, RankOptions{}, now)
		if len(got) != 1 || got[0].Why.Get(c.cue) == 0 || !reflect.DeepEqual(got[0].Why, want[0].Why) {
			t.Errorf("%q: got %v, want %v", c.question, got, want[0].Why)
		}
	}
	q := newScoredQuery(NewQuery("Where does my sistre live?", now, QueryOptions{}), []memory.Candidate{{Misspelt: []memory.Misspelt{{Word: "sistre", Meant: []string{"sister"}}}}}, RankOptions{})
	if !q.isAboutPeople || isAboutUserOnly(q) {
		t.Error("a misspelt sister is nobody of one's own")
	}
}

func TestCorrectionsUseWordsOfTheHits(t *testing.T) {
	taken := []memory.Misspelt{{Word: "paintign", Meant: []string{"paint", "plaint"}}, {Word: "melanei", Meant: []string{"melani"}}, {Word: "ocupation", Meant: []string{"occup"}}, {Word: "grod", Meant: []string{"grid"}}}
	hits := []memory.Hit{
		{Memory: memory.Memory{Fact: &memory.Fact{Content: "User paints"}}},
		{Memory: memory.Memory{Turn: &memory.Turn{Content: "I like tea", Name: "Melanie"}}},
	}
	want := []memory.Misspelt{{Word: "paintign", Meant: []string{"paints"}}, {Word: "melanei", Meant: []string{"melanie"}}, {Word: "ocupation", Meant: []string{"occupation"}}}
	if got := WholeWordCorrections(taken, hits); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
