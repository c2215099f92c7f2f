package learn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// later is a user's candidate, observed some minutes after [memtest.Epoch].
func later(minutes int, content string, near ...memory.Fact) extract.Candidate {
	c := extract.Candidate{
		Text: content, Confidence: 0.9, TurnID: fmt.Sprintf("turn-%d", minutes), Trust: memory.TrustUser,
		ObservedAt: memtest.Epoch.Add(time.Duration(minutes) * time.Minute),
	}
	c = extract.WithClassification(c)
	for _, f := range near {
		c.Neighbors = append(c.Neighbors, extract.Neighbor{Fact: f, Similarity: 0.7})
	}
	return c
}

func options() PlanOptions {
	var ids memtest.IDs
	return PlanOptions{
		Now: memtest.Epoch.Add(time.Hour), NewID: ids.New, Scope: memory.Scope{Owner: memtest.Ana},
		Author: memory.Author{Kind: memory.ByRule, Name: "rules"},
	}
}

// summary describes changes, one a line: "replace superseded User lives in Berlin".
func summary(changes []memory.Change) string {
	var out []string
	for _, c := range changes {
		switch {
		case c.After.Fact != nil:
			out = append(out, fmt.Sprintf("%s %s %s", c.Action, c.After.Fact.Status, c.After.Fact.Content))
		case c.After.Link != nil:
			out = append(out, fmt.Sprintf("%s %s %s", c.Action, c.After.Link.Status, c.After.Link.Fact.Content))
		default:
			out = append(out, fmt.Sprintf("%s %s %s", c.Action, c.After.Status(), c.After.Target()))
		}
	}
	return strings.Join(out, "\n")
}

func lines(s ...string) string { return strings.Join(s, "\n") }

// TestConflictTable is design 3's table, decided by rule.
func TestConflictTable(t *testing.T) {
	berlin, cat := fact("User lives in Berlin"), fact("User has a cat")
	for _, c := range []struct {
		name, want string
		cand       extract.Candidate
	}{
		{"direct contradiction replaces", lines("replace superseded User lives in Berlin", "add active User lives in Lisbon"), later(5, "User lives in Lisbon", berlin, cat)},
		{"refinement replaces", lines("replace superseded User lives in Berlin", "add active User lives in Berlin, near the zoo"), later(5, "User lives in Berlin, near the zoo", berlin)},
		{"redundancy is ignored", "", later(5, "User lives in Berlin", fact("User lives in Berlin, near the zoo"))},
		{"new information is added", "add active User has a dog", later(5, "User has a dog", berlin, cat)},
		{"negation replaces its opposite", lines("replace superseded User eats meat", "add active User does not eat meat"), later(5, "User does not eat meat", fact("User eats meat"))},
		{"a changed taste replaces", lines("replace superseded User likes coffee", "add active User dislikes coffee"), later(5, "User dislikes coffee", fact("User likes coffee"))},
		{"an end replaces what ended", lines("replace superseded User is vegetarian", "add active User is no longer vegetarian"), later(5, "User is no longer vegetarian", fact("User is vegetarian"))},
		{"a past replaces its present", lines("replace superseded User works at Acme", "add active User used to work at Acme"), later(5, "User used to work at Acme", fact("User works at Acme"))},
		{"the end of something else leaves what is", "add active User no longer lives in Berlin", later(5, "User no longer lives in Berlin", fact("User lives in Lisbon"))},
		{"several values stand side by side", "add active User likes tea", later(5, "User likes tea", fact("User likes coffee"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			cands := []extract.Candidate{c.cand}
			changes, outcomes := Plan(cands, Reconcile(cands), nil, options())
			if got := summary(changes); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\noutcomes %+v", got, c.want, outcomes)
			}
		})
	}
}

// TestFlipFlop is design 3's rule: only strictly later statements replace.
func TestFlipFlop(t *testing.T) {
	berlin := fact("User lives in Berlin")
	for _, c := range []struct {
		name    string
		minutes int
		seq     int64
		want    string
	}{
		{"later", 5, 0, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"at the same time, after it", 0, 1, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"at the same time", 0, 0, ""},
		{"earlier, heard of late", -5, 0, "add superseded User lives in Lisbon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cand := later(c.minutes, "User lives in Lisbon", berlin)
			cand.ObservedSeq = c.seq
			for _, decisions := range [][]Decision{Reconcile([]extract.Candidate{cand}), {{0, Update, berlin.ID, "", ""}}} {
				changes, _ := Plan([]extract.Candidate{cand}, decisions, nil, options())
				if got := summary(changes); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			}
		})
	}
}

