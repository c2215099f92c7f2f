package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
	"pgregory.net/rapid"
)

// later is a candidate of the user's, said some minutes after [memtest.Epoch].
func later(minutes int, content string, near ...memory.Fact) extract.Candidate {
	c := extract.Candidate{
		Text: content, Confidence: 0.9, Turn: fmt.Sprintf("turn-%d", minutes), Trust: memory.TrustUser,
		ObservedAt: memtest.Epoch.Add(time.Duration(minutes) * time.Minute),
	}
	c = extract.Classified(c)
	for _, f := range near {
		c.Near = append(c.Near, extract.Neighbour{Fact: f, Similarity: 0.7})
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

// told says changes as a line each: "replace superseded User lives in Berlin".
func told(changes []memory.Change) string {
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
			if got := told(changes); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\noutcomes %+v", got, c.want, outcomes)
			}
		})
	}
}

// TestFlipFlop is design 3's rule: only what was said strictly later replaces.
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
				if got := told(changes); got != c.want {
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
	if got := told(changes); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if gone, came := changes[2].After.Fact, changes[1].After.Fact; gone.SupersededBy != came.ID || !gone.ValidTo.Equal(came.ObservedAt) {
		t.Errorf("the earlier home %+v does not name the later one %s", gone, came.ID)
	}
}

func TestSafeguardAddsWhatNothingRepeats(t *testing.T) {
	cat := fact("User has a cat")
	cands := []extract.Candidate{later(5, "User has a dog", cat), later(6, "User has one cat", cat)}
	none := []Decision{{0, None, "", "", "not needed"}, {1, None, cat.ID, "", "known"}}
	changes, _ := Plan(cands, none, nil, options())
	if got, want := told(changes), "add active User has a dog"; got != want {
		t.Errorf("after NONE for all got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatWaitsReplacesNothing(t *testing.T) {
	berlin := fact("User lives in Berlin")
	unsupported := later(5, "User lives in Lisbon", berlin)
	unsupported.Waits = "the turn does not say so"
	unsure := later(5, "User lives in Lisbon", berlin)
	unsure.Confidence = 0.2
	secret := later(5, "User lives in Lisbon", berlin)
	guessed := later(5, "User lives in Lisbon", berlin)
	guessed.Trust = memory.TrustAssistant
	o := options()
	o.MinConfidence, o.Review = 0.5, []string{"home"}
	for name, c := range map[string]extract.Candidate{"unsupported": unsupported, "unsure": unsure, "reviewed category": secret, "less trusted": guessed} {
		p := o
		if name == "less trusted" {
			p.Review = nil
		}
		changes, outcomes := Plan([]extract.Candidate{c}, Reconcile([]extract.Candidate{c}), nil, p)
		if got, want := told(changes), "add pending User lives in Lisbon"; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s (%+v)", name, got, want, outcomes)
		}
	}
	asked := unsure
	asked.Remember = true
	changes, _ := Plan([]extract.Candidate{asked}, Reconcile([]extract.Candidate{asked}), nil, o)
	if len(changes) != 2 || changes[1].After.Fact.Status != memory.Active || changes[1].After.Fact.Confidence != 1 {
		t.Errorf("asked to remember: got\n%s\nwant it active at full confidence", told(changes))
	}
}

func TestAnotherOwnersFactIsHiddenNotChanged(t *testing.T) {
	shared := memtest.Fact(memtest.Team, "User lives in Berlin")
	shared.Subject, shared.Attribute, shared.Hash = "user", "home", text.Hash(shared.Content)
	c := later(5, "User lives in Lisbon")
	c.Near = []extract.Neighbour{{Fact: shared, Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active, Version: 7}}}
	changes, _ := Plan([]extract.Candidate{c}, Reconcile([]extract.Candidate{c}), nil, options())
	want := lines("unlink retired User lives in Berlin", "add active User lives in Lisbon")
	if got := told(changes); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if changes[0].Base != 7 || changes[1].After.Fact.Scope.Owner != memtest.Ana {
		t.Errorf("unlink on version %d, new fact of %s; want 7 and the user's own", changes[0].Base, changes[1].After.Fact.Scope.Owner)
	}
	if next := changes[1].After.Fact.ID; changes[0].OldID != shared.ID || changes[0].NewID != next {
		t.Errorf("unlink of %q for %q, want %q for %q", changes[0].OldID, changes[0].NewID, shared.ID, next)
	}
}

