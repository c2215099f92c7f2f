package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// replaces reports whether a later statement replaces a fact.
func replaces(t *testing.T, fact, statement string) bool {
	t.Helper()
	s := saying(statement)
	cands, _ := Filter(extract.FactsByRules(s), s)
	subject, attribute := extract.SubjectAndAttribute(fact)
	if before := saying(fact); attribute == "" { // as the rules read it
		if read, _ := Filter(extract.FactsByRules(before), before); len(read) > 0 {
			fact, subject, attribute = read[0].Text, read[0].Subject, read[0].Attribute
		}
	}
	n := extract.Neighbor{Fact: memory.Fact{ID: "K", Content: fact, Subject: subject, Attribute: attribute, Status: memory.Active}}
	for i := range cands {
		cands[i].Neighbors = []extract.Neighbor{n}
	}
	for _, d := range Reconcile(cands) {
		if d.Verdict == Update && d.TargetID == "K" {
			return true
		}
	}
	return false
}

func TestNewerStatementsOfOneThingReplace(t *testing.T) {
	for _, c := range []struct {
		fact, statement string
		want            bool
	}{
		{"My budget is 300 euros", "My rent is 950 euros", false},
		{"I have a deadline of 1 June for the first sprint", "My deadline for the grant is 5 June", false},
		{"I have a meeting with Dana on 3 June", "I have a meeting with Dana on 10 June", false},
		{"I have a meeting with Dana on 3 June", "My meeting with Omar was moved to 4 June", false},
		{"I've completed 12 crossword puzzles", "I've completed 15 chess puzzles", false},
		{"I attended a workshop on oil painting yesterday", "I've never attended any workshops or courses about oil painting", true},
		{"I attended a workshop on oil painting yesterday", "I've never attended any workshops about pottery", false},
		{"I've completed 12 crossword puzzles", "I've never completed any chess puzzles", false},
		{"I work at Acme", "I no longer work at Acme. I work at Bosch now.", true},
	} {
		if got := replaces(t, c.fact, c.statement); got != c.want {
			t.Errorf("%q after %q: replaces is %t, want %t", c.statement, c.fact, got, c.want)
		}
	}
}

// TestTheNewPlaceTakesTheOldOnes: if a batch ends one job and names another, the other replaces the
// first.
func TestTheNewPlaceTakesTheOldOnes(t *testing.T) {
	neighbour := extract.Neighbor{Fact: memory.Fact{ID: "K", Content: "User works at Acme", Subject: "user", Attribute: "employer", Status: memory.Active}}
	cands := []extract.Candidate{
		{Text: "User no longer works at Acme", Subject: "user", Attribute: "employer", Neighbors: []extract.Neighbor{neighbour}},
		{Text: "User works at Bosch", Subject: "user", Attribute: "employer", Neighbors: []extract.Neighbor{neighbour}},
	}
	for _, d := range Reconcile(cands) {
		if want := d.CandidateIndex == 1; (d.Verdict == Update) != want {
			t.Errorf("%q: verdict %s, target %q", cands[d.CandidateIndex].Text, d.Verdict, d.TargetID)
		}
	}
	for _, d := range Reconcile(cands[:1]) {
		if d.Verdict != Update {
			t.Errorf("alone, %q has verdict %s, want %s", cands[0].Text, d.Verdict, Update)
		}
	}
}
