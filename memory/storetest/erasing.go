package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// eraseRules hold of stores that are a [memory.Eraser].
var eraseRules = []rule{
	{"EraseRemovesWords", eraseRemovesWords},
	{"EraseOnceAndOfTheOwner", eraseOnceAndOfTheOwner},
	{"EraseLeavesNoTraceOfBefore", eraseLeavesNoTraceOfBefore},
	{"TracesAreErasedByOwnerAndByMemory", tracesAreErasedByOwnerAndByMemory},
	{"TracesOfWhatIsErasedMeanwhileAreNotWritten", tracesOfWhatIsErasedMeanwhile},
	{"WhatIsOutOfRecallIsKnownAgain", whatIsOutOfRecallIsKnownAgain},
}

// erase erases what must be erased; it skips the test of a store that cannot.
func (r *rig) erase(owner memory.Owner, run memory.Run, ids ...string) memory.Receipt {
	r.Helper()
	e, ok := r.Store.(memory.Eraser)
	if !ok {
		r.Skip("this store erases nothing")
	}
	receipt, err := e.Erase(r.Context(), owner, run, ids...)
	if err != nil {
		r.Fatalf("erase %q: %v", ids, err)
	}
	return receipt
}

// secretWord stands in all that the rules erase, and nowhere else.
const secretWord = "marzipan"

