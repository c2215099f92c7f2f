package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var readRules = []rule{
	{"EverythingComesBack", everythingComesBack},
	{"CoreOfFacts", coreOfFacts},
	{"GetKeepsTheOrderAsked", getKeepsTheOrderAsked},
	{"ListNarrows", listNarrows},
	{"ListLooksAtFactsUnlessAsked", listLooksAtFactsUnlessAsked},
	{"LookSeesWhatGetAndListSay", lookSeesWhatGetAndListSay},
	{"MatchText", matchText},
	{"ListCursorIsStable", listCursorIsStable},
	{"ChangesNarrowAndPage", changesNarrowAndPage},
	{"ProfileEntries", profileEntries},
	{"Relations", relations},
	{"Summaries", summaries},
	{"Counts", countsAddUp},
}

// fullFact has something in every field.
func fullFact(owner memory.Owner) memory.Fact {
	f := memtest.Fact(owner, "Ana is allergic to peanuts")
	f.Scope.Project, f.Scope.Agent, f.Scope.Conversation = "garden", "cook", "c"
	f.Category, f.Tags, f.Subject, f.Attribute = "health", []string{"food", "allergy"}, "user", "allergy"
	f.Confidence, f.Status, f.Source, f.Trust, f.Core = 0.75, memory.Pending, memory.Extracted, memory.TrustUser, memory.CoreAlways
	f.Provenance = memory.Provenance{Conversation: "c", Turns: []string{"t2", "t1"}, Quote: &memory.Span{Turn: "t1", Start: 3, End: 9}}
	f.ObservedAt, f.ObservedSeq = memtest.Epoch.Add(time.Second), 7_000_012
	f.ValidFrom, f.ValidTo = memtest.Epoch.AddDate(-3, 0, 0), memtest.Epoch.AddDate(3, 0, 0)
	f.CreatedAt, f.UpdatedAt, f.ExpiresAt = memtest.Epoch.Add(2*time.Second), memtest.Epoch.Add(3*time.Second), memtest.Epoch.AddDate(1, 0, 0)
	f.SupersededBy, f.Model, f.Metadata = "later", "small+p1", []byte(`{"z":1e400,"a":{"b":[null,12345678901234567890]},"<":"é"}`)
	return f
}

func everythingComesBack(r *rig) {
	fact := fullFact(ana)
	link := memtest.Link(ana, fullFact(team))
	link.HomeVersion, link.CreatedAt = 41, memtest.Epoch.Add(time.Minute)
	summary := memtest.Summary(ana, "c", "They spoke of peanuts.")
	summary.Scope.Project, summary.Scope.Agent, summary.MessageCount, summary.Model = "garden", "cook", 12, "small"
	entry := memtest.Profile(ana, "timezone", "Europe/Lisbon")
	entry.Tokens = 9
	relation := memtest.Relation(ana, fact.ID, "other", memory.Follows)
	turn := memtest.Turn(ana, "c", 3, memory.RoleTool, "42")
	turn.Project, turn.Agent, turn.Name, turn.Ref, turn.Status, turn.NoLearn, turn.History, turn.Given = "garden", "cook", "calculator", "call_1", memory.Replaced, true, true, `{"part":1}`
	turn.Foreign = "0-4,6-9"

	applied := r.apply(ana,
		memtest.Add(fact), memtest.Change(memory.ActionLink, link), memtest.Change(memory.ActionAdd, summary),
		memtest.Change(memory.ActionAdd, entry), memtest.Change(memory.ActionAdd, relation))
	appended := r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, "c"), Turns: []memory.Turn{turn}})
	fact.Version, link.Version, summary.Version, entry.Version, relation.Version = applied.Version, applied.Version, applied.Version, applied.Version, applied.Version
	link.Fact.Version = link.HomeVersion
	turn.Version, turn.RecordedAt = appended.Version, appended.At

	want := []memory.Memory{{Fact: &fact}, {Fact: &link.Fact, Link: &link}, {Summary: &summary}, {Turn: &turn}}
	got := r.get(ana, fact.ID, link.Fact.ID, summary.ID, turn.ID)
	r.same("memories", got, want)
	profile, err := r.Profile(r.Context(), ana, memory.At{})
	r.must("profile", err)
	r.same("profile", profile, []memory.ProfileEntry{entry})
	related, err := r.Relations(r.Context(), ana, fact.ID, memory.At{})
	r.must("relations", err)
	r.same("relations", related, []memory.Relation{relation})
	var images []memory.Image
	for _, c := range r.changes(ana, memory.ChangeQuery{}) {
		images = append(images, c.After)
	}
	r.same("images in the journal", images, []memory.Image{{Relation: &relation}, {Profile: &entry}, {Summary: &summary}, {Link: &link}, {Fact: &fact}})
	at := memory.At{AsOf: appended.At}
	r.same("all of it as of now", r.export(ana, at), r.export(ana, memory.At{}), ignoreVersions)
}

