package storetest

import (
	"errors"
	"slices"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var sourceRules = []rule{
	{"SinceInOrderOrGone", sinceInOrderOrGone},
	{"SinceSkipsWhatIsHidden", sinceSkipsWhatIsHidden},
	{"SinceGivesVectorsOfTheModel", sinceGivesVectorsOfTheModel},
	{"SinceFollowsLateVectors", sinceFollowsLateVectors},
	{"SinceEndsWithYield", sinceEndsWithYield},
	{"VersionsInTheOrderAsked", versionsInTheOrderAsked},
	{"OwnersAreThoseWritten", ownersAreThoseWritten},
}

func sinceInOrderOrGone(r *rig) {
	one, two := r.add(ana, "one")[0], r.add(ana, "two")[0]
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	r.append(ana, b)
	summary := memtest.Summary(ana, "c", "greetings")
	link := memtest.Link(ana, memtest.Fact(team, "linked"))
	r.apply(ana, memtest.Change(memory.ActionAdd, summary), memtest.Change(memory.ActionLink, link), memtest.Change(memory.ActionAdd, memtest.Profile(ana, "k", "v")))
	one.Core = memory.CoreAlways
	last := r.apply(ana, memtest.Change(memory.ActionUpdate, one))

	items, version := r.since(ana, 0)
	r.same("snapshot of", version, last.Version)
	want := []string{two.ID, b.Turns[0].ID, b.Turns[1].ID, summary.ID, link.Fact.ID, one.ID}
	slices.Sort(want[1:3])
	slices.Sort(want[3:5])
	r.same("each once, by version and id", itemIDs(items), want)
	for _, i := range items {
		if i.Memory.ID() != i.ID || i.Removed {
			r.Errorf("item %s: got memory %s, removed %v; want the memory itself", i.ID, i.Memory.ID(), i.Removed)
		}
		r.same("item "+i.ID, i.Memory, r.get(ana, i.ID)[0])
	}
	for after := range last.Version + 1 {
		rest, _ := r.since(ana, after)
		r.same("continued", itemIDs(rest), itemIDs(slices.DeleteFunc(slices.Clone(items), func(i memory.Item) bool { return i.Version <= after })))
	}

	_, err := r.Since(r.Context(), ana, model, last.Version+1, func(memory.Item) error { return nil })
	r.wantCode("a version not reached yet", err, memory.Gone)
	_, err = r.Since(r.Context(), ben, model, 1, func(memory.Item) error { return nil })
	r.wantCode("a version of an owner never written", err, memory.Gone)
	if items, version := r.since(ben, 0); len(items) != 0 || version != 0 {
		r.Errorf("an owner never written: got %+v at %d, want nothing at 0", items, version)
	}
}

func itemIDs(items []memory.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.ID)
	}
	return out
}

func sinceSkipsWhatIsHidden(r *rig) {
	tea := r.add(ana, "tea", "milk")[0]
	pending := memtest.Fact(ana, "pending")
	pending.Status = memory.Pending
	b := memtest.Batch(ana, "c", 0, "hello", "", "well")
	r.append(ana, b)
	link, summary := memtest.Link(ana, memtest.Fact(team, "linked")), memtest.Summary(ana, "c", "summary")
	seen := r.apply(ana, memtest.Add(pending), memtest.Change(memory.ActionLink, link), memtest.Change(memory.ActionAdd, summary))
	items, _ := r.since(ana, 0)
	r.same("visible: two facts, two turns, a link and a summary", len(items), 6)

	fromHome := link
	fromHome.Fact.Status, summary.Status = memory.Retired, memory.Retired
	r.apply(ana, memtest.Retire(tea), memtest.TurnMark(memory.ActionUpdate, b.Turns[2].ID, memory.Replaced),
		memtest.Change(memory.ActionUpdate, fromHome), memtest.Change(memory.ActionRetire, summary))
	items, version := r.since(ana, seen.Version)
	want := []string{tea.ID, b.Turns[2].ID, link.Fact.ID, summary.ID}
	slices.Sort(want)
	r.same("gone", itemIDs(items), want)
	for _, i := range items {
		if !i.Removed || i.Memory.Kind() != "" || i.Vector != nil || i.Version != version {
			r.Errorf("what is gone: got %+v, want removed at %d and its id alone", i, version)
		}
	}
	items, _ = r.since(ana, 0)
	r.same("visible from the start: a fact and a turn", len(items), 2)
	r.apply(ana, memtest.Change(memory.ActionRestore, tea), memtest.Change(memory.ActionApprove, func() memory.Fact {
		pending.Status = memory.Active
		return pending
	}()))
	items, _ = r.since(ana, version)
	want = []string{tea.ID, pending.ID}
	slices.Sort(want)
	r.same("come back and approved", itemIDs(items), want)
}

