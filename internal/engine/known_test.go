package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// changing is a model that corrects what it is shown: it replaces a fact whose id stands in
// its prompt, and adds what should replace one that does not.
type changing struct {
	changes []change
	shown   int
	tokens  int
}

type batch struct {
	Turns   []string
	Changes []change
}

type change struct{ Old, New, Quote string }

var shownFact = regexp.MustCompile(`(?m)^\[(k\d+)\] (?:\(\S+\) )?(.+)$`)

func (m *changing) Complete(_ context.Context, p memory.Prompt) (memory.Reply, error) {
	id := map[string]string{}
	for _, k := range shownFact.FindAllStringSubmatch(p.User, -1) {
		id[k[2]] = k[1]
		m.tokens += len(k[0]) / 4
	}
	ops := []map[string]any{}
	for _, c := range m.changes {
		op := map[string]any{"op": "add", "ids": []string{}, "text": c.New, "quote": c.Quote, "about": "user", "lasting": true}
		if known := id[c.Old]; known != "" {
			op["op"], op["ids"] = "replace", []string{known}
			m.shown++
		}
		ops = append(ops, op)
	}
	b, err := json.Marshal(map[string]any{"ops": ops})
	return memory.Reply{Text: string(b), Model: "changing"}, err
}

// otherFacts are invented facts of other people and things, in words that talk has too.
func otherFacts(n int) []string {
	people := []string{"cousin Milo", "aunt Zelda", "uncle Ben", "niece Ada", "nephew Kim", "neighbour Olga", "colleague Yusuf", "boss Henrike", "friend Tariq", "brother Stellan", "sister Ines", "grandmother", "flatmate Wim", "coach Lotte", "dentist", "landlord", "piano teacher", "father-in-law", "godson Piet", "ex-colleague Rhea"}
	things := []string{"has a flat with a green kitchen", "drives to work on Mondays", "drinks tea with milk", "eats no dairy", "sings in a choir on Wednesdays", "has a cat that eats dry food", "works at a garage", "uses a MacBook", "watches films on Netflix", "went on holiday to Skye in May", "takes a thyroid medicine", "walks 5,000 steps a day", "pays 700 rent", "turned 40 in January", "wants a puppy", "has a desk in the bedroom", "bakes pancakes at the weekend", "moved to Glasgow", "plans a trip by train on Friday", "likes long answers"}
	var out []string
	for i := range n {
		out = append(out, "User's "+people[i%len(people)]+" "+things[i/len(people)%len(things)])
	}
	return out
}

// TestKnownFactsAreReplaced has people change what is known of them, beside other facts that
// are known, and a model that corrects what it is shown (testdata/changes.json).
func TestKnownFactsAreReplaced(t *testing.T) {
	b := try(os.ReadFile("testdata/changes.json")).orFail(t)
	var batches []batch
	noError(t)(json.Unmarshal(b, &batches))
	var long []batch // the same in lessons of some 16 turns
	for part := range slices.Chunk(batches, 4) {
		var all batch
		for _, b := range part {
			all.Turns, all.Changes = append(all.Turns, b.Turns...), append(all.Changes, b.Changes...)
		}
		long = append(long, all)
	}
	for _, c := range []struct {
		others, least int
		batches       []batch
	}{{0, 23, batches}, {60, 23, batches}, {400, 21, batches}, {0, 23, long}, {60, 22, long}, {400, 19, long}} {
		if partly && c.others != 60 {
			continue
		}
		if n := replacedBeside(t, c.others, c.batches); n < c.least {
			t.Errorf("%d of 24 facts are replaced beside %d others, want %d", n, c.others, c.least)
		}
	}
}

// replacedBeside tells batches of turns beside so many other facts, and returns how many of their
// changes are made.
func replacedBeside(t *testing.T, others int, batches []batch) (won int) {
	t.Helper()
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	r.clock.Advance(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC).Sub(r.Time()))
	model := &changing{}
	r.LLM = model
	var facts []string // those that change are the oldest
	for _, batch := range batches {
		for _, c := range batch.Changes {
			facts = append(facts, c.Old)
		}
	}
	facts = append(facts, otherFacts(others)...)
	var notes []memory.Change
	for i, words := range facts {
		f := memory.Fact{ID: fmt.Sprintf("fact-%04d", i), Scope: memory.Scope{Owner: ana}, Content: words, Confidence: 1, Status: memory.Active, Source: memory.Extracted, Trust: memory.TrustUser,
			ObservedAt: r.Time().AddDate(0, 0, -30), CreatedAt: r.Time(), UpdatedAt: r.Time(), Model: "changing", Hash: text.Hash(words)}
		c := extract.WithClassification(extract.Candidate{Text: words})
		f.Subject, f.Attribute, f.Category = c.Subject, c.Attribute, c.Category
		notes = append(notes, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}, NewID: f.ID, Author: memory.Author{Kind: memory.ByModel, Name: "changing"}})
	}
	noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: "before", Kind: "learn"}, notes...))
	all := 0
	for i, batch := range batches {
		model.changes = batch.Changes
		var said []exchange.Message
		for _, words := range batch.Turns {
			said = append(said, exchange.Message{Role: memory.RoleUser, Content: words}, exchange.Message{Role: memory.RoleAssistant, Content: "Sure."})
		}
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: fmt.Sprint("c", i), Learn: true, Messages: said}))
		noError(t)(r.work(ctx))
		r.clock.Advance(time.Hour)
		all += len(batch.Changes)
	}
	is := map[string]memory.Status{}
	every := memory.Query{Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired}}
	noError(t)(r.EachMemory(ctx, ana, every, func(m memory.Memory) { is[m.Content()] = m.Fact.Status }))
	for _, batch := range batches {
		for _, c := range batch.Changes {
			if is[c.Old] == memory.Superseded && is[c.New] == memory.Active {
				won++
			} else {
				t.Logf("beside %d: %q is %q, %q is %q", others, c.Old, is[c.Old], c.New, is[c.New])
			}
		}
	}
	t.Logf("%d lessons beside %d others: %d of %d are shown, %d replaced; %d tokens a lesson", len(batches), others, model.shown, all, won, model.tokens/len(batches))
	return won
}