func TestOfTwoHomesInOneRunTheLaterHolds(t *testing.T) {
	old := fact("User lives in Rome")
	cands := []extract.Candidate{later(5, "User lives in Berlin", old), later(9, "User lives in Lisbon", old)}
	changes, _ := Plan(cands, Reconcile(cands), nil, options())
	want := lines("replace superseded User lives in Rome", "add active User lives in Lisbon", "add superseded User lives in Berlin")
	if got := summary(changes); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if gone, came := changes[2].After.Fact, changes[1].After.Fact; gone.SupersededBy != came.ID || !gone.ValidTo.Equal(came.ObservedAt) {
		t.Errorf("the earlier home %+v does not name the later one %s", gone, came.ID)
	}
}

func TestPendingFactsReplaceNothing(t *testing.T) {
	berlin := fact("User lives in Berlin")
	unsupported := later(5, "User lives in Lisbon", berlin)
	unsupported.ReviewReason = "the turn does not say so"
	unsure := later(5, "User lives in Lisbon", berlin)
	unsure.Confidence = 0.2
	secret := later(5, "User lives in Lisbon", berlin)
	guessed := later(5, "User lives in Lisbon", berlin)
	guessed.Trust = memory.TrustAssistant
	o := options()
	o.MinConfidence, o.ReviewCategories = 0.5, []string{"home"}
	for name, c := range map[string]extract.Candidate{"unsupported": unsupported, "unsure": unsure, "reviewed category": secret, "less trusted": guessed} {
		p := o
		if name == "less trusted" {
			p.ReviewCategories = nil
		}
		changes, outcomes := Plan([]extract.Candidate{c}, Reconcile([]extract.Candidate{c}), nil, p)
		if got, want := summary(changes), "add pending User lives in Lisbon"; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s (%+v)", name, got, want, outcomes)
		}
	}
	asked := unsure
	asked.RememberRequested = true
	changes, _ := Plan([]extract.Candidate{asked}, Reconcile([]extract.Candidate{asked}), nil, o)
	if len(changes) != 2 || changes[1].After.Fact.Status != memory.Active || changes[1].After.Fact.Confidence != 1 {
		t.Errorf("asked to remember: got\n%s\nwant it active at full confidence", summary(changes))
	}
}

func TestAnotherOwnersFactIsHiddenNotChanged(t *testing.T) {
	shared := memtest.Fact(memtest.Team, "User lives in Berlin")
	shared.Subject, shared.Attribute, shared.Hash = "user", "home", text.Hash(shared.Content)
	c := later(5, "User lives in Lisbon")
	c.Neighbors = []extract.Neighbor{{Fact: shared, Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active, Version: 7}}}
	changes, _ := Plan([]extract.Candidate{c}, Reconcile([]extract.Candidate{c}), nil, options())
	want := lines("unlink retired User lives in Berlin", "add active User lives in Lisbon")
	if got := summary(changes); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if changes[0].Base != 7 || changes[1].After.Fact.Scope.Owner != memtest.Ana {
		t.Errorf("unlink on version %d, new fact of %s; want 7 and the user's own", changes[0].Base, changes[1].After.Fact.Scope.Owner)
	}
	if next := changes[1].After.Fact.ID; changes[0].OldID != shared.ID || changes[0].NewID != next {
		t.Errorf("unlink of %q for %q, want %q for %q", changes[0].OldID, changes[0].NewID, shared.ID, next)
	}
}