// coreOfFacts writes and changes what people decide about facts in prompts.
func coreOfFacts(r *rig) {
	all := []memory.Core{memory.CoreAuto, memory.CoreAlways, memory.CoreNever}
	for _, was := range all {
		for _, is := range all {
			fact := memtest.Fact(ana, fmt.Sprintf("from %s to %s", was, is))
			fact.Core = was
			receipt := r.apply(ana, memtest.Add(fact))
			r.same("written", r.fact(ana, fact.ID).Core, was)
			fact.Core = is
			r.apply(ana, memtest.Change(memory.ActionUpdate, fact))
			r.same("changed", r.fact(ana, fact.ID).Core, is)
			last := r.changes(ana, memory.ChangeQuery{Fact: fact.ID})[0]
			r.same("in the journal", []memory.Core{last.Before.Fact.Core, last.After.Fact.Core}, []memory.Core{was, is})
			for _, m := range r.list(ana, memory.Query{At: memory.At{AsOf: receipt.At}, Hash: fact.Hash}) {
				r.same("as it was", m.Fact.Core, was)
			}
		}
	}
	linked := memtest.Fact(team, "the team's")
	linked.Core = memory.CoreNever
	r.apply(ana, memtest.Change(memory.ActionLink, memtest.Link(ana, linked)))
	r.same("of a link", r.get(ana, linked.ID)[0].Fact.Core, memory.CoreNever)
	var pinned []string
	for _, m := range r.list(ana, memory.Query{Pinned: true}) {
		pinned = append(pinned, m.Content())
	}
	slices.Sort(pinned)
	r.same("pinned", pinned, []string{"from always to always", "from auto to always", "from never to always"})
	odd := memtest.Fact(ana, "odd")
	odd.Core = "sometimes"
	r.refuse("another core", memory.Invalid, ana, memtest.Add(odd))
}

func getKeepsTheOrderAsked(r *rig) {
	facts := r.add(ana, "one", "two", "three")
	b := memtest.Batch(ana, "c", 0, "hello")
	r.append(ana, b)
	r.apply(ana, memtest.Retire(facts[1]))
	got, err := r.Get(r.Context(), ana, b.Turns[0].ID, facts[2].ID, "no such id", facts[1].ID, facts[2].ID)
	r.must("get", err)
	var contents []string
	for _, m := range got {
		contents = append(contents, m.Content())
	}
	r.same("contents in the order asked", contents, []string{"hello", "three", "two", "three"})
	none, err := r.Get(r.Context(), ana)
	if err != nil || len(none) != 0 {
		r.Errorf("get of no ids: got %v, %v; want nothing", none, err)
	}
	many := make([]string, 3000)
	for i := range many {
		many[i] = facts[i%3].ID
	}
	if got, err := r.Get(r.Context(), ana, many...); err != nil || len(got) != len(many) {
		r.Errorf("get of %d ids: got %d, %v", len(many), len(got), err)
	}
}