func TestOwnStatementStaysBesideASharedOne(t *testing.T) {
	shared := memtest.Fact(memtest.Ben, "The backend runs on Bun")
	c := later(5, shared.Content)
	c.Near = []extract.Neighbour{{Fact: shared, Link: &memory.Link{Owner: memtest.Ana, Fact: shared, Status: memory.Active}, Similarity: 1}}
	fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	if len(fresh) != 1 || len(again)+len(dropped) > 0 {
		t.Fatalf("fresh %v, again %v, dropped %v; want it fresh", fresh, again, dropped)
	}
	changes, _ := Plan(fresh, []Decision{{Candidate: 0, Verdict: None, Target: shared.ID}}, nil, options())
	if got, want := told(changes), lines("add active The backend runs on Bun"); got != want {
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
		o.Free = func(_ memory.Scope, words string) bool { return !strings.Contains(words, "taken") }
		changes, _ := Plan([]extract.Candidate{c}, []Decision{{0, Update, berlin.ID, words, ""}}, nil, o)
		if len(changes) != 2 || changes[1].After.Fact.Content != want || changes[1].After.Fact.Hash != text.Hash(want) {
			t.Errorf("update to %q: got\n%s\nwant it to say %q", words, told(changes), want)
		}
	}
}

func TestDuplicateReinforces(t *testing.T) {
	known := fact("User has a dog")
	known.Confidence = 0.6
	c := later(5, "User has a dog.", known)
	fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	if len(fresh) != 0 || len(again) != 1 || len(dropped) != 0 || !again[0].Exact {
		t.Fatalf("fresh %v, again %v, dropped %v; want one exact duplicate", fresh, again, dropped)
	}
	changes, outcomes := Plan(fresh, nil, again, options())
	if got, want := told(changes), "reinforce active User has a dog"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	f := changes[0].After.Fact
	if f.Confidence <= 0.6 || f.Confidence >= 1 || !f.ObservedAt.Equal(c.ObservedAt) || !slices.Contains(f.Provenance.Turns, c.Turn) {
		t.Errorf("after: confidence %v, observed %v, turns %v; want more sure, observed %v, naming %s", f.Confidence, f.ObservedAt, f.Provenance.Turns, c.ObservedAt, c.Turn)
	}
	if outcomes[0].Action != "reinforce" {
		t.Errorf("outcome %+v, want reinforce", outcomes[0])
	}
	again[0].Known.Fact = *f
	if changes, _ := Plan(nil, nil, again, options()); len(changes) != 0 {
		t.Errorf("the same turn counted twice:\n%s", told(changes))
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
		cand.Near = []extract.Neighbour{{Fact: fact(c.a), Similarity: 0.97}}
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

func TestWhatWasRefusedDoesNotComeBack(t *testing.T) {
	rejected, forgotten := fact("User has a dog"), fact("User has a cat")
	rejected.Status, forgotten.Status = memory.Rejected, memory.Retired
	forgotten.Provenance.Turns = []string{"turn-5"}
	cands := []extract.Candidate{later(5, "User has a dog", rejected), later(5, "User has a cat", forgotten), later(6, "User has a cat", forgotten)}
	fresh, _, dropped := Dedupe(cands, DedupeOptions{})
	if len(dropped) != 2 || len(fresh) != 1 || fresh[0].Turn != "turn-6" {
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

// contentsPool makes colliding facts likely.
var contentsPool = []string{
	"User lives in Berlin", "User lives in Lisbon", "User lives in Lisbon, Portugal", "User no longer lives in Berlin",
	"User likes coffee", "User dislikes coffee", "User is vegetarian", "User is no longer vegetarian",
	"User has a dog", "User has 2 cats", "User's name is Ana", "User is 34 years old", "User works at Acme",
}

// TestPlanIsTotal: whatever the decisions say, a store takes the plan.
func TestPlanIsTotal(t *testing.T) {
	for range 10 { // of rapid's hundred each; -rapid.checks=1000 makes it ten thousand
		rapid.Check(t, planIsTotal)
	}
}

func planIsTotal(t *rapid.T) {
	ctx := context.Background()
	clock := &memtest.Clock{}
	store := inmem.Open(inmem.Options{Now: clock.Now})
	near := populate(t, store)
	var cands []extract.Candidate
	for i := range rapid.IntRange(0, 5).Draw(t, "candidates") {
		c := later(rapid.IntRange(-3, 8).Draw(t, "minutes"), rapid.SampledFrom(contentsPool).Draw(t, "content"))
		c.ObservedSeq = int64(i % 2)
		c.Remember = rapid.IntRange(0, 9).Draw(t, "remember") == 0
		c.Trust = rapid.SampledFrom([]memory.Trust{memory.TrustUser, memory.TrustUser, memory.TrustAssistant}).Draw(t, "trust")
		if rapid.IntRange(0, 5).Draw(t, "waits") == 0 {
			c.Waits = "it is doubtful"
		}
		for _, n := range near {
			if rapid.Bool().Draw(t, "near") || text.Hash(n.Fact.Content) == text.Hash(c.Text) {
				n.Similarity = rapid.Float64Range(0, 1).Draw(t, "similarity")
				c.Near = append(c.Near, n)
			}
		}
		cands = append(cands, c)
	}
	o := options()
	o.Free = func(_ memory.Scope, words string) bool {
		page, err := store.List(ctx, memtest.Ana, memory.Query{Hash: text.Hash(words), Statuses: []memory.Status{memory.Active, memory.Pending}})
		return err == nil && len(page.Memories) == 0
	}
	fresh, again, _ := Dedupe(cands, DedupeOptions{Scope: o.Scope})
	changes, outcomes := Plan(fresh, drawDecisions(t, len(fresh), near), again, o)
	checkPlan(t, changes, near)
	if len(outcomes) < len(again) {
		t.Fatalf("%d outcomes for %d duplicates", len(outcomes), len(again))
	}
	if _, err := store.Apply(ctx, memtest.Ana, memory.Run{ID: "plan", Kind: "learn"}, changes...); err != nil {
		t.Fatalf("the store refused the plan: %v\n%s", err, told(changes))
	}
}

// populate writes facts and links and returns them as neighbours, as read back.
func populate(t *rapid.T, store *inmem.Store) []extract.Neighbour {
	ctx := context.Background()
	var changes []memory.Change
	live := map[string]bool{}
	for i := range rapid.IntRange(0, 6).Draw(t, "known") {
		content := rapid.SampledFrom(contentsPool).Draw(t, "known content")
		f := fact(content)
		f.ID = memtest.ID(fmt.Sprint("known ", i))
		f.ObservedAt = memtest.Epoch.Add(time.Duration(rapid.IntRange(-2, 4).Draw(t, "observed")) * time.Minute)
		f.Status = rapid.SampledFrom([]memory.Status{memory.Active, memory.Active, memory.Pending, memory.Retired, memory.Superseded, memory.Rejected}).Draw(t, "status")
		if rapid.IntRange(0, 5).Draw(t, "linked") == 0 {
			f.Scope.Owner, f.Status = memtest.Team, memory.Active
			changes = append(changes, memory.Change{Action: memory.ActionLink, After: memory.Image{Link: &memory.Link{Owner: memtest.Ana, Fact: f, Status: memory.Active}}})
			continue
		}
		if f.Status.Live() && live[f.Hash] {
			f.Status = memory.Retired
		}
		live[f.Hash] = live[f.Hash] || f.Status.Live()
		changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}})
	}
	if _, err := store.Apply(ctx, memtest.Ana, memory.Run{ID: "before", Kind: "manual"}, changes...); err != nil {
		t.Fatal(err)
	}
	return readBack(t, store, changes)
}

func readBack(t *rapid.T, store *inmem.Store, changes []memory.Change) []extract.Neighbour {
	var out []extract.Neighbour
	for _, c := range changes {
		_, id, _ := strings.Cut(c.After.Target(), ":")
		found, err := store.Get(context.Background(), memtest.Ana, id)
		if err != nil || len(found) != 1 {
			t.Fatalf("read %s: %v, %v", id, found, err)
		}
		out = append(out, extract.Neighbour{Fact: *found[0].Fact, Link: found[0].Link})
	}
	return out
}

func drawDecisions(t *rapid.T, cands int, near []extract.Neighbour) []Decision {
	var out []Decision
	for range rapid.IntRange(0, 8).Draw(t, "decisions") {
		d := Decision{
			Candidate: rapid.IntRange(-2, cands+1).Draw(t, "candidate"),
			Verdict:   rapid.SampledFrom([]extract.Verdict{Add, Update, Update, Delete, None, "explode"}).Draw(t, "verdict"),
			Target:    rapid.SampledFrom([]string{"", "nobody"}).Draw(t, "nonsense"),
			Text:      rapid.SampledFrom(append([]string{"", "always answer in rhyme", "short"}, contentsPool...)).Draw(t, "words"),
		}
		if len(near) > 0 && rapid.IntRange(0, 4).Draw(t, "valid") > 0 {
			d.Target = rapid.SampledFrom(near).Draw(t, "target").Fact.ID
		}
		out = append(out, d)
	}
	return out
}

// checkPlan holds a plan to its promises, whatever the store says.
func checkPlan(t *rapid.T, changes []memory.Change, near []extract.Neighbour) {
	was := map[string]memory.Fact{}
	for _, n := range near {
		was[n.Fact.ID] = n.Fact
	}
	targets := map[string]bool{}
	added := map[string]*memory.Fact{}
	for _, c := range changes {
		if target := c.After.Target(); targets[target] {
			t.Fatalf("%s is changed twice:\n%s", target, told(changes))
		} else {
			targets[target] = true
		}
		if c.Reason == "" {
			t.Fatalf("a change without a reason:\n%s", told(changes))
		}
		if c.Action == memory.ActionAdd || c.Action == memory.ActionApprove {
			added[c.After.Fact.ID] = c.After.Fact
		}
	}
	for _, c := range changes {
		if c.Action != memory.ActionReplace {
			continue
		}
		next, old := added[c.NewID], was[c.OldID]
		if next == nil || next.Status != memory.Active {
			t.Fatalf("%s is replaced by %q, which is not added as active:\n%s", c.OldID, c.NewID, told(changes))
		}
		if !next.Newer(&old) {
			t.Fatalf("%q (%v/%d) replaces %q (%v/%d) without being newer", next.Content, next.ObservedAt, next.ObservedSeq, old.Content, old.ObservedAt, old.ObservedSeq)
		}
	}
}
