package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var changeRules = []rule{
	{"ApplyIsAtomic", applyIsAtomic},
	{"VersionRisesByOne", versionRisesByOne},
	{"ChangesAreStamped", changesAreStamped},
	{"LaterChangesSeeEarlierOnes", laterChangesSeeEarlierOnes},
	{"ReplaceKeepsHistory", replaceKeepsHistory},
	{"RetireHidesFromSearchNotFromHistory", retireHidesFromSearchNotFromHistory},
	{"UndoRestores", undoRestores},
	{"UnlinkLeavesOthers", unlinkLeavesOthers},
	{"LinkedAgainAfterUnlink", linkedAgainAfterUnlink},
	{"PendingLinkWaits", pendingLinkWaits},
	{"RunAppliesOnce", runAppliesOnce},
	{"EmptyRunCompletesJob", emptyRunCompletesJob},
	{"LearnedMarks", learnedMarks},
	{"StaleBaseIsConflict", staleBaseIsConflict},
	{"StaleRunIsConflict", staleRunIsConflict},
	{"ConflictWhereTheTargetIsNotAsPlanned", conflictWhereTheTargetIsNotAsPlanned},
	{"DuplicateIsRefusedPerScope", duplicateIsRefusedPerScope},
	{"WrongChangesAreInvalid", wrongChangesAreInvalid},
}

func applyIsAtomic(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	r.append(ana, memtest.Batch(ana, "c", 0, "hello"))
	job := memtest.Job(ana, memory.JobLearn, "held")
	r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, "c"), Jobs: []memory.Job{job}})
	claimed, err := r.Claim(r.Context(), []memory.JobKind{memory.JobLearn}, time.Hour)
	r.must("claim", err)
	was := r.snapshot(ana)

	good := memtest.Fact(ana, "Ana plays the cello")
	run := r.run()
	run.Lease = &claimed.Lease
	run.Learned = []string{memtest.Turn(ana, "c", 0, memory.RoleUser, "").ID}
	run.Vectors = []memory.Vector{memtest.Vector(good.ID, good.Content), memtest.Vector(tea.ID, tea.Content)}
	run.Jobs = []memory.Job{memtest.Job(ana, memory.JobEmbed, "follow-up")}
	twin := memtest.Fact(ana, "ana DRINKS tea")
	for code, bad := range map[memory.Code]memory.Change{
		memory.Conflict:  memtest.Add(tea),
		memory.Duplicate: memtest.Add(twin),
		memory.Invalid:   {Action: memory.ActionAdd},
	} {
		if _, err := r.Apply(r.Context(), ana, run, memtest.Add(good), bad); !errors.Is(err, code) {
			r.Errorf("run whose second change is bad: got %v, want %s", err, code)
		}
		r.same("after a run refused with "+string(code), r.snapshot(ana), was)
	}
	if receipt := r.applyRun(ana, run, memtest.Add(good)); receipt.Again {
		r.Error("a refused run was recorded as applied")
	}
}

func versionRisesByOne(r *rig) {
	if v := r.version(ana); v != 0 {
		r.Errorf("version of an owner never written: got %d, want 0", v)
	}
	first := r.apply(ana, memtest.Add(memtest.Fact(ana, "one")), memtest.Add(memtest.Fact(ana, "two")))
	second := r.append(ana, memtest.Batch(ana, "c", 0, "hello", "hi"))
	third := r.apply(ana, memtest.Retire(memtest.Fact(ana, "one")))
	r.same("versions of three writes", []int64{first.Version, second.Version, third.Version}, []int64{1, 2, 3})
	r.same("version then", r.version(ana), int64(3))
	r.same("version of somebody else", r.version(ben), int64(0))
	r.same("version of the fact first written", r.fact(ana, memtest.Fact(ana, "two").ID).Version, int64(1))
	r.same("version of the fact written again", r.fact(ana, memtest.Fact(ana, "one").ID).Version, int64(3))

	run := r.run()
	run.Vectors = []memory.Vector{memtest.Vector(memtest.Fact(ana, "two").ID, "two")}
	r.same("version after a run of vectors alone", r.applyRun(ana, run).Version, int64(4))
	r.same("version after a run of nothing", r.apply(ana).Version, int64(4))
}