func listNarrows(r *rig) {
	full := fullFact(ana)
	full.Status = memory.Active
	linked := fullFact(team)
	linked.Status, linked.Content = memory.Active, "the team's"
	plain := memtest.Fact(ana, "plain")
	r.apply(ana, memtest.Add(plain), memtest.Add(full), memtest.Change(memory.ActionLink, memtest.Link(ana, linked)))
	for _, test := range []struct {
		what string
		q    memory.Query
		want []string
	}{
		{"nothing", memory.Query{}, []string{linked.Content, full.Content, "plain"}},
		{"project", memory.Query{Project: "garden"}, []string{full.Content}},
		{"agent", memory.Query{Agent: "cook"}, []string{full.Content}},
		{"conversation", memory.Query{Conversation: "c"}, []string{full.Content}},
		{"category", memory.Query{Category: "health"}, []string{linked.Content, full.Content}},
		{"tag", memory.Query{Tag: "allergy"}, []string{linked.Content, full.Content}},
		{"how its id begins", memory.Query{Begins: full.ID[:len(full.ID)-1]}, []string{full.Content}},
		{"a whole id", memory.Query{Begins: plain.ID}, []string{"plain"}},
		{"how an id ends", memory.Query{Begins: full.ID[1:]}, nil},
		{"part of a tag", memory.Query{Tag: "all"}, nil},
		{"subject", memory.Query{Subject: "user"}, []string{linked.Content, full.Content}},
		{"attribute", memory.Query{Attribute: "allergy"}, []string{linked.Content, full.Content}},
		{"hash", memory.Query{Hash: plain.Hash}, []string{"plain"}},
		{"turn", memory.Query{Turn: "t1"}, []string{full.Content}},
		{"pinned", memory.Query{Pinned: true}, []string{linked.Content, full.Content}},
		{"two at once", memory.Query{Category: "health", Project: "garden"}, []string{full.Content}},
		{"two that exclude each other", memory.Query{Category: "health", Hash: plain.Hash}, nil},
		{"a project nobody has", memory.Query{Project: "Garden"}, nil},
		{"other statuses", memory.Query{Statuses: []memory.Status{memory.Pending, memory.Retired}}, nil},
	} {
		got := r.list(ana, test.q)
		slices.SortFunc(got, func(a, b memory.Memory) int { return order(test.want, a) - order(test.want, b) })
		var contents []string
		for _, m := range got {
			contents = append(contents, m.Content())
		}
		r.same("narrowed by "+test.what, contents, test.want)
	}
}

func order(want []string, m memory.Memory) int { return slices.Index(want, m.Content()) }

func listLooksAtFactsUnlessAsked(r *rig) {
	r.append(ana, memtest.Batch(ana, "c", 0, "hello", "hi"))
	r.apply(ana, memtest.Add(memtest.Fact(ana, "fact")), memtest.Change(memory.ActionAdd, memtest.Summary(ana, "c", "summary")))
	r.lists("no kinds", ana, memory.Query{}, "fact")
	r.same("turns", len(r.list(ana, memory.Query{Kinds: []memory.Kind{memory.KindTurn}})), 2)
	r.same("turns and summaries", len(r.list(ana, memory.Query{Kinds: []memory.Kind{memory.KindTurn, memory.KindSummary}})), 3)
	r.same("all of a conversation", len(r.list(ana, memory.Query{Kinds: allKinds, Conversation: "c"})), 3)
	r.same("turns of a category", len(r.list(ana, memory.Query{Kinds: allKinds, Category: "health"})), 0)
}

func lookSeesWhatGetAndListSay(r *rig) {
	facts := r.add(ana, "one", "two", "three", "four")
	full := fullFact(ana)
	linked := memtest.Link(ana, fullFact(team))
	r.apply(ana, memtest.Add(full), memtest.Change(memory.ActionLink, linked), memtest.Retire(facts[1]))
	talk := memtest.Batch(ana, "c", 0, "hello", "hi")
	at := r.append(ana, talk)
	r.apply(ana, memtest.Retire(facts[2]), memtest.Change(memory.ActionAdd, memtest.Summary(ana, "c", "summary")))
	whatever := []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected}
	l := memory.Look{
		IDs: []string{talk.Turns[1].ID, facts[2].ID, "no such id", linked.Fact.ID, facts[2].ID, talk.Turns[0].ID},
		Queries: []memory.Query{
			{}, {Statuses: whatever}, {Statuses: whatever, Limit: 2}, {Hash: full.Hash, Statuses: whatever}, {Hash: facts[1].Hash, Statuses: whatever},
			{Subject: "user", Attribute: "allergy", Statuses: whatever}, {Subject: "user", Attribute: "allergy"}, {Turn: "t1", Statuses: whatever},
			{Turn: "t1", Statuses: []memory.Status{memory.Superseded, memory.Retired}}, {Kinds: allKinds, Conversation: "c", Statuses: whatever}, {Pinned: true},
		},
	}
	past := memory.Look{Queries: []memory.Query{{Hash: facts[2].Hash, At: memory.At{AsOf: at.At}}, {Text: "T", Statuses: whatever}}}
	for _, l := range []memory.Look{l, past, {}} {
		seen, err := memory.LookAt(r.Context(), r.Store, ana, l)
		r.must("look", err)
		r.same("version", seen.Version, r.version(ana))
		found, err := r.Get(r.Context(), ana, l.IDs...)
		r.must("get", err)
		r.same("memories", seen.Memories, found)
		for i, q := range l.Queries {
			page, err := r.List(r.Context(), ana, q)
			r.must("list", err)
			r.same("memories that match", seen.Pages[i].Memories, page.Memories)
			r.same("the page's end", seen.Pages[i].Next, page.Next)
		}
	}
	nobody, err := memory.LookAt(r.Context(), r.Store, ben, l)
	r.must("look at another owner", err)
	r.same("another owner's", nobody, memory.Seen{Pages: make([]memory.Page, len(l.Queries))})
	_, err = memory.LookAt(r.Context(), r.Store, ana, memory.Look{Queries: []memory.Query{{Cursor: "not a cursor"}}})
	r.wantCode("look from no cursor", err, memory.Invalid)
}