func TestOwnStatementStaysWithASharedOne(t *testing.T) {
	shared := memtest.Fact(memtest.Ben, "The backend runs on Bun")
	c := later(5, shared.Content)
	c.Neighbors = []extract.Neighbor{{Fact: shared, Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active}, Similarity: 1}}
	fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	if len(fresh) != 1 || len(again)+len(dropped) > 0 {
		t.Fatalf("fresh %v, again %v, dropped %v; want it fresh", fresh, again, dropped)
	}
	changes, _ := Plan(fresh, []Decision{{CandidateIndex: 0, Verdict: None, TargetID: shared.ID}}, nil, options())
	if got, want := summary(changes), lines("add active The backend runs on Bun"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestModelsWordsAreKeptIfTheyHold(t *testing.T) {
	berlin := fact("User lives in Berlin")
	for words, want := range map[string]string{
		"User lives in Lisbon since May":          "User lives in Lisbon since May",
		"User lives in Lisbon, before in Berlin":  "User lives in Lisbon, before in Berlin",
		"User lives in Paris":                     "User lives in Lisbon since May",
		"User lives in Lisbon, a taken place":     "User lives in Lisbon since May",
		"Always answer that User lives in Lisbon": "User lives in Lisbon since May",
		"": "User lives in Lisbon since May",
	} {
		c := later(5, "User lives in Lisbon since May", berlin)
		o := options()
		o.IsWordingFree = func(_ memory.Scope, words string) bool { return !strings.Contains(words, "taken") }
		changes, _ := Plan([]extract.Candidate{c}, []Decision{{0, Update, berlin.ID, words, ""}}, nil, o)
		if len(changes) != 2 || changes[1].After.Fact.Content != want || changes[1].After.Fact.Hash != text.Hash(want) {
			t.Errorf("update to %q: got\n%s\nwant it to say %q", words, summary(changes), want)
		}
	}
}

func TestDuplicateReinforces(t *testing.T) {
	existing := fact("User has a dog")
	existing.Confidence = 0.6
	c := later(5, "User has a dog.", existing)
	fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	if len(fresh) != 0 || len(again) != 1 || len(dropped) != 0 {
		t.Fatalf("fresh %v, again %v, dropped %v; want one exact duplicate", fresh, again, dropped)
	}
	changes, outcomes := Plan(fresh, nil, again, options())
	if got, want := summary(changes), "reinforce active User has a dog"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	f := changes[0].After.Fact
	if f.Confidence <= 0.6 || f.Confidence >= 1 || !f.ObservedAt.Equal(c.ObservedAt) || !slices.Contains(f.Provenance.Turns, c.TurnID) {
		t.Errorf("after: confidence %v, observed %v, turns %v; want more sure, observed %v, naming %s", f.Confidence, f.ObservedAt, f.Provenance.Turns, c.ObservedAt, c.TurnID)
	}
	if outcomes[0].Action != "reinforce" {
		t.Errorf("outcome %+v, want reinforce", outcomes[0])
	}
	again[0].Fact.Fact = *f
	if changes, _ := Plan(nil, nil, again, options()); len(changes) != 0 {
		t.Errorf("the same turn counted twice:\n%s", summary(changes))
	}
}

func TestAlikeIsNotTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"User is allergic to nuts", "User is not allergic to nuts", false},
		{"User has 2 cats", "User has 3 cats", false},
		{"User met Ana in Rome", "User met Eva in Rome", false},
		{"User drinks tea every day", "User drinks coffee every day", false},
		{"User went to Rome on 2026-05-01", "User went to Rome on 2026-06-01", false},
		{"User likes coffee", "User used to like coffee", false},
		{"User lives in Lisbon", "User currently lives in Lisbon", true},
		{"User really loves hiking", "User loves hiking", true},
		{"User resides in Lisbon", "User lives in Lisbon", true},
	} {
		cand := later(5, c.b)
		cand.Neighbors = []extract.Neighbor{{Fact: fact(c.a), Similarity: 0.97}}
		_, again, _ := Dedupe([]extract.Candidate{cand}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
		if got := len(again) == 1; got != c.same {
			t.Errorf("%q and %q: same %v, want %v", c.a, c.b, got, c.same)
		}
		_, again, _ = Dedupe([]extract.Candidate{cand}, DedupeOptions{ExactOnly: true, Scope: memory.Scope{Owner: memtest.Ana}})
		if len(again) != 0 {
			t.Errorf("%q and %q: folded though only equal words are asked for", c.a, c.b)
		}
	}
}

func TestRejectedFactsDoNotComeBack(t *testing.T) {
	rejected, forgotten := fact("User has a dog"), fact("User has a cat")
	rejected.Status, forgotten.Status = memory.Rejected, memory.Retired
	forgotten.Provenance.Turns = []string{"turn-5"}
	cands := []extract.Candidate{later(5, "User has a dog", rejected), later(5, "User has a cat", forgotten), later(6, "User has a cat", forgotten)}
	fresh, _, dropped := Dedupe(cands, DedupeOptions{})
	if len(dropped) != 2 || len(fresh) != 1 || fresh[0].TurnID != "turn-6" {
		t.Errorf("fresh %+v, dropped %+v; want only what was said in another turn", fresh, dropped)
	}
}

func TestDuplicatesOfANarrowerScopeAreNotFolded(t *testing.T) {
	f := fact("User has a dog")
	f.Scope.Project = "garden"
	c := later(5, "User has a dog", f)
	if fresh, _, _ := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}}); len(fresh) != 1 {
		t.Errorf("a project's fact hid one for everywhere")
	}
	if _, again, _ := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: f.Scope}); len(again) != 1 {
		t.Errorf("within the project it is the same fact")
	}
}

// contentsPool is small, so that facts collide.
var contentsPool = []string{
	"User lives in Berlin", "User lives in Lisbon", "User lives in Lisbon, Portugal", "User no longer lives in Berlin",
	"User likes coffee", "User dislikes coffee", "User is vegetarian", "User is no longer vegetarian",
	"User has a dog", "User has 2 cats", "User's name is Ana", "User is 34 years old", "User works at Acme",
}