func changesAreStamped(r *rig) {
	tea, milk := memtest.Fact(ana, "tea"), memtest.Fact(ana, "milk")
	run := memtest.Run("breakfast")
	run.Author = memory.Author{Kind: memory.ByModel, Name: "small", Prompt: "p1"}
	unsigned := memtest.Add(milk)
	unsigned.Author, unsigned.Reason = memory.Author{}, "asked for"
	byAdmin := memtest.Add(tea)
	byAdmin.Author.Admin = true
	receipt := r.applyRun(ana, run, byAdmin, unsigned)
	if receipt.Run != run.ID || receipt.Changes != 2 || receipt.Again || receipt.Version != 1 || receipt.At.Before(memtest.Epoch) {
		r.Errorf("receipt of a first run with two changes: got %+v", receipt)
	}

	stamped := func(c memory.Change, id string, author memory.Author) memory.Change {
		fact := *c.After.Fact
		fact.Version = receipt.Version
		c.After = memory.Image{Fact: &fact}
		c.ID, c.Owner, c.Run, c.Version, c.At, c.Author = id, ana, run.ID, receipt.Version, receipt.At, author
		return c
	}
	r.same("journal, newest first", r.changes(ana, memory.ChangeQuery{}), []memory.Change{
		stamped(unsigned, "breakfast/2", run.Author),
		stamped(byAdmin, "breakfast/1", byAdmin.Author),
	})
}

func laterChangesSeeEarlierOnes(r *rig) {
	old := r.add(ana, "Ana lives in Berlin")[0]
	same := old
	same.ID = memtest.ID("the same words again")
	changes := memory.Replace(old, same, memtest.Epoch, "said again", memtest.Person)
	r.apply(ana, changes...)
	r.lists("after replacing a fact by its own words", ana, memory.Query{}, "Ana lives in Berlin")

	other := memtest.Fact(ana, "Ana has a cat")
	gone := other
	gone.Status = memory.Retired
	r.apply(ana, memtest.Add(other), memtest.Change(memory.ActionRetire, gone))
	r.same("status after add and retire in one run", r.fact(ana, other.ID).Status, memory.Retired)
	journal := r.changes(ana, memory.ChangeQuery{Fact: other.ID})
	if len(journal) != 2 || journal[0].Before.Status() != memory.Active || !journal[1].Before.IsZero() {
		r.Errorf("journal of add and retire in one run: got %+v, want the add's image before the retire", journal)
	}

	next := memtest.Fact(ana, "Ana lives in Lisbon")
	twin := next
	twin.ID = memtest.ID("Lisbon twin")
	r.refuse("two adds of one content in one run", memory.Duplicate, ana, memtest.Add(next), memtest.Add(twin))
	r.refuse("two adds of one fact in one run", memory.Conflict, ana, memtest.Add(next), memtest.Add(next))
	r.refuse("adding the replacement before the old one went", memory.Duplicate, ana, memtest.Add(twinOf(same)), changes[0])
}

// twinOf returns another fact of the same words.
func twinOf(f memory.Fact) memory.Fact {
	f.ID = memtest.ID("twin of " + f.ID)
	return f
}

func replaceKeepsHistory(r *rig) {
	berlin := r.add(ana, "Ana lives in Berlin")[0]
	lisbon := memtest.Fact(ana, "Ana lives in Lisbon")
	lisbon.ObservedAt = memtest.Epoch.AddDate(0, 1, 0)
	r.apply(ana, memory.Replace(berlin, lisbon, lisbon.ObservedAt, "moved", memtest.Person)...)

	r.lists("what is current", ana, memory.Query{}, "Ana lives in Lisbon")
	r.lists("what was superseded", ana, memory.Query{Statuses: []memory.Status{memory.Superseded}}, "Ana lives in Berlin")
	old := r.fact(ana, berlin.ID)
	if old.SupersededBy != lisbon.ID || !old.ValidTo.Equal(lisbon.ObservedAt) || !old.UpdatedAt.Equal(lisbon.ObservedAt) {
		r.Errorf("replaced fact: got superseded by %q, valid to %v, updated %v; want %q, %v, %v",
			old.SupersededBy, old.ValidTo, old.UpdatedAt, lisbon.ID, lisbon.ObservedAt, lisbon.ObservedAt)
	}
	for _, id := range []string{berlin.ID, lisbon.ID} {
		var actions []memory.Action
		for _, c := range r.changes(ana, memory.ChangeQuery{Fact: id}) {
			actions = append(actions, c.Action)
		}
		want := []memory.Action{memory.ActionAdd, memory.ActionReplace}
		if id == berlin.ID {
			want = append(want, memory.ActionAdd)
		}
		r.same("what happened to "+id, actions, want)
	}
}