func matchText(r *rig) {
	contents := []string{
		"Ana's rate is 100% of plan_b", "ANA'S RATE IS 1000 OF PLANXB", "Straße in Łódź", "ΟΔΥΣΣΕΥΣ sails", "İstanbul",
		`back\slash "quoted" 'single'`, "東京に住んでいる", "emoji 🎉 party", "two  spaces\nand a line", "null\x00byte", "K for kelvin",
	}
	for _, c := range contents {
		r.apply(ana, memtest.Add(memtest.Fact(ana, c)))
	}
	for _, test := range []struct {
		text string
		want []int
	}{
		{"ana's RATE", []int{0, 1}}, {"100%", []int{0}}, {"plan_b", []int{0}}, {"%", []int{0}}, {"_", []int{0}},
		{"STRAßE", []int{2}}, {"łódź", []int{2}}, {"ŁÓDŹ", []int{2}}, {"lodz", nil}, {"οδυσσευς", []int{3}}, {"οδυσσευσ", []int{3}},
		{`\`, []int{5}}, {`"QUOTED" '`, []int{5}}, {"京に", []int{6}}, {"🎉", []int{7}}, {"two spaces", nil}, {"two  SPACES\nand", []int{8}},
		{"null\x00b", []int{9}}, {"k for KELVIN", []int{10}}, {"nothing of the kind", nil}, {"*", nil}, {"?", nil},
	} {
		var got []int
		for _, m := range r.list(ana, memory.Query{Text: test.text}) {
			got = append(got, slices.Index(contents, m.Content()))
		}
		slices.Sort(got)
		r.same(fmt.Sprintf("text %q", test.text), got, test.want)
	}
}

func listCursorIsStable(r *rig) {
	add := func(i int, at time.Time) memory.Change {
		f := memtest.Fact(ana, fmt.Sprintf("fact %02d", i))
		f.CreatedAt = at
		return memtest.Add(f)
	}
	var want []memory.Fact
	for i := range 12 {
		change := add(i, memtest.Epoch.Add(time.Duration(i/3)*time.Second)) // three share each time
		want = append(want, *change.After.Fact)
		r.apply(ana, change)
	}
	slices.SortFunc(want, func(a, b memory.Fact) int {
		if !a.CreatedAt.Equal(b.CreatedAt) {
			return b.CreatedAt.Compare(a.CreatedAt)
		}
		if a.ID > b.ID {
			return -1
		}
		return 1
	})
	var got []string
	q := memory.Query{Limit: 5}
	for pages := 1; ; pages++ {
		page, err := r.List(r.Context(), ana, q)
		r.must("list", err)
		for _, m := range page.Memories {
			got = append(got, m.ID())
		}
		r.apply(ana, add(100+pages, memtest.Epoch.Add(time.Hour))) // newer than the first page
		if q.Cursor = page.Next; q.Cursor == "" {
			r.same("pages", pages, 3)
			break
		}
	}
	var wantIDs []string
	for _, f := range want {
		wantIDs = append(wantIDs, f.ID)
	}
	r.same("ids over all pages", got, wantIDs)
	_, err := r.List(r.Context(), ana, memory.Query{Cursor: "not a cursor"})
	r.wantCode("a cursor that nobody gave", err, memory.Invalid)
	page, err := r.List(r.Context(), ana, memory.Query{Limit: 15})
	if err != nil || page.Next != "" {
		r.Errorf("a page that holds just all: got next %q, %v; want none", page.Next, err)
	}
}

func changesNarrowAndPage(r *rig) {
	facts := r.add(ana, "one", "two", "three")
	next := memtest.Fact(ana, "four")
	run := memtest.Run("replacing")
	receipt := r.applyRun(ana, run, memory.Replace(facts[0], next, memtest.Epoch, "", memtest.Person)...)
	r.apply(ana, memtest.Change(memory.ActionAdd, memtest.Profile(ana, "k", "v")), memtest.Retire(facts[1]))
	for _, test := range []struct {
		what string
		q    memory.ChangeQuery
		want []string
	}{
		{"nothing", memory.ChangeQuery{}, []string{"run 2/2", "run 2/1", "replacing/2", "replacing/1", "run 1/3", "run 1/2", "run 1/1"}},
		{"target", memory.ChangeQuery{Target: "fact:" + facts[1].ID}, []string{"run 2/2", "run 1/2"}},
		{"profile entry", memory.ChangeQuery{Target: "profile:k"}, []string{"run 2/1"}},
		{"fact that went", memory.ChangeQuery{Fact: facts[0].ID}, []string{"replacing/2", "replacing/1", "run 1/1"}},
		{"fact that came", memory.ChangeQuery{Fact: next.ID}, []string{"replacing/2", "replacing/1"}},
		{"run", memory.ChangeQuery{Run: "replacing"}, []string{"replacing/2", "replacing/1"}},
		{"how runs begin", memory.ChangeQuery{Runs: "run "}, []string{"run 2/1", "run 1/1"}},
		{"how one run begins", memory.ChangeQuery{Runs: "replaci"}, []string{"replacing/1"}},
		{"a whole run as a beginning", memory.ChangeQuery{Runs: "run 1"}, []string{"run 1/1"}},
		{"how a run ends", memory.ChangeQuery{Runs: "placing"}, nil},
		{"id", memory.ChangeQuery{ID: "run 1/2"}, []string{"run 1/2"}},
		{"action", memory.ChangeQuery{Action: memory.ActionReplace}, []string{"replacing/1"}},
		{"later than the replacement", memory.ChangeQuery{After: receipt.At}, []string{"run 2/2", "run 2/1"}},
		{"not later than just before it", memory.ChangeQuery{After: before(receipt.At), Action: memory.ActionAdd}, []string{"run 2/1", "replacing/2"}},
		{"nothing there", memory.ChangeQuery{Run: "none"}, nil},
	} {
		for _, limit := range []int{0, 1, 2} {
			test.q.Limit = limit
			changes, err := changesAll(r.Context(), r.Store, ana, test.q)
			r.must("changes", err)
			var got []string
			for _, c := range changes {
				got = append(got, c.ID)
			}
			r.same(fmt.Sprintf("changes by %s, %d a page", test.what, limit), got, test.want)
		}
	}
	_, err := r.Changes(r.Context(), ana, memory.ChangeQuery{Cursor: "not a cursor"})
	r.wantCode("a cursor that nobody gave", err, memory.Invalid)
}

func profileEntries(r *rig) {
	for _, key := range []string{"timezone", "name", "Ämter"} {
		r.apply(ana, memtest.Change(memory.ActionAdd, memtest.Profile(ana, key, "first")))
	}
	r.refuse("a key that is there", memory.Conflict, ana, memtest.Change(memory.ActionAdd, memtest.Profile(ana, "name", "second")))
	r.apply(ana, memtest.Change(memory.ActionUpdate, memtest.Profile(ana, "name", "second")))
	gone := memtest.Profile(ana, "timezone", "first")
	gone.Status = memory.Retired
	receipt := r.apply(ana, memtest.Change(memory.ActionRetire, gone))
	r.wantProfile("after update and retire", memory.At{}, "name=second", "Ämter=first")
	r.wantProfile("as of before the retire", memory.At{AsOf: before(receipt.At)}, "name=second", "timezone=first", "Ämter=first")
	r.apply(ana, memtest.Change(memory.ActionRestore, memtest.Profile(ana, "timezone", "third")))
	r.wantProfile("after restoring", memory.At{}, "name=second", "timezone=third", "Ämter=first")
}

func (r *rig) wantProfile(what string, at memory.At, want ...string) {
	r.Helper()
	entries, err := r.Profile(r.Context(), ana, at)
	r.must("profile", err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Key+"="+e.Value)
	}
	r.same(what, got, want)
}

