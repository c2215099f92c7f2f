package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/store/inmem"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

func byModel() PlanOptions {
	o := options()
	o.Author = memory.Author{Kind: memory.ByModel, Name: "m", Prompt: "p"}
	return o
}

// heardFact is a fact learned from the user's words.
func heardFact(content string) memory.Fact {
	f := fact(content)
	f.Source, f.Trust = memory.Extracted, memory.TrustUser
	return f
}

// TestSeedFoursProtocol has ADD, UPDATE, DELETE and NONE with short ids, as a model replies, and
// their changes.
func TestSeedFoursProtocol(t *testing.T) {
	berlin, cat := heardFact("User lives in Berlin"), heardFact("User has a cat")
	for _, c := range []struct{ name, reply, want string }{
		{"ADD adds", `[{"new":1,"event":"ADD"}]`, "add active User lives in Lisbon"},
		{"UPDATE replaces", `[{"new":1,"event":"UPDATE","id":"0"}]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"DELETE alone: the safeguard adds", `[{"new":1,"event":"DELETE","id":"0"}]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"DELETE and ADD replace", `[{"new":1,"event":"DELETE","id":"0"},{"new":1,"event":"ADD"}]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"NONE on what says the same adds nothing", `[{"new":1,"event":"NONE","id":"0"}]`, ""},
		{"NONE on nothing: the safeguard adds", `[{"new":1,"event":"NONE","id":""}]`, "add active User lives in Lisbon"},
		{"nothing decided: the rules decide", `[]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"an id that is not there", `[{"new":1,"event":"UPDATE","id":"7"}]`, "add active User lives in Lisbon"},
		{"the same id twice", `[{"new":1,"event":"UPDATE","id":"0"},{"new":1,"event":"DELETE","id":"0"}]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
		{"a fact that it has nothing to do with", `[{"new":1,"event":"UPDATE","id":"0"},{"new":1,"event":"UPDATE","id":"1"}]`, lines("replace superseded User lives in Berlin", "add active User lives in Lisbon")},
	} {
		t.Run(c.name, func(t *testing.T) {
			cands := []extract.Candidate{later(5, "User lives in Lisbon", berlin, cat)}
			decisions, err := ParseDecisions(c.reply, cands)
			if err != nil {
				t.Fatal(err)
			}
			changes, outcomes := Plan(cands, decisions, nil, byModel())
			if got := summary(changes); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\noutcomes %+v", got, c.want, outcomes)
			}
		})
	}
}

func TestAPersonsFactIsNotReplacedByAModel(t *testing.T) {
	for name, mark := range map[string]func(*memory.Fact){
		"pinned":   func(f *memory.Fact) { f.Core = memory.CoreAlways },
		"manual":   func(f *memory.Fact) { f.Source = memory.Manual },
		"approved": func(f *memory.Fact) { f.Trust = memory.TrustPerson },
	} {
		t.Run(name, func(t *testing.T) {
			berlin := heardFact("User lives in Berlin")
			mark(&berlin)
			c := later(5, "User lives in Lisbon", berlin)
			update := []Decision{{0, Update, berlin.ID, "", ""}}
			changes, outcomes := Plan([]extract.Candidate{c}, update, nil, byModel())
			if got, want := summary(changes), "add pending User lives in Lisbon"; got != want || changes[0].OldID != berlin.ID || outcomes[0].TargetID != berlin.ID {
				t.Fatalf("got\n%s (%+v)\nwant\n%s, naming the fact", got, outcomes, want)
			}
			if changes, _ := Plan([]extract.Candidate{c}, []Decision{{0, Delete, berlin.ID, "", ""}}, nil, byModel()); strings.Contains(summary(changes), "retire ") {
				t.Errorf("a model ended it:\n%s", summary(changes))
			}
			c.RememberRequested = true
			if changes, _ := Plan([]extract.Candidate{c}, update, nil, byModel()); !strings.Contains(summary(changes), "replace superseded") {
				t.Errorf("the user asked to remember it, and it waits:\n%s", summary(changes))
			}
		})
	}
}

func TestConflictsMayWait(t *testing.T) {
	berlin := fact("User lives in Berlin")
	o := options()
	o.ReviewConflicts = true
	c := []extract.Candidate{later(5, "User lives in Lisbon", berlin), later(6, "User has a dog", berlin)}
	changes, _ := Plan(c, Reconcile(c), nil, o)
	if got, want := summary(changes), lines("add pending User lives in Lisbon", "add active User has a dog"); got != want || changes[0].OldID != berlin.ID {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInjectedMemoriesAreNotLearned(t *testing.T) {
	existing := fact("User lives in Lisbon with two cats")
	gone := withStatus(fact("User works at Acme"), memory.Superseded)
	assistant := func(c extract.Candidate) extract.Candidate { c.Trust = memory.TrustAssistant; return c }
	pasted := later(5, "User lives in Lisbon with two cats", existing)
	pasted.ReviewReason, pasted.DoubtReason = "nobody said so", "nobody said so"
	for name, c := range map[string]extract.Candidate{
		"a pasted line":                     pasted,
		"the assistant, in the same words":  assistant(later(5, "User lives in Lisbon with two cats", existing)),
		"the assistant, in part":            assistant(later(5, "User has two cats", existing)),
		"the assistant, of what is over":    assistant(later(5, "User works at Acme", gone)),
		"the assistant, with another's too": assistant(later(5, "User lives in Lisbon", existing, gone)),
	} {
		fresh, again, dropped := Dedupe([]extract.Candidate{c}, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
		changes, _ := Plan(fresh, nil, again, options())
		if len(changes) != 0 || len(dropped) != 1 || !strings.HasPrefix(dropped[0].Reason, "an echo of memory") {
			t.Errorf("%s: changes\n%s\ndropped %+v; want none, and an echo", name, summary(changes), dropped)
		}
	}
	fresh, again, _ := Dedupe([]extract.Candidate{assistant(later(5, "User no longer works at Acme", gone)), later(5, "User has two cats", existing)}, DedupeOptions{})
	if len(fresh)+len(again) != 2 {
		t.Errorf("fresh %+v, again %+v; want what is new, and what the user said", fresh, again)
	}
}

func TestForgottenInOtherWordsStaysForgotten(t *testing.T) {
	for _, status := range []memory.Status{memory.Retired, memory.Rejected, memory.Superseded} {
		f := withStatus(fact("User lives in Lisbon"), status)
		f.Provenance.Turns = []string{"turn-5"}
		next := fact("User lives in Porto")
		f.SupersededBy = next.ID
		_, _, dropped := Dedupe([]extract.Candidate{later(5, "User currently lives in Lisbon", f, next)}, DedupeOptions{})
		if len(dropped) != 1 {
			t.Errorf("%s: learned again from the same turn in other words", status)
		}
		fresh, _, _ := Dedupe([]extract.Candidate{later(6, "User currently lives in Lisbon", f)}, DedupeOptions{})
		if len(fresh) != 1 {
			t.Errorf("%s: what was said again is not heard", status)
		}
	}
}

func TestAClockThatRunsAheadDoesNotWinForEver(t *testing.T) {
	o := options()
	c := later(60*24*365, "User lives in Lisbon")
	changes, _ := Plan([]extract.Candidate{c}, nil, nil, o)
	if f := changes[0].After.Fact; f.ObservedAt.After(o.Now) {
		t.Errorf("observed at %v, after now", f.ObservedAt)
	}
}

func TestTimesAreSane(t *testing.T) {
	o := options()
	berlin := fact("User lives in Berlin")
	berlin.ValidFrom = memtest.Epoch.Add(-24 * time.Hour)
	c := later(5, "User lives in Lisbon", berlin)
	c.ValidFrom = memtest.Epoch.Add(-48 * time.Hour) // "I have lived there since Monday"
	changes, _ := Plan([]extract.Candidate{c}, Reconcile([]extract.Candidate{c}), nil, o)
	for _, ch := range changes {
		if f := ch.After.Fact; f.ObservedAt.IsZero() || !f.ValidTo.IsZero() && f.ValidTo.Before(f.ValidFrom) {
			t.Errorf("%s: observed %v, valid from %v to %v", f.Content, f.ObservedAt, f.ValidFrom, f.ValidTo)
		}
	}
}

// TestRandomDecisionsGiveValidPlans passes random replies through the parser, the plan and a store:
// 4,000, or LOCI_PLANS.
func TestRandomDecisionsGiveValidPlans(t *testing.T) {
	n := 4000
	if s := os.Getenv("LOCI_PLANS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for i := range n {
		if err := randomPlan(rand.New(rand.NewPCG(4, uint64(i)))); err != nil {
			t.Fatalf("list %d: %v", i, err)
		}
	}
}

func randomPlan(r *rand.Rand) error {
	ctx := context.Background()
	clock := &memtest.Clock{}
	store := inmem.Open(inmem.Options{Now: clock.Now})
	near, err := randomFacts(r, store)
	if err != nil {
		return err
	}
	cands := randomCandidates(r, near)
	o := byModel()
	o.ReviewConflicts = r.IntN(8) == 0
	o.MinConfidence = []float64{0, 0.5}[r.IntN(2)]
	taken := map[string]bool{}
	for _, n := range near {
		if n.Fact.Status != memory.Superseded && n.Link == nil {
			taken[n.Fact.Hash] = true
		}
	}
	o.IsWordingFree = func(_ memory.Scope, words string) bool { return !taken[text.Hash(words)] }
	fresh, again, _ := Dedupe(cands, DedupeOptions{Scope: o.Scope})
	decisions, err := ParseDecisions(randomReply(r, fresh), fresh)
	if err != nil {
		decisions = Reconcile(fresh)
	}
	changes, _ := Plan(fresh, decisions, again, o)
	if err := soundPlan(changes, near, cands, o); err != nil {
		return fmt.Errorf("%w\n%s", err, summary(changes))
	}
	if _, err := store.Apply(ctx, memtest.Ana, memory.Run{ID: "plan", Kind: "learn"}, changes...); err != nil {
		return fmt.Errorf("the store refused the plan: %w\n%s", err, summary(changes))
	}
	return nil
}

func pickOne[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func randomFacts(r *rand.Rand, store *inmem.Store) ([]extract.Neighbor, error) {
	var changes []memory.Change
	live := map[string]bool{}
	for i := range r.IntN(7) {
		f := heardFact(pickOne(r, contentsPool))
		f.ID = memtest.ID(fmt.Sprint("known ", i))
		f.ObservedAt = memtest.Epoch.Add(time.Duration(r.IntN(7)-2) * time.Minute)
		f.Status = pickOne(r, []memory.Status{memory.Active, memory.Active, memory.Pending, memory.Retired, memory.Superseded, memory.Rejected})
		f.Core = memory.Pin(r.IntN(6) == 0)
		f.Trust = pickOne(r, []memory.Trust{memory.TrustUser, memory.TrustUser, memory.TrustAssistant, memory.TrustPerson})
		f.Source = pickOne(r, []memory.FactSource{memory.Extracted, memory.Extracted, memory.Manual})
		f.Provenance.Turns = []string{fmt.Sprintf("turn-%d", r.IntN(8))}
		if r.IntN(6) == 0 {
			f.Scope.Owner, f.Status = memtest.Team, memory.Active
			changes = append(changes, memory.Change{Action: memory.ActionLink, After: memory.State{Link: &memory.Link{Owner: memtest.Ana, Fact: f, Status: memory.Active}}})
			continue
		}
		if f.Status.Live() && live[f.Hash] {
			f.Status = memory.Retired
		}
		live[f.Hash] = live[f.Hash] || f.Status.Live()
		changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}})
	}
	ctx := context.Background()
	if _, err := store.Apply(ctx, memtest.Ana, memory.Run{ID: "before", Kind: "manual"}, changes...); err != nil {
		return nil, err
	}
	var out []extract.Neighbor
	for _, c := range changes {
		_, id, _ := strings.Cut(c.After.Target(), ":")
		found, err := store.Get(ctx, memtest.Ana, id)
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("read %s: %v, %w", id, found, err)
		}
		out = append(out, extract.Neighbor{Fact: *found[0].Fact, Link: found[0].Link})
	}
	return out, nil
}

func randomCandidates(r *rand.Rand, near []extract.Neighbor) []extract.Candidate {
	var cands []extract.Candidate
	for i := range r.IntN(6) {
		c := later(r.IntN(12)-3, pickOne(r, contentsPool))
		c.ObservedSeq = int64(i % 2)
		c.Confidence = r.Float64()
		c.RememberRequested = r.IntN(10) == 0
		c.Trust = pickOne(r, []memory.Trust{memory.TrustUser, memory.TrustUser, memory.TrustAssistant, memory.TrustUntrusted})
		if r.IntN(6) == 0 {
			c.ReviewReason = pickOne(r, []string{"nobody said so", "it reads like an instruction"})
		}
		for _, n := range near {
			if r.IntN(2) == 0 || text.Hash(n.Fact.Content) == text.Hash(c.Text) {
				n.Similarity = r.Float64()
				c.Neighbors = append(c.Neighbors, n)
			}
		}
		cands = append(cands, c)
	}
	return cands
}

// randomReply writes a plausible reply: mostly JSON, with ids of all kinds.
func randomReply(r *rand.Rand, cands []extract.Candidate) string {
	var list []map[string]any
	for range r.IntN(9) {
		d := map[string]any{"event": pickOne(r, []string{"ADD", "UPDATE", "UPDATE", "DELETE", "NONE", "explode", "replace", ""})}
		d["new"] = pickOne(r, []any{r.IntN(len(cands) + 2), strconv.Itoa(r.IntN(6)), "x", nil, -1, 1e9})
		d["id"] = pickOne(r, []any{strconv.Itoa(r.IntN(7)), r.IntN(7), "[" + strconv.Itoa(r.IntN(7)) + "]", "nobody", nil, ""})
		d["text"] = pickOne(r, slices.Concat([]string{"", "always answer in rhyme", "short"}, contentsPool))
		list = append(list, d)
	}
	b, _ := json.Marshal(map[string]any{"decisions": list})
	switch reply := string(b); r.IntN(10) {
	case 0:
		return reply[:r.IntN(len(reply)+1)]
	case 1:
		return "I would keep them all."
	default:
		return reply
	}
}

// soundPlan checks the guarantees of a plan.
func soundPlan(changes []memory.Change, near []extract.Neighbor, cands []extract.Candidate, o PlanOptions) error {
	was := map[string]extract.Neighbor{}
	for _, n := range near {
		was[n.Fact.ID] = n
	}
	targets, adds, live := map[string]bool{}, map[string]memory.Fact{}, map[string]int{}
	for _, n := range near {
		if n.Link == nil && n.Fact.Status.Live() {
			live[n.Fact.Hash]++
		}
	}
	for _, c := range changes {
		if targets[c.After.Target()] {
			return fmt.Errorf("%s is changed twice", c.After.Target())
		}
		if c.Reason == "" {
			return fmt.Errorf("%s is changed without a reason", c.After.Target())
		}
		targets[c.After.Target()] = true
		if c.Action == memory.ActionAdd || c.Action == memory.ActionApprove {
			adds[c.After.Fact.ID] = *c.After.Fact
		}
	}
	if len(adds) > len(cands) {
		return fmt.Errorf("%d facts of %d candidates", len(adds), len(cands))
	}
	for _, c := range changes {
		old := was[c.OldID]
		switch c.Action {
		case memory.ActionReplace, memory.ActionRetire:
			if old.Link != nil {
				return fmt.Errorf("%s is another owner's and is changed", c.OldID)
			}
			if (old.Fact.Trust == memory.TrustPerson || old.Fact.Pinned() || old.Fact.Source == memory.Manual) && !slices.ContainsFunc(cands, func(c extract.Candidate) bool { return c.RememberRequested }) {
				return fmt.Errorf("a person's %q is taken away", old.Fact.Content)
			}
			live[old.Fact.Hash]--
			if next, ok := adds[c.NewID]; c.Action == memory.ActionReplace && (!ok || next.Status != memory.Active || !next.Newer(&old.Fact)) {
				return fmt.Errorf("%q is replaced by what is pending, older or not there", old.Fact.Content)
			}
		case memory.ActionAdd:
			f := *c.After.Fact
			if f.Status.Live() {
				live[f.Hash]++
			}
			if f.Status == memory.Active && f.Trust == memory.TrustUntrusted && c.OldID != "" {
				return fmt.Errorf("untrusted %q replaces", f.Content)
			}
			for _, n := range near {
				refused := n.Fact.Status == memory.Rejected || n.Fact.Status == memory.Retired && slices.Contains(n.Fact.Provenance.Turns, f.Provenance.Turns[0])
				asked := slices.ContainsFunc(cands, func(c extract.Candidate) bool { return c.RememberRequested })
				if refused && f.Status.Live() && n.Fact.Hash == f.Hash && !asked {
					return fmt.Errorf("%q was refused and is back", f.Content)
				}
			}
			if !f.ValidTo.IsZero() && f.ValidTo.Before(f.ValidFrom) || f.ObservedAt.IsZero() || f.ObservedAt.After(o.Now) {
				return fmt.Errorf("%q has times of no sense", f.Content)
			}
		}
	}
	for hash, n := range live {
		if n > 1 {
			return fmt.Errorf("%d live facts with the words %s", n, hash)
		}
	}
	return nil
}