func retireHidesFromSearchNotFromHistory(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	r.apply(ana, memtest.Retire(tea))
	r.lists("list after retiring", ana, memory.Query{})
	r.lists("list of what is retired", ana, memory.Query{Statuses: []memory.Status{memory.Retired}}, "Ana drinks tea")
	r.same("status by id", r.fact(ana, tea.ID).Status, memory.Retired)
	if items, _ := r.since(ana, 0); len(items) != 0 {
		r.Errorf("what recall may see after retiring: got %+v, want nothing", items)
	}
	if got := r.changes(ana, memory.ChangeQuery{Fact: tea.ID}); len(got) != 2 || got[0].Before.Fact.Content != tea.Content {
		r.Errorf("journal after retiring: got %+v, want add and retire with the words", got)
	}
}

func undoRestores(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	timezone := memtest.Profile(ana, "timezone", "Europe/Berlin")
	summary := memtest.Summary(ana, "c", "They spoke of tea.")
	related := memtest.Relation(ana, tea.ID, memtest.ID("other"), memory.Refines)
	link := memtest.Link(ana, memtest.Fact(team, "Standup at ten"))
	batch := memtest.Batch(ana, "c", 0, "hello", "hi")
	r.append(ana, batch)
	r.apply(ana,
		memtest.Change(memory.ActionAdd, timezone), memtest.Change(memory.ActionAdd, summary),
		memtest.Change(memory.ActionAdd, related), memtest.Change(memory.ActionLink, link))
	was := r.export(ana, memory.At{})

	reworded, moved, unlinked, unrelated, stale := tea, timezone, link, related, summary
	reworded.Content, reworded.Tags, reworded.Hash = "Ana drinks green tea", []string{"drink"}, memtest.Hash("green")
	moved.Value = "Europe/Lisbon"
	unlinked.Status, unrelated.Status, stale.Status = memory.Retired, memory.Retired, memory.Retired
	run := r.run()
	r.applyRun(ana, run,
		memtest.Change(memory.ActionUpdate, reworded), memtest.Change(memory.ActionUpdate, moved),
		memtest.Change(memory.ActionUnlink, unlinked), memtest.Change(memory.ActionRetire, unrelated),
		memtest.Change(memory.ActionRetire, stale), memtest.TurnMark(memory.ActionRetire, batch.Turns[0].ID, memory.Retired),
		memtest.Add(memtest.Fact(ana, "Ana has a dog")))
	if diff := difference(r.export(ana, memory.At{}).active(), was.active(), ignoreVersions); diff == "" {
		r.Fatal("seven changes left the export as it was")
	}

	r.apply(ana, undo(r.changes(ana, memory.ChangeQuery{Run: run.ID}))...)
	r.same("export after undo", r.export(ana, memory.At{}).active(), was.active(), ignoreVersions)
}

// undo returns what takes back changes that come newest first: each target goes
// back to its image before, what was added is retired.
func undo(changes []memory.Change) []memory.Change {
	var back []memory.Change
	for _, c := range changes {
		after := c.Before
		if after.IsZero() {
			after = retired(c.After)
		}
		back = append(back, memory.Change{Action: memory.ActionUndo, After: after, Author: memtest.Person})
	}
	return back
}

func retired(i memory.Image) memory.Image {
	switch {
	case i.Fact != nil:
		f := *i.Fact
		f.Status = memory.Retired
		return memory.Image{Fact: &f}
	case i.Link != nil:
		l := *i.Link
		l.Status = memory.Retired
		return memory.Image{Link: &l}
	case i.Profile != nil:
		p := *i.Profile
		p.Status = memory.Retired
		return memory.Image{Profile: &p}
	case i.Relation != nil:
		e := *i.Relation
		e.Status = memory.Retired
		return memory.Image{Relation: &e}
	case i.Summary != nil:
		s := *i.Summary
		s.Status = memory.Retired
		return memory.Image{Summary: &s}
	case i.Context != nil:
		c := *i.Context
		c.Status = memory.Retired
		return memory.Image{Context: &c}
	}
	return memory.Image{Turn: &memory.TurnMark{ID: i.Turn.ID, Status: memory.Retired}}
}