func relations(r *rig) {
	facts := r.add(ana, "one", "two", "three")
	a, b, c := facts[0].ID, facts[1].ID, facts[2].ID
	r.apply(ana,
		memtest.Change(memory.ActionAdd, memtest.Relation(ana, a, b, memory.Refines)),
		memtest.Change(memory.ActionAdd, memtest.Relation(ana, a, b, memory.Contradicts)),
		memtest.Change(memory.ActionAdd, memtest.Relation(ana, c, a, memory.Follows)),
		memtest.Change(memory.ActionAdd, memtest.Relation(ana, a, c, memory.SameSubject)),
		memtest.Change(memory.ActionAdd, memtest.Relation(ana, b, c, memory.SameSubject)))
	of := func(id string, at memory.At) []string {
		got, err := r.Relations(r.Context(), ana, id, at)
		r.must("relations", err)
		var names []string
		for _, e := range got {
			names = append(names, memory.Image{Relation: &e}.Target())
		}
		return names
	}
	name := func(from, to string, kind memory.RelationKind) string {
		return "relation:" + from + ":" + to + ":" + string(kind)
	}
	all := []string{name(a, b, memory.Contradicts), name(a, b, memory.Refines), name(c, a, memory.Follows), name(a, c, memory.SameSubject)}
	slices.Sort(all)
	r.same("either way round", of(a, memory.At{}), all)

	gone := memtest.Relation(ana, a, b, memory.Refines)
	gone.Status = memory.Retired
	receipt := r.apply(ana, memtest.Change(memory.ActionRetire, gone))
	r.same("without the retired one", len(of(a, memory.At{})), 3)
	r.same("as of before", of(a, memory.At{AsOf: before(receipt.At)}), all)
	r.same("the other fact's", len(of(b, memory.At{})), 2)
	r.same("nobody's", len(of("none", memory.At{})), 0)
}