func eraseRemovesWords(r *rig) {
	other := r.add(ana, "Ana plays chess")[0]
	fact := memtest.Fact(ana, "Ana likes marzipan")
	fact.Category, fact.Tags, fact.Subject, fact.Attribute = "marzipan", []string{"marzipan"}, "marzipan", "taste:marzipan"
	fact.Scope.Project, fact.Scope.Agent = "marzipan bakery", "marzipan cook"
	fact.Metadata = json.RawMessage(`{"a":"marzipan"}`)
	batch := memtest.Batch(ana, "c", 0, "I like  marzipan", "Marzipan it is", "and chess")
	batch.Conversation.Title = "I like marzipan"
	for i := range batch.Turns[:2] {
		batch.Turns[i].Project, batch.Turns[i].Agent, batch.Turns[i].Given = fact.Scope.Project, fact.Scope.Agent, "marzipan"
	}
	batch.Vectors = []memory.Vector{memtest.Vector(batch.Turns[0].ID, "marzipan")}
	fact.Provenance = memory.Provenance{Conversation: "c", Turns: []string{batch.Turns[0].ID}, Quote: &memory.Span{Turn: batch.Turns[0].ID, End: 4}}
	summary := memtest.Summary(ana, "c", "marzipan")
	summary.Scope.Project = fact.Scope.Project
	link := memtest.Link(ana, memtest.Fact(team, "Team likes marzipan"))
	entry := memtest.Profile(ana, "marzipan", "marzipan")
	r.append(ana, batch)
	run := r.run()
	run.Vectors = []memory.Vector{memtest.Vector(fact.ID, fact.Content), memtest.Vector(other.ID, other.Content)}
	first := r.applyRun(ana, run, memtest.Add(fact), memtest.Change(memory.ActionAdd, summary), memtest.Change(memory.ActionLink, link), memtest.Change(memory.ActionAdd, entry))
	reworded := fact
	reworded.Content, reworded.Hash = "Ana loves marzipan", memtest.Hash("Ana loves marzipan")
	edited := memtest.Change(memory.ActionUpdate, reworded)
	edited.Reason = "marzipan again"
	r.apply(ana, edited)
	about := memtest.Change(memory.ActionUpdate, other)
	about.OldID, about.Reason = fact.ID, "marzipan is not a game"
	r.apply(ana, about)
	quoting := memtest.Change(memory.ActionUpdate, other)
	quoting.Author, quoting.Reason = memory.Author{Kind: memory.ByModel, Name: "m"}, "she likes marzipan better"
	ruled := memtest.Change(memory.ActionUpdate, other)
	ruled.Author, ruled.Reason = memory.Author{Kind: memory.ByRule, Name: "r"}, "said again"
	r.apply(ana, quoting, ruled)
	modelRun := r.run()
	modelRun.Author = memory.Author{Kind: memory.ByModel, Name: "m"}
	quoting.Author = memory.Author{}
	r.applyRun(ana, modelRun, quoting)
	before := r.version(ana)

	erasing := memory.Run{ID: "erase", Kind: "erase", Author: memtest.Person, Jobs: []memory.Job{memtest.Job(ana, memory.JobSummarize, "anew")}}
	ids := []string{fact.ID, batch.Turns[0].ID, batch.Turns[1].ID, summary.ID, link.Fact.ID, fact.ID}
	erased := append(ids, entry.Key)
	receipt := r.erase(ana, erasing, erased...)
	if receipt.Changes != 6 || receipt.Version != before+1 || receipt.Again || r.version(ana) != before+1 {
		r.Errorf("receipt %+v after version %d; want six changes and one version more", receipt, before)
	}

	wantFact, wantTurn := *memory.Image{Fact: &reworded}.Erased("erase").Fact, batch.Turns[0].Erased()
	wantFact.Status, wantFact.UpdatedAt, wantFact.Version = memory.Retired, receipt.At, receipt.Version
	r.same("what is left of the fact", r.fact(ana, fact.ID), wantFact)
	gotTurn := *r.get(ana, batch.Turns[0].ID)[0].Turn
	wantTurn.Status, wantTurn.Version, wantTurn.RecordedAt = memory.Retired, receipt.Version, gotTurn.RecordedAt
	r.same("what is left of the turn", gotTurn, wantTurn)
	for _, m := range r.get(ana, ids...) {
		if m.Content() != "" || m.Status() != memory.Retired {
			r.Errorf("%s %s is %s and says %q, want it retired without words", m.Kind(), m.ID(), m.Status(), m.Content())
		}
	}
	for _, asOf := range []time.Time{{}, first.At} {
		q := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}, Text: secretWord, At: memory.At{AsOf: asOf},
			Statuses: []memory.Status{memory.Active, memory.Retired}}
		r.lists("what has the word", ana, q)
		for _, t := range r.turns(ana, memory.TurnQuery{Conversation: "c", AsOf: asOf, Statuses: []memory.Status{memory.Active, memory.Retired}}) {
			r.lacksWord("turn", t)
		}
	}
	changes := r.changes(ana, memory.ChangeQuery{})
	for _, c := range changes {
		r.lacksWord("change "+c.ID, c)
	}
	var targets []string
	for _, c := range r.changes(ana, memory.ChangeQuery{Run: "erase"}) {
		targets = append([]string{c.After.Target()}, targets...)
		if c.Action != memory.ActionErase || c.Before.IsZero() || c.After.Status() != memory.Retired || c.Author != memtest.Person {
			r.Errorf("journalled %+v; want an erase by %v that retires", c, memtest.Person)
		}
	}
	r.same("journalled in order", targets, []string{"fact:" + fact.ID, "turn:" + batch.Turns[0].ID, "turn:" + batch.Turns[1].ID, "summary:" + summary.ID, "link:" + link.Fact.ID, "profile:" + memory.ErasedKey("erase", entry.Key)})
	if left, err := r.Profile(r.Context(), ana, memory.At{}); err != nil || len(left) != 0 {
		r.Errorf("the profile: %+v, %v; want nothing in it", left, err)
	}
	if kept := r.changes(ana, memory.ChangeQuery{Action: memory.ActionUpdate}); !slices.ContainsFunc(kept, func(c memory.Change) bool { return c.Reason == ruled.Reason }) {
		r.Errorf("the journal lacks the rule's reason %q", ruled.Reason)
	}
	for _, c := range r.changes(ana, memory.ChangeQuery{Run: run.ID}) {
		if c.At != first.At || c.Author == (memory.Author{}) {
			r.Errorf("%s is of %v by %v; want its time and its author to stay", c.ID, c.At, c.Author)
		}
	}
	if title := r.conversation("c").Title; title != "" {
		r.Errorf("the title is %q, want none", title)
	}
	if n := r.conversation("c").MessageCount; n != 1 {
		r.Errorf("the conversation counts %d messages, want the one that is left", n)
	}
	items, _ := r.since(ana, 0)
	r.same("what an index is told", itemIDs(items), []string{batch.Turns[2].ID, other.ID})
	_, err := r.Since(r.Context(), ana, model, before, func(memory.Item) error { return nil })
	r.wantCode("since before", err, memory.Gone)
	if items, _ := r.since(ana, receipt.Version); len(items) != 0 {
		r.Errorf("since then: %d items, want none", len(items))
	}
	r.same("the job that follows", len(r.jobs(ana)), 1)
	r.refuse("bringing it back", memory.Invalid, ana, memtest.Change(memory.ActionErase, other))
}

// lacksWord checks that nothing of a value has the word that was erased.
func (r *rig) lacksWord(what string, v any) {
	r.Helper()
	data, err := json.Marshal(v)
	if r.must("marshal", err); strings.Contains(strings.ToLower(string(data)), secretWord) {
		r.Errorf("%s still says %s: %s", what, secretWord, data)
	}
}