func unlinkLeavesOthers(r *rig) {
	standup := r.add(team, "Standup at ten")[0]
	for _, owner := range []memory.Owner{ana, ben} {
		r.apply(owner, memtest.Change(memory.ActionLink, memtest.Link(owner, standup)))
		r.lists("linked", owner, memory.Query{}, "Standup at ten")
	}
	got := r.get(ana, standup.ID)[0]
	if got.Link == nil || got.Link.Owner != ana || got.Fact.Scope.Owner != team || got.Fact.Version != standup.Version || got.Fact.Hash != standup.Hash {
		r.Errorf("linked fact: got %+v with link %+v, want the team's fact as it was and Ana's link", got.Fact, got.Link)
	}

	gone := memtest.Link(ana, standup)
	gone.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionUnlink, gone))
	r.lists("Ana after unlinking", ana, memory.Query{})
	r.lists("Ben after Ana's unlinking", ben, memory.Query{}, "Standup at ten")
	r.lists("the home after Ana's unlinking", team, memory.Query{}, "Standup at ten")
	r.same("Ana's history", len(r.changes(ana, memory.ChangeQuery{Fact: standup.ID})), 2)
	r.same("the home's history", len(r.changes(team, memory.ChangeQuery{Fact: standup.ID})), 1)
}

func linkedAgainAfterUnlink(r *rig) {
	standup := r.add(team, "Standup at ten")[0]
	link := memtest.Link(ana, standup)
	r.apply(ana, memtest.Change(memory.ActionLink, link))
	r.refuse("linking what is linked", memory.Conflict, ana, memtest.Change(memory.ActionLink, link))
	gone := link
	gone.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionUnlink, gone))
	r.apply(ana, memtest.Change(memory.ActionLink, link))
	r.lists("linked again", ana, memory.Query{}, "Standup at ten")

	link.Fact.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionUpdate, link))
	r.lists("a linked fact that its home retired", ana, memory.Query{})
	r.lists("by its status", ana, memory.Query{Statuses: []memory.Status{memory.Retired}}, "Standup at ten")
}

func pendingLinkWaits(r *rig) {
	standup := r.add(team, "Standup at ten")[0]
	link := memtest.Link(ana, standup)
	link.Status = memory.Pending
	r.apply(ana, memtest.Change(memory.ActionLink, link))
	r.lists("a link that waits", ana, memory.Query{})
	r.lists("by its status", ana, memory.Query{Statuses: []memory.Status{memory.Pending}}, "Standup at ten")
	if got := r.get(ana, standup.ID)[0]; got.Visible(memtest.Epoch) || got.Status() != memory.Pending || got.Link == nil {
		r.Errorf("by id: got status %q and link %+v, want a pending link that recall does not see", got.Status(), got.Link)
	}
	if items, _ := r.since(ana, 0); len(items) != 0 {
		r.Errorf("what recall may see: got %+v, want nothing", items)
	}
	r.same("counts while it waits", r.counts(ana), memory.Counts{Pending: 1, Changes: 1})
	totals, err := r.Totals(r.Context())
	r.must("totals", err)
	r.same("totals while it waits", totals.Pending, 1)

	link.Status = memory.Active
	r.apply(ana, memtest.Change(memory.ActionApprove, link))
	r.lists("approved", ana, memory.Query{}, "Standup at ten")
	r.same("counts once approved", r.counts(ana), memory.Counts{Facts: 1, Changes: 2})
	r.apply(ana, undo(r.changes(ana, memory.ChangeQuery{Fact: standup.ID})[:1])...)
	r.lists("waiting again after undo", ana, memory.Query{Statuses: []memory.Status{memory.Pending}}, "Standup at ten")

	link.Status = memory.Rejected
	r.refuse("a rejected link", memory.Invalid, ana, memtest.Change(memory.ActionReject, link))
	link.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionReject, link))
	r.same("counts once rejected", r.counts(ana), memory.Counts{Changes: 4})
}