func summaries(r *rig) {
	first, second := memtest.Summary(ana, "c", "first"), memtest.Summary(ana, "c", "second")
	second.CreatedAt = memtest.Epoch.Add(time.Hour)
	r.apply(ana, memtest.Change(memory.ActionAdd, first))
	r.apply(ana, memtest.Change(memory.ActionAdd, second), memtest.Change(memory.ActionAdd, memtest.Summary(ana, "d", "other")))
	q := memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: "c"}
	r.lists("earlier ones stay", ana, q, "second", "first")
	first.Status = memory.Retired
	r.apply(ana, memtest.Change(memory.ActionRetire, first))
	r.lists("but for a retired one", ana, q, "second")
	r.same("by id, whatever its status", r.get(ana, first.ID)[0].Status(), memory.Retired)
}

func countsAddUp(r *rig) {
	r.same("of nobody", r.counts(ana), memory.Counts{})
	pending := memtest.Fact(ana, "pending")
	pending.Status = memory.Pending
	b := memtest.Batch(ana, "c", 0, "hello", "hi", "well")
	b.Jobs = []memory.Job{memtest.Job(ana, memory.JobLearn, "1"), memtest.Job(ana, memory.JobLearn, "2"), memtest.Job(ana, memory.JobLearn, "3")}
	r.append(ana, b)
	r.append(ana, memtest.Batch(ana, "d", 0, "hello"))
	r.apply(ana,
		memtest.Add(memtest.Fact(ana, "one")), memtest.Add(memtest.Fact(ana, "two")), memtest.Add(pending),
		memtest.Change(memory.ActionLink, memtest.Link(ana, memtest.Fact(team, "linked"))),
		memtest.Change(memory.ActionAdd, memtest.Summary(ana, "c", "summary")),
		memtest.Change(memory.ActionAdd, memtest.Profile(ana, "k", "v")))
	r.apply(ana, memtest.Retire(memtest.Fact(ana, "two")), memtest.TurnMark(memory.ActionRetire, b.Turns[2].ID, memory.Retired))
	held, err := r.Claim(r.Context(), []memory.JobKind{memory.JobLearn}, time.Hour)
	r.must("claim", err)
	r.must("park", r.Finish(r.Context(), held.Lease, memory.Outcome{Park: true}))
	_, err = r.Claim(r.Context(), []memory.JobKind{memory.JobLearn}, time.Hour)
	r.must("claim", err)

	want := memory.Counts{Facts: 2, Pending: 1, Turns: 3, Summaries: 1, Conversations: 2, Changes: 8, JobsQueued: 1, JobsParked: 1}
	r.same("Ana's", r.counts(ana), want)
	r.add(ben, "one")
	total, err := r.Totals(r.Context())
	r.must("totals", err)
	want.Facts, want.Changes = want.Facts+1, want.Changes+1
	r.same("everybody's", total, want)
}