func eraseOnceAndOfTheOwner(r *rig) {
	mine, his := r.add(ana, "Ana likes marzipan")[0], r.add(ben, "Ben likes marzipan")[0]
	run := memory.Run{ID: "erase", Kind: "erase", Author: memtest.Person}
	first := r.erase(ana, run, mine.ID, his.ID, "nothing")
	r.same("his stays", r.fact(ben, his.ID), his)
	if first.Changes != 1 {
		r.Errorf("receipt %+v, want one change", first)
	}
	again := r.erase(ana, run, his.ID)
	first.Again = true
	r.same("the same run again", again, first)
	if other := r.erase(ana, memory.Run{ID: "other", Kind: "erase"}, mine.ID); other.Changes != 0 || other.Version != first.Version || r.version(ana) != first.Version {
		r.Errorf("what was erased before: receipt %+v, want no change at version %d", other, first.Version)
	}
	if fresh := r.add(ana, "Ana likes marzipan after all")[0]; fresh.Content == "" {
		r.Error("what is written later has no words")
	}
	e := r.Store.(memory.Eraser)
	_, err := e.Erase(r.Context(), "nobody", run, mine.ID)
	r.wantCode("nobody", err, memory.Invalid)
	_, err = e.Erase(r.Context(), ana, memory.Run{}, mine.ID)
	r.wantCode("a run without an id", err, memory.Invalid)
}

func eraseLeavesNoTraceOfBefore(r *rig) {
	fact := r.add(ana, "Ana likes marzipan")[0]
	trace := func(owner memory.Owner, id string) memory.Trace {
		return memory.Trace{ID: id, Owner: owner, Question: secretWord, At: memory.Time(r.clock.Now())}
	}
	late := trace(ana, "late")
	r.must("save", r.SaveTraces(r.Context(), 9, trace(ana, "mine"), trace(ben, "his")))
	r.erase(ana, r.run(), fact.ID)
	r.must("save", r.SaveTraces(r.Context(), 9, late, trace(ana, "new")))
	for id, owner := range map[string]memory.Owner{"mine": ana, "late": ana} {
		_, err := r.Trace(r.Context(), owner, id)
		r.wantCode("the trace "+id, err, memory.NotFound)
	}
	for id, owner := range map[string]memory.Owner{"new": ana, "his": ben} {
		_, err := r.Trace(r.Context(), owner, id)
		r.must("the trace "+id, err)
	}
}

func tracesOfWhatIsErasedMeanwhile(r *rig) {
	own, stays := memtest.Fact(team, "Team likes "+secretWord), memtest.Fact(team, "Team likes tea")
	link := memtest.Link(team, memtest.Fact(ana, "Ana likes "+secretWord))
	r.apply(team, memtest.Add(own), memtest.Add(stays), memtest.Change(memory.ActionLink, link))
	r.erase(team, r.run(), own.ID, link.Fact.ID)
	shows := func(id string, kind memory.Kind, content string, of memory.Owner) memory.Trace {
		return memory.Trace{ID: id + " of " + string(of), Owner: ben, At: memory.Time(r.clock.Now()), Hits: []memory.TraceHit{
			{ID: stays.ID, Kind: memory.KindFact, Content: stays.Content, Owner: team}, {ID: id, Kind: kind, Content: content, Owner: of},
		}}
	}
	for want, traces := range map[bool][]memory.Trace{
		false: {shows(own.ID, memory.KindFact, secretWord, team), shows(link.Fact.ID, memory.KindFact, secretWord, team)},
		true: {
			shows(stays.ID, memory.KindFact, "tea", team), shows(own.ID, memory.KindFact, "", team), shows(own.ID, memory.KindTurn, "tea", team),
			shows(own.ID, memory.KindFact, "tea", ana), shows(own.ID, memory.KindFact, "tea", ben), shows(own.ID, memory.KindFact, "tea", ""),
		},
	} {
		for i, t := range traces {
			t.ID += string(rune('a' + i))
			r.must("save", r.SaveTraces(r.Context(), 9, t))
			if _, err := r.Trace(r.Context(), ben, t.ID); (err == nil) != want {
				r.Errorf("the trace %+v: %v, want it there: %v", t.Hits, err, want)
			}
		}
	}
}