func runAppliesOnce(r *rig) {
	run := memtest.Run("once")
	run.Jobs = []memory.Job{memtest.Job(ana, memory.JobEmbed, "j")}
	first := r.applyRun(ana, run, memtest.Add(memtest.Fact(ana, "one")))
	r.apply(ana, memtest.Retire(memtest.Fact(ana, "one")))
	was := r.snapshot(ana)

	again := run
	again.Jobs = append(slices.Clone(run.Jobs), memtest.Job(ana, memory.JobEmbed, "k"))
	again.Lease = &memory.Lease{Owner: ana, Job: "lost", Token: "lost"}
	second := r.applyRun(ana, again, memtest.Add(memtest.Fact(ana, "two")), memory.Change{})
	want := first
	want.Again = true
	r.same("second receipt", second, want)
	r.same("after the second time", r.snapshot(ana), was)

	if other := r.applyRun(ben, withoutJobs(run), memtest.Add(memtest.Fact(ben, "three"))); other.Again {
		r.Error("a run of Ana's stands in the way of Ben's run of the same id")
	}
}

func withoutJobs(run memory.Run) memory.Run {
	run.Jobs = nil
	return run
}

func emptyRunCompletesJob(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	b.Jobs = []memory.Job{memtest.Job(ana, memory.JobLearn, "j")}
	appended := r.append(ana, b)
	held, err := r.Claim(r.Context(), []memory.JobKind{memory.JobLearn}, time.Hour)
	r.must("claim", err)

	run := r.run()
	run.Lease, run.Learned = &held.Lease, []string{b.Turns[0].ID}
	run.Jobs = []memory.Job{memtest.Job(ana, memory.JobSummarize, "next")}
	receipt := r.applyRun(ana, run)
	if receipt.Version != appended.Version || receipt.Changes != 0 || !receipt.At.After(appended.At) {
		r.Errorf("receipt of a run without changes: got %+v, want version %d as it was and a later time than %v", receipt, appended.Version, appended.At)
	}
	r.same("done jobs", ids(r.jobs(ana, memory.JobDone)), []string{held.ID})
	r.same("follow-up jobs", ids(r.jobs(ana)), []string{run.Jobs[0].ID})
	r.same("turns to learn from", len(r.turns(ana, memory.TurnQuery{Unlearned: true})), 0)
	if again := r.applyRun(ana, run); !again.Again {
		r.Error("a run without changes was not recorded")
	}
}

