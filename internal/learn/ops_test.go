package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// knownForOps are facts under the names k1 to k6.
func knownForOps() []memory.Fact {
	var out []memory.Fact
	for i, s := range []string{
		"User meets Priya on 2026-01-07", "User works at a bakery", "User lives in Berlin", "User has a dog named Rex", "User plays the cello", "Mateo is vegan",
	} {
		f := fact(s)
		f.ID = fmt.Sprint("fact-", i+1)
		f.Source, f.Trust, f.Core = memory.Extracted, memory.TrustUser, memory.CoreAuto
		f.Scope = memory.Scope{Owner: memtest.Ana}
		f.Subject = strings.ToLower(strings.Fields(s)[0])
		out = append(out, f)
	}
	return out
}

func saidForOps(words ...string) []extract.Utterance {
	var turns []memory.Turn
	for i, w := range words {
		turns = append(turns, memtest.Turn(memtest.Ana, "C", 2*i, memory.RoleUser, w))
	}
	return Guard(turns, GuardOptions{})
}

// TestOperationsDecideWhatReplacesWhat takes replies through to a plan, as the engine does.
func TestOperationsDecideWhatReplacesWhat(t *testing.T) {
	for _, c := range []struct{ name, message, reply, want string }{
		{"a correction without a noun", "actually no, it's Thursday",
			`{"ops":[{"op":"replace","ids":["k1"],"text":"User meets Priya on 2026-01-08","quote":"actually no, it's Thursday","about":"user","lasting":false}]}`,
			"replace fact-1; add User meets Priya on 2026-01-08"},
		{"what is over", "nvm quit the bakery today!!",
			`{"ops":[{"op":"end","ids":["k2"],"text":"User quit the bakery on 2026-01-05","quote":"quit the bakery today","about":"user","lasting":true}]}`,
			"replace fact-2; add User quit the bakery on 2026-01-05"},
		{"other words for what was known", "we moved to Lisbon",
			`{"ops":[{"op":"replace","ids":["k3"],"text":"User moved to Lisbon","quote":"we moved to Lisbon","about":"user","lasting":true}]}`,
			"replace fact-3; add User moved to Lisbon"},
		{"two facts at once", "forget berlin and the cello, I live in Rome and play nothing",
			`{"ops":[{"op":"replace","ids":["k3","k5"],"text":"User lives in Rome and plays nothing","quote":"I live in Rome and play nothing","about":"user","lasting":true}]}`,
			"replace fact-3; replace fact-5; add User lives in Rome and plays nothing"},
		{"four of six facts, each by a quote of its own", "I live in Rome now, work at a bank, play the oboe, and mateo eats fish",
			`{"ops":[{"op":"replace","ids":["k3"],"text":"User lives in Rome","quote":"I live in Rome now","about":"user"},{"op":"replace","ids":["k2"],"text":"User works at a bank","quote":"work at a bank","about":"user"},{"op":"replace","ids":["k5"],"text":"User plays the oboe","quote":"play the oboe","about":"user"},{"op":"replace","ids":["k6"],"text":"Mateo eats fish","quote":"mateo eats fish","about":"Mateo"}]}`,
			"replace fact-2; replace fact-3; replace fact-5; replace fact-6; add User lives in Rome; add User works at a bank; add User plays the oboe; add Mateo eats fish"},
		{"what is known", "Rex my dog says hi",
			`{"ops":[{"op":"same","ids":["k4"],"text":"","quote":"Rex my dog","about":"Rex","lasting":true}]}`,
			"reinforce fact-4"},
		{"a fact of another subject stays", "I eat meat again",
			`{"ops":[{"op":"replace","ids":["k6"],"text":"User eats meat again","quote":"I eat meat again","about":"user","lasting":true}]}`,
			"add User eats meat again"},
		{"a correction of what the same reply says", "my flight is on 2026-02-01. sorry, 2026-02-02",
			`{"ops":[{"op":"add","ids":[],"text":"User's flight is on 2026-02-01","quote":"my flight is on 2026-02-01","about":"user"},{"op":"replace","ids":[],"text":"User's flight is on 2026-02-02","quote":"sorry, 2026-02-02","about":"user"}]}`,
			"add User's flight is on 2026-02-02"},
		{"facts without operations", "I moved to Lisbon",
			`{"facts":[{"text":"User lives in Lisbon","quote":"I moved to Lisbon","subject":"user","attribute":"home"}]}`,
			"replace fact-3; add User lives in Lisbon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := planOf(t, saidForOps(c.message), c.reply); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// planOf returns the plan for a reply, or the error of reading it.
func planOf(t *testing.T, utterances []extract.Utterance, reply string) string {
	t.Helper()
	return planOn(t, knownForOps(), utterances, reply)
}

// planOn is [planOf] with other facts.
func planOn(t *testing.T, facts []memory.Fact, utterances []extract.Utterance, reply string) string {
	t.Helper()
	for i := range utterances {
		for _, f := range facts {
			utterances[i].StoredMemories = append(utterances[i].StoredMemories, f.Content)
		}
	}
	cands, err := ParseFacts(reply)
	if err == nil {
		cands, err = ValidateOperations(cands, utterances, facts)
	}
	if err != nil {
		if !errors.Is(err, memory.Invalid) {
			t.Fatalf("%v is not invalid", err)
		}
		return "unreadable"
	}
	cands, _ = Filter(cands, utterances)
	for i := range cands {
		for _, f := range facts {
			f.ObservedAt = utterances[0].Turn.CreatedAt.AddDate(0, 0, -7)
			cands[i].Neighbors = append(cands[i].Neighbors, extract.Neighbor{Fact: f})
		}
	}
	fresh, again, _ := Dedupe(cands, DedupeOptions{Scope: memory.Scope{Owner: memtest.Ana}})
	n := 0
	changes, _ := Plan(fresh, Reconcile(fresh), again, PlanOptions{
		Now: utterances[0].Turn.CreatedAt.AddDate(0, 0, 1), NewID: func() string { n++; return fmt.Sprint("new-", n) }, Scope: memory.Scope{Owner: memtest.Ana}, Author: memory.Author{Kind: memory.ByModel, Name: "m"},
	})
	var out []string
	for _, ch := range changes {
		switch f := ch.After.Fact; ch.Action {
		case memory.ActionAdd:
			if f.Status != memory.Active {
				out = append(out, string(f.Status))
			}
			out = append(out, "add "+f.Content)
		default:
			out = append(out, string(ch.Action)+" "+f.ID)
		}
	}
	return strings.Join(out, "; ")
}

// TestPoorRepliesMakeAValidPlanOrNone has replies of careless and broken models.
func TestPoorRepliesMakeAValidPlanOrNone(t *testing.T) {
	op := func(op, ids, text, quote string) string {
		return fmt.Sprintf(`{"op":%q,"ids":[%s],"text":%q,"quote":%q,"about":"user","lasting":true}`, op, ids, text, quote)
	}
	ops := func(list ...string) string { return `{"ops":[` + strings.Join(list, ",") + `]}` }
	good := op("add", "", "User sails on the Tagus", "I sail on the Tagus")
	var every, all []string
	for i := range 30 {
		every = append(every, op("add", "", fmt.Sprintf("User said sentence number %d about the weather", i), ""))
	}
	for i := range 6 {
		all = append(all, op("end", fmt.Sprintf("%q", fmt.Sprint("k", i+1)), fmt.Sprintf("That thing %d is over for User", i), "I sail"))
	}
	for _, c := range []struct{ name, reply, want string }{
		{"ids that do not exist", ops(op("replace", `"k99","zz"`, "User sails on the Tagus", "I sail on the Tagus")), "add User sails on the Tagus"},
		{"an end of nothing says what is over", ops(op("end", `"k99"`, "User no longer sails on lakes", "I sail on the Tagus")), "pending; add User no longer sails on lakes"},
		{"an end without words", ops(op("end", `"k2"`, "", "I sail")), ""},
		{"everything ends", ops(all...), "unreadable"},
		{"one operation ends everything", ops(op("replace", `"k1","k2","k3","k4","k5"`, "User sails on the Tagus", "I sail on the Tagus")), "unreadable"},
		{"one operation a thousand times", ops(slices.Repeat([]string{good}, 1000)...), "add User sails on the Tagus"},
		{"a quote that nobody said ends nothing", ops(op("replace", `"k2"`, "User sails on the Tagus", "I quit my job")), "add User sails on the Tagus"},
		{"cut in the middle of a text", `{"ops":[` + good + `,{"op":"replace","ids":["k2"],"text":"User works at a shi`, "add User sails on the Tagus"},
		{"cut before a quote", `{"ops":[` + good + `,{"op":"replace","ids":["k2"],"text":"User works at a shipyard now"`, "add User sails on the Tagus"},
		{"prose", "Sure! The user seems to enjoy sailing on the Tagus, and has a nice dog.", "unreadable"},
		{"prose in another language", "Natürlich! Der Nutzer segelt gern auf dem Tejo.\nMehr ist nicht bekannt.", "unreadable"},
		{"bullets", "- User sails on the Tagus\n- User is happy", "unreadable"},
		{"half JSON", `{"ops":[{"op":"add","ids":[],"te`, "unreadable"},
		{"JSON with prose around", "Here you go:\n```json\n" + ops(good) + "\n```\nAnything else?", "add User sails on the Tagus"},
		{"an echo of the prompt's example", ops(op("add", "", "User's nephew Ozwick plays the zither", "my nephew Ozwick plays the zither")), ""},
		{"a fact for every sentence", ops(every...), "unreadable"},
		{"no operations", `{"ops":[]}`, ""},
		{"an operation that is none", ops(op("rewrite", `"k2"`, "User sails on the Tagus", "I sail on the Tagus")), "add User sails on the Tagus"},
		{"ids that are one word", `{"ops":[{"op":"REPLACE","ids":"[k2]","text":"User left the bakery to sail","quote":"I sail on the Tagus"}]}`, "replace fact-2; add User left the bakery to sail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := planOf(t, saidForOps("I sail on the Tagus", "and I like it"), c.reply); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRefusedReplyKeepsWhatHoldsAlone has one quote that ends five facts and one that ends one.
func TestRefusedReplyKeepsWhatHoldsAlone(t *testing.T) {
	cands, err := ParseFacts(`{"ops":[{"op":"end","ids":["k1","k2","k3","k4","k5"],"text":"All is over for User","quote":"I sail"},{"op":"replace","ids":["k6"],"text":"Mateo eats fish","quote":"mateo eats fish"},{"op":"add","text":"User sails","quote":"I sail"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := ValidateOperations(cands, saidForOps("I sail and mateo eats fish"), knownForOps())
	if !errors.Is(err, memory.Invalid) || len(alone) != 2 || alone[0].Text != "Mateo eats fish" || alone[1].Text != "User sails" {
		t.Errorf("%+v, %v, want what Mateo eats and that the user sails, and Invalid", alone, err)
	}
}

func TestPassingFactsExpire(t *testing.T) {
	c := extract.Candidate{Text: "User's mother visits on 2026-06-14", IsTransient: true, ObservedAt: monday}
	if got := expiryTime(c); !got.After(monday.AddDate(0, 2, 0)) || got.After(monday.AddDate(0, 4, 0)) {
		t.Errorf("expires at %v, want some weeks after the visit", got)
	}
	c.IsTransient = false
	if got := expiryTime(c); !got.IsZero() {
		t.Errorf("what lasts expires at %v", got)
	}
}

// TestModelsFactsGetACategory: models' operations have no category, and reviewed categories wait
// all the same.
func TestModelsFactsGetACategory(t *testing.T) {
	for fact, want := range map[string]string{
		"User takes levothyroxine 75 mcg":     "health",
		"User's sister has asthma":            "health",
		"User's mom can't climb stairs":       "family",
		"User handed in the notice at work":   "work",
		"User's flight to Oslo is on 3 March": "",
		"User drinks milk":                    "",
	} {
		utterances := saidForOps(strings.Replace(fact, "User's", "my", 1))
		kept, _ := Filter([]extract.Candidate{{Text: fact, Confidence: 1}}, utterances)
		if len(kept) != 1 || kept[0].Category != want {
			t.Errorf("%q: %+v, want category %q", fact, kept, want)
		}
	}
	utterances := saidForOps("on levothyroxine 75 mcg since may")
	kept, _ := Filter([]extract.Candidate{{Text: "User takes levothyroxine 75 mcg", Quote: "on levothyroxine 75 mcg", Confidence: 1}}, utterances)
	o := options()
	o.ReviewCategories = []string{"health"}
	changes, _ := Plan(kept, Reconcile(kept), nil, o)
	if len(changes) != 1 || changes[0].After.Fact.Status != memory.Pending {
		t.Errorf("%+v does not wait, want it pending", changes)
	}
}