func tracesAreErasedByOwnerAndByMemory(r *rig) {
	e, ok := r.Store.(memory.Eraser)
	if !ok {
		r.Skip("this store erases nothing")
	}
	cy := memory.User("elsewhere", "cy")
	hit := func(id string, kind memory.Kind, content string) []memory.TraceHit {
		return []memory.TraceHit{{ID: "other", Kind: memory.KindFact, Content: "other", Owner: team}, {ID: id, Kind: kind, Content: content, Owner: team}}
	}
	save := func() {
		for _, t := range []memory.Trace{
			{ID: "x", Owner: ana, Hits: hit("%_", memory.KindFact, secretWord), Cut: hit("x", memory.KindFact, "")},
			{ID: "quoted", Owner: ana, Hits: hit(`q"\`, memory.KindFact, secretWord)},
			{ID: "shown", Owner: ben, Hits: hit("x", memory.KindFact, secretWord)},
			{ID: "turn", Owner: ben, Hits: hit("x", memory.KindTurn, secretWord), Question: `{"id":"x","kind":"fact","content":"`},
			{ID: "wordless", Owner: ben, Hits: hit("x", memory.KindFact, "")},
			{ID: "own", Owner: team, Hits: hit("x", memory.KindFact, secretWord)},
			{ID: "far", Owner: cy, Hits: hit("x", memory.KindFact, secretWord)},
		} {
			t.At = memtest.Epoch
			r.must("save", r.SaveTraces(r.Context(), 9, t))
		}
	}
	left := func(what string, removed, wantRemoved int, want ...string) {
		r.Helper()
		var got []string
		for _, o := range []memory.Owner{ana, ben, cy, team} {
			traces, err := r.Traces(r.Context(), o, memory.TraceQuery{})
			r.must("traces", err)
			for _, t := range traces {
				got = append(got, t.ID)
			}
		}
		if r.same(what, got, want); removed != wantRemoved {
			r.Errorf("%s: %d were removed, want %d", what, removed, wantRemoved)
		}
	}
	save()
	before := r.version(ana)
	of := func(namespace string, facts ...string) int {
		r.Helper()
		n, err := e.EraseTracesOf(r.Context(), namespace, facts...)
		r.must("erase traces of facts", err)
		return n
	}
	all := func(owner memory.Owner) int {
		r.Helper()
		n, err := e.EraseTraces(r.Context(), owner)
		r.must("erase all traces", err)
		return n
	}
	left("of nothing", of(memory.DefaultNamespace), 0, "x", "quoted", "wordless", "turn", "shown", "far", "own")
	left("of what none has", of(memory.DefaultNamespace, "nothing", "_%", "X"), 0, "x", "quoted", "wordless", "turn", "shown", "far", "own")
	left("of one", of(memory.DefaultNamespace, "%_"), 1, "quoted", "wordless", "turn", "shown", "far", "own")
	left("of two", of(memory.DefaultNamespace, `q"\`, "x"), 2, "wordless", "turn", "far", "own")
	save()
	many := make([]string, 100)
	for i := range many {
		many[i] = "id" + strings.Repeat("y", i)
	}
	left("in another namespace", of("elsewhere", append(many, "x")...), 1, "x", "quoted", "wordless", "turn", "shown", "own")
	left("all of one owner", all(ben), 3, "x", "quoted", "own")
	left("again", all(ben), 0, "x", "quoted", "own")
	if r.version(ana) != before {
		r.Errorf("the version is %d, want %d", r.version(ana), before)
	}
	_, err := e.EraseTraces(r.Context(), "nobody")
	r.wantCode("nobody", err, memory.Invalid)
}

func whatIsOutOfRecallIsKnownAgain(r *rig) {
	store, ok := r.Store.(memory.Tombstones)
	if !ok {
		r.Skip("this store knows nothing again")
	}
	batch := memtest.Batch(ana, "c", 0, "I like tea.", "Noted.", "I like marzipan", "I see.", "I like chess")
	batch.Turns[4].Status = memory.Retired
	r.append(ana, batch)
	hidden := memory.Turn{ID: "hidden", Role: memory.RoleUser, Content: "I like whisky"}
	r.must("bury", store.Bury(r.Context(), ana, hidden, hidden, memory.Turn{ID: "none"}))
	mark := func(status memory.Status) {
		r.apply(ana, memory.Change{Action: memory.ActionUpdate, After: memory.Image{Turn: &memory.TurnMark{ID: batch.Turns[0].ID, Status: status}}})
	}
	buried := func(owner memory.Owner, what string, want ...bool) {
		r.Helper()
		var said []memory.Turn
		for _, words := range []string{"i like  TEA", "I like marzipan.", "I like chess", "I like whisky!", "", "I like rain"} {
			said = append(said, memory.Turn{Role: memory.RoleUser, Content: words})
		}
		said = append(said, memory.Turn{Role: memory.RoleAssistant, Content: "I like whisky"})
		got, err := store.Buried(r.Context(), owner, said...)
		r.must("look for what was said", err)
		r.same(what, got, append(want, make([]bool, len(said)-len(want))...))
	}
	buried(ana, "at first", false, false, true, true)
	mark(memory.Retired)
	r.erase(ana, memory.Run{ID: "erase", Kind: "erase", Author: memtest.Person}, batch.Turns[2].ID)
	buried(ana, "forgotten and erased", true, true, true, true)
	mark(memory.Active)
	buried(ana, "and back", false, true, true, true)
	buried(ben, "of somebody else")
}