func ids(jobs []memory.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

func learnedMarks(r *rig) {
	b := memtest.Batch(ana, "c", 0, "I like tea", "noted", "I like milk")
	b.Turns[2].NoLearn = true
	r.append(ana, b)
	unlearned := memory.TurnQuery{Unlearned: true}
	r.same("before", len(r.turns(ana, unlearned)), 1)

	first, second := r.run(), r.run()
	first.Learned = []string{b.Turns[0].ID, memtest.ID("no such turn")}
	second.Learned = []string{b.Turns[0].ID, b.Turns[1].ID}
	one, two := r.applyRun(ana, first), r.applyRun(ana, second)
	turns := r.turns(ana, memory.TurnQuery{})
	for i, want := range []time.Time{one.At, two.At, {}} {
		if got := turns[i]; !got.LearnedAt.Equal(want) || got.Version != 1 {
			r.Errorf("turn %d: got learned at %v, version %d; want %v, 1", i, got.LearnedAt, got.Version, want)
		}
	}
	r.same("after", len(r.turns(ana, unlearned)), 0)
	r.same("as of before", len(r.turns(ana, memory.TurnQuery{Unlearned: true, AsOf: before(one.At)})), 1)
	r.same("as of then", len(r.turns(ana, memory.TurnQuery{Unlearned: true, AsOf: one.At})), 0)
}

func staleRunIsConflict(r *rig) {
	first, second := r.run(), r.run()
	first.Base, second.Base = memory.PlannedOn(0), memory.PlannedOn(0)
	_, err := r.Apply(r.Context(), ben, first, memtest.Add(memtest.Fact(ben, "Ben lives in Berlin")))
	r.must("apply what was planned on nothing", err)
	_, err = r.Apply(r.Context(), ben, second, memtest.Add(memtest.Fact(ben, "Ben lives in Lisbon")))
	r.wantCode("a run planned on nothing after another was applied", err, memory.Conflict)

	r.add(ana, "Ana drinks tea")
	versions, err := r.Versions(r.Context(), []memory.Owner{ana})
	r.must("read the version", err)
	planned := r.run()
	planned.Base = versions[0]
	r.add(ana, "Ana plays the cello")
	was := r.snapshot(ana)
	_, err = r.Apply(r.Context(), ana, planned, memtest.Add(memtest.Fact(ana, "Ana drinks coffee")))
	r.wantCode("a run planned before another was applied", err, memory.Conflict)
	empty := r.run()
	empty.Base = versions[0]
	_, err = r.Apply(r.Context(), ana, empty)
	r.wantCode("such a run without changes", err, memory.Conflict)
	r.same("after the conflicts", r.snapshot(ana), was)

	planned.Base++
	receipt, err := r.Apply(r.Context(), ana, planned, memtest.Add(memtest.Fact(ana, "Ana drinks coffee")))
	r.must("apply what was planned anew", err)
	again, err := r.Apply(r.Context(), ana, planned, memtest.Add(memtest.Fact(ana, "Ana drinks coffee")))
	r.must("apply it again", err)
	if !again.Again || again.Version != receipt.Version {
		r.Errorf("the second receipt is %+v, want the first, %+v", again, receipt)
	}
}

func staleBaseIsConflict(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	planned := tea
	planned.Core = memory.CoreAlways
	fresh := memtest.Change(memory.ActionUpdate, planned)
	fresh.Base = tea.Version
	r.apply(ana, fresh)
	r.refuse("update planned on the version before", memory.Conflict, ana, fresh)
	r.apply(ana, memtest.Change(memory.ActionUpdate, planned)) // no base: whatever is there

	b := memtest.Batch(ana, "c", 0, "hello")
	appended := r.append(ana, b)
	mark := memtest.TurnMark(memory.ActionUpdate, b.Turns[0].ID, memory.Replaced)
	mark.Base = appended.Version
	r.apply(ana, mark)
	r.refuse("mark planned on the version before", memory.Conflict, ana, mark)

	timezone := memtest.Change(memory.ActionAdd, memtest.Profile(ana, "timezone", "UTC"))
	r.apply(ana, timezone)
	timezone.Action, timezone.Base = memory.ActionUpdate, 1
	r.refuse("profile entry planned on another version", memory.Conflict, ana, timezone)
}

func conflictWhereTheTargetIsNotAsPlanned(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	missing := memtest.Fact(ana, "nobody said this")
	r.refuse("add of what is there", memory.Conflict, ana, memtest.Add(tea))
	for _, action := range []memory.Action{
		memory.ActionUpdate, memory.ActionReinforce, memory.ActionReplace, memory.ActionRetire,
		memory.ActionRestore, memory.ActionApprove, memory.ActionReject, memory.ActionUndo,
	} {
		r.refuse(string(action)+" of what is not there", memory.Conflict, ana, memtest.Change(action, missing))
	}
	r.refuse("unlink of what is not linked", memory.Conflict, ana, memtest.Change(memory.ActionUnlink, memtest.Link(ana, memtest.Fact(team, "x"))))
	r.refuse("mark of a turn that is not there", memory.Conflict, ana, memtest.TurnMark(memory.ActionRetire, memtest.ID("t"), memory.Retired))
	r.refuse("update of a profile entry that is not there", memory.Conflict, ana, memtest.Change(memory.ActionUpdate, memtest.Profile(ana, "k", "v")))

	r.apply(ana, memtest.Retire(tea))
	r.refuse("add of what is retired", memory.Conflict, ana, memtest.Add(tea))
	r.refuse("replace of what is retired", memory.Conflict, ana, memory.Replace(tea, memtest.Fact(ana, "milk"), memtest.Epoch, "", memtest.Person)[0])
	r.refuse("reinforce of what is retired", memory.Conflict, ana, memtest.Change(memory.ActionReinforce, tea))
	r.apply(ana, memtest.Change(memory.ActionRestore, tea))
	r.apply(ana, memtest.Change(memory.ActionReinforce, tea))
}

func duplicateIsRefusedPerScope(r *rig) {
	tea := r.add(ana, "Ana drinks tea")[0]
	twin := twinOf(tea)
	r.refuse("the same words again", memory.Duplicate, ana, memtest.Add(twin))

	pending := twin
	pending.Status = memory.Pending
	r.refuse("the same words, pending", memory.Duplicate, ana, memtest.Add(pending))
	for i, scope := range []memory.Scope{{Owner: ana, Project: "p"}, {Owner: ana, Agent: "p"}, {Owner: ana, Conversation: "p"}} {
		elsewhere := twin
		elsewhere.ID, elsewhere.Scope = memtest.ID(string(rune('a'+i))), scope
		r.apply(ana, memtest.Add(elsewhere))
	}
	bens := tea
	bens.Scope.Owner = ben
	r.apply(ben, memtest.Add(bens))
	r.apply(ben, memtest.Change(memory.ActionLink, memtest.Link(ben, twinOf(tea)))) // a link is not a fact of Ben's

	for _, status := range []memory.Status{memory.Superseded, memory.Retired, memory.Rejected} {
		dead := twin
		dead.ID, dead.Status = memtest.ID(string(status)), status
		r.apply(ana, memtest.Add(dead))
		dead.Status = memory.Active
		r.refuse("restoring from "+string(status)+" into a duplicate", memory.Duplicate, ana, memtest.Change(memory.ActionRestore, dead))
	}
	other := r.add(ana, "Ana drinks coffee")[0]
	other.Content, other.Hash = tea.Content, tea.Hash
	r.refuse("rewording into a duplicate", memory.Duplicate, ana, memtest.Change(memory.ActionUpdate, other))
	moved := memtest.Fact(ana, "Ana drinks coffee")
	moved.Hash, moved.Scope.Project = tea.Hash, "p"
	r.refuse("moving into a duplicate's scope", memory.Duplicate, ana, memtest.Change(memory.ActionUpdate, moved))

	r.apply(ana, memtest.Retire(tea))
	r.apply(ana, memtest.Add(pending))
	r.refuse("the words of a pending fact", memory.Duplicate, ana, memtest.Change(memory.ActionRestore, tea))
}

func wrongChangesAreInvalid(r *rig) {
	tea := memtest.Fact(ana, "Ana drinks tea")
	broken := func(change func(*memory.Fact)) memory.Change {
		f := tea
		change(&f)
		return memtest.Add(f)
	}
	own := memtest.Link(ana, tea)
	foreign := memtest.Link(ben, memtest.Fact(team, "Standup at ten"))
	both := memtest.Add(tea)
	both.After.Turn = &memory.TurnMark{ID: "t", Status: memory.Active}
	for why, c := range map[string]memory.Change{
		"no target":                     {Action: memory.ActionAdd},
		"two targets":                   both,
		"no action":                     memtest.Change("", tea),
		"another owner's fact":          memtest.Add(memtest.Fact(ben, "tea")),
		"another owner's link":          memtest.Change(memory.ActionLink, foreign),
		"a link to one's own fact":      memtest.Change(memory.ActionLink, own),
		"linking a fact":                memtest.Change(memory.ActionLink, tea),
		"another owner's profile entry": memtest.Change(memory.ActionAdd, memtest.Profile(ben, "k", "v")),
		"another owner's summary":       memtest.Change(memory.ActionAdd, memtest.Summary(ben, "c", "s")),
		"another owner's relation":      memtest.Change(memory.ActionAdd, memtest.Relation(ben, "a", "b", memory.Refines)),
		"no id":                         broken(func(f *memory.Fact) { f.ID = "" }),
		"no hash":                       broken(func(f *memory.Fact) { f.Hash = "" }),
		"no status":                     broken(func(f *memory.Fact) { f.Status = "" }),
		"a turn's status":               broken(func(f *memory.Fact) { f.Status = memory.Replaced }),
		"metadata that is no object":    broken(func(f *memory.Fact) { f.Metadata = []byte(`[1]`) }),
		"metadata that is not JSON":     broken(func(f *memory.Fact) { f.Metadata = []byte(`{"a":`) }),
		"content that is not UTF-8":     broken(func(f *memory.Fact) { f.Content = "te\xffa" }),
		"adding a turn":                 memtest.TurnMark(memory.ActionAdd, "t", memory.Active),
	} {
		r.refuse(why, memory.Invalid, ana, c)
	}
	_, err := r.Apply(r.Context(), ana, memory.Run{}, memtest.Add(tea))
	r.wantCode("a run without an id", err, memory.Invalid)
	run := r.run()
	run.Jobs = []memory.Job{memtest.Job(ben, memory.JobLearn, "j")}
	_, err = r.Apply(r.Context(), ana, run, memtest.Add(tea))
	r.wantCode("another owner's job", err, memory.Invalid)
	r.same("version after all that", r.version(ana), int64(0))
}