func sinceGivesVectorsOfTheModel(r *rig) {
	fact, turn, linked := memtest.Fact(ana, "Ana drinks tea"), memtest.Turn(ana, "c", 0, memory.RoleUser, "I drink tea"), memtest.Fact(team, "Standup at ten")
	summary, without := memtest.Summary(ana, "c", "tea"), memtest.Fact(ana, "no vector")
	other := memtest.Vector(fact.ID, "other words")
	other.Model = "another model"
	run := r.run()
	run.Vectors = []memory.Vector{
		memtest.Vector(fact.ID, fact.Content), memtest.Vector(linked.ID, linked.Content), memtest.Vector(summary.ID, summary.Text),
		other, memtest.Vector("nobody", "nothing"),
	}
	r.applyRun(ana, run, memtest.Add(fact), memtest.Add(without),
		memtest.Change(memory.ActionLink, memtest.Link(ana, linked)), memtest.Change(memory.ActionAdd, summary))
	r.append(ana, memory.Batch{
		Conversation: memtest.Conversation(ana, "c"), Turns: []memory.Turn{turn},
		Vectors: []memory.Vector{memtest.Vector(turn.ID, turn.Content)},
	})
	want := map[string][]float32{
		fact.ID: memtest.Embed(fact.Content), linked.ID: memtest.Embed(linked.Content), summary.ID: memtest.Embed(summary.Text),
		turn.ID: memtest.Embed(turn.Content), without.ID: nil,
	}
	r.same("vectors of the model", r.vectors(ana, model), want)
	for id := range want {
		want[id] = nil
	}
	want[fact.ID] = other.Values
	r.same("vectors of the other model", r.vectors(ana, "another model"), want)
}

func (r *rig) vectors(owner memory.Owner, model string) map[string][]float32 {
	r.Helper()
	out := map[string][]float32{}
	_, err := r.Since(r.Context(), owner, model, 0, func(i memory.Item) error {
		out[i.ID] = i.Vector
		return nil
	})
	r.must("since", err)
	return out
}

func sinceFollowsLateVectors(r *rig) {
	fact := r.add(ana, "tea")[0]
	_, seen := r.since(ana, 0)
	late := r.run()
	late.Vectors = []memory.Vector{memtest.Vector(fact.ID, "tea")}
	receipt := r.applyRun(ana, late)
	items, _ := r.since(ana, seen)
	if len(items) != 1 || items[0].ID != fact.ID || items[0].Version != receipt.Version || len(items[0].Vector) != memtest.Dims {
		r.Fatalf("since the vector came: got %+v, want the fact with it at version %d", items, receipt.Version)
	}
	r.same("version of the fact", r.fact(ana, fact.ID).Version, receipt.Version)
	r.same("the journal says nothing of vectors", len(r.changes(ana, memory.ChangeQuery{})), 1)

	pinned := fact
	pinned.Core = memory.CoreAlways
	r.apply(ana, memtest.Change(memory.ActionUpdate, pinned))
	r.same("other marks keep the vector", len(r.vectors(ana, model)[fact.ID]), memtest.Dims)
	reworded := fact
	reworded.Content, reworded.Hash = "green tea", memtest.Hash("green tea")
	r.apply(ana, memtest.Change(memory.ActionUpdate, reworded))
	r.same("other words drop it", len(r.vectors(ana, model)[fact.ID]), 0)
	again := r.run()
	again.Vectors = []memory.Vector{memtest.Vector(fact.ID, "tea with milk")}
	reworded.Content = "tea with milk"
	r.applyRun(ana, again, memtest.Change(memory.ActionUpdate, reworded))
	r.same("and bring their own", r.vectors(ana, model)[fact.ID], memtest.Embed("tea with milk"))
	better := r.run()
	better.Vectors = []memory.Vector{memtest.Vector(fact.ID, "something else")}
	r.applyRun(ana, better)
	r.same("a vector takes the other's place", r.vectors(ana, model)[fact.ID], memtest.Embed("something else"))
}

func sinceEndsWithYield(r *rig) {
	r.add(ana, "one", "two", "three")
	enough := errors.New("enough")
	seen := 0
	_, err := r.Since(r.Context(), ana, model, 0, func(i memory.Item) error {
		if got, err := r.Get(r.Context(), ana, i.ID); err != nil || len(got) != 1 {
			r.Errorf("get from within yield: got %v, %v", got, err)
		}
		if seen++; seen == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 2 {
		r.Errorf("yield that ends it at the second item: got %v after %d, want %v after 2", err, seen, enough)
	}
}

func versionsInTheOrderAsked(r *rig) {
	r.add(ana, "one")
	r.add(ben, "one")
	r.add(ben, "two")
	got, err := r.Versions(r.Context(), []memory.Owner{ben, team, ana, ben})
	r.must("versions", err)
	r.same("versions", got, []int64{2, 0, 1, 2})
	none, err := r.Versions(r.Context(), nil)
	if err != nil || len(none) != 0 {
		r.Errorf("versions of nobody: got %v, %v; want none", none, err)
	}
	many := make([]memory.Owner, 2000)
	for i := range many {
		many[i] = []memory.Owner{ana, ben}[i%2]
	}
	if got, err := r.Versions(r.Context(), many); err != nil || len(got) != len(many) || got[1999] != 2 {
		r.Errorf("versions of %d owners: got %d, %v", len(many), len(got), err)
	}
}

func ownersAreThoseWritten(r *rig) {
	listed := func() []memory.Owner {
		owners, err := r.Owners(r.Context())
		r.must("owners", err)
		return owners
	}
	r.same("nobody yet", len(listed()), 0)
	r.add(ben, "one")
	r.append(ana, memtest.Batch(ana, "c", 0, "hello", "hi"))
	r.add(ben, "two")
	r.version(team) // a read
	want := []memory.Owner{ana, ben}
	slices.Sort(want)
	r.same("owners", listed(), want)
}
