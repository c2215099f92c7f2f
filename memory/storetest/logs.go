package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var logRules = []rule{
	{"AppendEnqueuesOrNeither", appendEnqueuesOrNeither},
	{"AppendTwiceEqualsOnce", appendTwiceEqualsOnce},
	{"MarksLeaveAndRejoin", marksLeaveAndRejoin},
	{"MarksAreMadeOnce", marksAreMadeOnce},
	{"PathsAreKeptTo", pathsAreKeptTo},
	{"PathsLetOneThrough", pathsLetOneThrough},
	{"PathsBringNothingBack", pathsBringNothingBack},
	{"PathsEndWithTheirConversation", pathsEndWithTheirConversation},
	{"TurnsAreFound", turnsAreFound},
	{"ConversationsKeepTheirFields", conversationsKeepTheirFields},
	{"WrongBatchesAreInvalid", wrongBatchesAreInvalid},
}

func appendEnqueuesOrNeither(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	b.Jobs = []memory.Job{memtest.Job(ana, memory.JobLearn, "j")}
	b.Jobs[0].Conversation, b.Jobs[0].Turns = "c", []string{b.Turns[0].ID}
	b.Vectors = []memory.Vector{memtest.Vector(b.Turns[0].ID, "hello")}
	bad := b
	bad.Run, bad.Marks = "marks", []memory.Change{memtest.TurnMark(memory.ActionUpdate, "no such turn", memory.Replaced)}
	was := r.snapshot(ana)
	_, err := r.Append(r.Context(), ana, bad)
	r.wantCode("a batch whose mark is of no turn", err, memory.Conflict)
	r.same("after the refused batch", r.snapshot(ana), was)

	receipt := r.append(ana, b)
	if receipt.Again || receipt.Version != 1 {
		r.Errorf("receipt: got %+v, want version 1", receipt)
	}
	job := b.Jobs[0]
	job.State, job.CreatedAt, job.RunAt = memory.JobQueued, receipt.At, receipt.At
	r.same("jobs", r.jobs(ana), []memory.Job{job})
	turns := r.turns(ana, memory.TurnQuery{})
	for i := range b.Turns {
		b.Turns[i].RecordedAt, b.Turns[i].Version = receipt.At, receipt.Version
	}
	r.same("turns", turns, b.Turns)
	items, _ := r.since(ana, 0)
	if len(items) != 2 || (len(items[0].Vector) == 0) == (len(items[1].Vector) == 0) {
		r.Errorf("what recall may see: got %+v, want two turns, one with a vector", items)
	}
}

func appendTwiceEqualsOnce(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	b.Jobs = []memory.Job{memtest.Job(ana, memory.JobLearn, "j")}
	first := r.append(ana, b)
	held, err := r.Claim(r.Context(), []memory.JobKind{memory.JobLearn}, time.Hour)
	r.must("claim", err)
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Done: true}))
	was := r.snapshot(ana)

	other := b
	other.Turns = []memory.Turn{b.Turns[0], b.Turns[1]}
	other.Turns[1].Content = "other words"
	other.Run, other.Marks = "marks", []memory.Change{memtest.TurnMark(memory.ActionUpdate, b.Turns[0].ID, memory.Replaced)}
	other.Jobs = append(other.Jobs, memtest.Job(ana, memory.JobLearn, "k"))
	second := r.append(ana, other)
	if !second.Again || second.Version != first.Version {
		r.Errorf("second receipt: got %+v, want again at version %d", second, first.Version)
	}
	r.same("after appending twice", r.snapshot(ana), was)

	more := memtest.Batch(ana, "c", 0, "hello", "hi", "how are you?")
	more.Jobs = b.Jobs
	third := r.append(ana, more)
	if third.Again || third.Version != first.Version+1 {
		r.Errorf("receipt of one more turn: got %+v, want version %d", third, first.Version+1)
	}
	turns := r.turns(ana, memory.TurnQuery{})
	if len(turns) != 3 || turns[0].Version != first.Version || turns[2].Version != third.Version {
		r.Errorf("turns after one more: got %+v, want the first two as they were and the third", turns)
	}
	r.same("a job that is done is not queued again", len(r.jobs(ana)), 0)
}

func marksLeaveAndRejoin(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	first := r.append(ana, b)
	other := memtest.Turn(ana, "c", 1, memory.RoleAssistant, "good day")
	other.ID, other.Chain = memtest.ID("regenerated"), "chain regenerated"
	branch := memory.Batch{
		Conversation: memtest.Conversation(ana, "c"),
		Turns:        []memory.Turn{other},
		Run:          "regenerate",
		Marks:        []memory.Change{memtest.TurnMark(memory.ActionUpdate, b.Turns[1].ID, memory.Replaced)},
	}
	branch.Marks[0].Base = first.Version
	second := r.append(ana, branch)
	r.wantTurns("the current path", memory.TurnQuery{}, "hello", "good day")
	r.wantTurns("every branch", memory.TurnQuery{Statuses: allStatuses}, "hello", "hi", "good day")
	r.wantTurns("as of before", memory.TurnQuery{AsOf: first.At}, "hello", "hi")
	r.lists("what is recalled", ana, memory.Query{Kinds: allKinds, Text: "hi"})
	items, _ := r.since(ana, first.Version)
	if len(items) != 2 || items[0].Removed == items[1].Removed {
		r.Errorf("since the first batch: got %+v, want one turn come and one gone", items)
	}

	back := memory.Batch{
		Conversation: memtest.Conversation(ana, "c"),
		Run:          "back",
		Marks: []memory.Change{
			memtest.TurnMark(memory.ActionUpdate, other.ID, memory.Replaced),
			memtest.TurnMark(memory.ActionRestore, b.Turns[1].ID, memory.Active),
		},
	}
	r.append(ana, back)
	r.wantTurns("back on the old path", memory.TurnQuery{}, "hello", "hi")
	r.wantTurns("as of the branch", memory.TurnQuery{AsOf: second.At}, "hello", "good day")
	journal := r.changes(ana, memory.ChangeQuery{Target: "turn:" + b.Turns[1].ID})
	if len(journal) != 2 || journal[0].ID != "back/2" || journal[1].Before.Status() != memory.Active || journal[1].After.Status() != memory.Replaced {
		r.Errorf("journal of the turn that left and rejoined: got %+v", journal)
	}
	r.same("messages on the path", r.conversation("c").MessageCount, 2)
}

func (r *rig) wantTurns(what string, q memory.TurnQuery, want ...string) {
	r.Helper()
	var got []string
	for _, t := range r.turns(ana, q) {
		got = append(got, t.Content)
	}
	slices.Sort(got) // at one place of two branches the ids decide
	slices.Sort(want)
	r.same(what, got, want)
}

func (r *rig) conversation(id string) memory.Conversation {
	r.Helper()
	page, err := r.Conversations(r.Context(), ana, memory.ConversationQuery{IDs: []string{id}})
	if err != nil || len(page.Conversations) != 1 {
		r.Fatalf("conversation %s: got %+v, %v", id, page, err)
	}
	return page.Conversations[0]
}

func marksAreMadeOnce(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi")
	r.append(ana, b)
	leave := memory.Batch{
		Conversation: memtest.Conversation(ana, "c"),
		Run:          "leave",
		Marks:        []memory.Change{memtest.TurnMark(memory.ActionUpdate, b.Turns[1].ID, memory.Replaced)},
	}
	first := r.append(ana, leave)
	r.apply(ana, memtest.TurnMark(memory.ActionRestore, b.Turns[1].ID, memory.Active))
	was := r.snapshot(ana)
	if again := r.append(ana, leave); !again.Again {
		r.Errorf("a batch of marks alone, twice: got %+v, want again", again)
	}
	r.same("after the second time", r.snapshot(ana), was)

	leave.Turns = memtest.Batch(ana, "c", 2, "and now?").Turns
	if more := r.append(ana, leave); more.Again || more.Version != first.Version+2 {
		r.Errorf("another turn under the same run: got %+v, want it written", more)
	}
	r.wantTurns("the mark is not made again", memory.TurnQuery{}, "hello", "hi", "and now?")
	if run := r.applyRun(ana, memtest.Run("leave")); !run.Again {
		r.Errorf("the run of the marks, applied: got %+v, want again", run)
	}
}

func pathsAreKeptTo(r *rig) {
	known := memtest.Batch(ana, "c", 0, "hello", "hi", "how are you?", "well")
	r.append(ana, known)
	r.append(ana, memtest.Batch(ana, "d", 3, "said elsewhere", "and answered"))
	id := func(i int) string { return known.Turns[i].ID }
	leaves := func(ids ...string) (marks []memory.Change) {
		for _, id := range ids {
			marks = append(marks, memtest.TurnMark(memory.ActionUpdate, id, memory.Replaced))
		}
		return marks
	}
	back := func(id string) memory.Change { return memtest.TurnMark(memory.ActionRestore, id, memory.Active) }
	other := memtest.Turn(ana, "c", 3, memory.RoleAssistant, "not so well")
	other.ID, other.Chain = memtest.ID("another answer"), "chain another"
	beside := other
	beside.ID, beside.Chain, beside.Status = memtest.ID("beside"), "chain beside", memory.Replaced
	next := memtest.Turn(ana, "c", 4, memory.RoleUser, "why?")
	for _, test := range []struct {
		what  string
		turns []memory.Turn
		marks []memory.Change
		path  memory.Path
		holds bool
	}{
		{"a second answer", []memory.Turn{other}, nil, memory.Path{After: id(2), From: 3, Turns: []string{other.ID}}, false},
		{"one in the place of a turn before the last", []memory.Turn{other}, leaves(id(3)), memory.Path{After: id(1), From: 2, Turns: []string{other.ID}}, false},
		{"one after a turn that is replaced", []memory.Turn{next}, leaves(id(3)), memory.Path{After: id(3), From: 4, Turns: []string{next.ID}}, false},
		{"one after a turn that is forgotten", []memory.Turn{next}, []memory.Change{memtest.TurnMark(memory.ActionRetire, id(3), memory.Retired)}, memory.Path{After: id(3), From: 4, Turns: []string{next.ID}}, false},
		{"marks that leave more", nil, leaves(id(2)), memory.Path{After: id(1), From: 2}, false},
		{"one beside that is named as if there were no other", []memory.Turn{beside}, nil, memory.Path{After: id(2), From: 3, Turns: []string{beside.ID}}, false},
		{"another answer in its place", []memory.Turn{other}, leaves(id(3)), memory.Path{After: id(2), From: 3, Turns: []string{other.ID}}, true},
		{"one after it", []memory.Turn{next}, nil, memory.Path{After: other.ID, From: 4, Turns: []string{next.ID}}, true},
		{"back to the first answer", nil, append(leaves(other.ID, next.ID), back(id(3))), memory.Path{After: id(2), From: 3, Turns: []string{id(3)}}, true},
		{"all anew", nil, leaves(id(0), id(1), id(2), id(3)), memory.Path{}, true},
	} {
		b := memory.Batch{Conversation: memtest.Conversation(ana, "c"), Turns: test.turns, Run: test.what, Marks: test.marks, Path: &test.path}
		was := r.snapshot(ana)
		_, err := r.Append(r.Context(), ana, b)
		if test.holds {
			r.must(test.what, err)
			was = r.snapshot(ana)
			_, err = r.Append(r.Context(), ana, b)
			r.must(test.what+", again", err)
		} else {
			r.wantCode(test.what, err, memory.Conflict)
		}
		r.same("after "+test.what, r.snapshot(ana), was)
	}
	forgotten := memtest.Turn(ana, "c", 0, memory.RoleUser, "forgotten")
	forgotten.ID, forgotten.Status = memtest.ID("forgotten"), memory.Retired
	after := memtest.Turn(ana, "c", 1, memory.RoleAssistant, "kept")
	after.ID = memtest.ID("kept")
	r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, "c"), Turns: []memory.Turn{forgotten, after}, Path: &memory.Path{Turns: []string{forgotten.ID, after.ID}}})
	r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, "c"), Turns: []memory.Turn{next, beside}}) // which are there
	_, err := r.Append(r.Context(), ana, memory.Batch{
		Conversation: memtest.Conversation(ana, "c"), Run: "marks what is forgotten", Marks: leaves(forgotten.ID, after.ID), Path: &memory.Path{},
	})
	r.wantCode("a turn that was forgotten leaves the path", err, memory.Conflict)
}

// Of several that put an answer at the same place at once, one is written.
func pathsLetOneThrough(r *rig) {
	var written atomic.Int64
	question := memtest.Batch(ana, "c", 0, "hello")
	r.append(ana, question)
	together(func(worker int) {
		answer := memtest.Turn(ana, "c", 1, memory.RoleAssistant, fmt.Sprint("answer ", worker))
		answer.ID = memtest.ID(answer.Content)
		b := memory.Batch{
			Conversation: question.Conversation, Turns: []memory.Turn{answer},
			Path: &memory.Path{After: question.Turns[0].ID, From: 1, Turns: []string{answer.ID}},
		}
		switch _, err := r.Append(r.Context(), ana, b); {
		case err == nil:
			written.Add(1)
		case !errors.Is(err, memory.Conflict):
			r.Errorf("answer %d: got %v, want it written or a Conflict", worker, err)
		}
	})
	r.same("answers written", written.Load(), int64(1))
	r.same("turns", len(r.turns(ana, memory.TurnQuery{})), 2)
}

func turnsAreFound(r *rig) {
	for _, c := range []string{"d", "c"} {
		r.append(ana, memtest.Batch(ana, c, 0, c+"0", c+"1", c+"2", c+"3"))
	}
	named := memtest.Batch(ana, "e", 0, "e0", "e1", "e2")
	named.Turns[0].Ref, named.Turns[1].Ref, named.Turns[2].Ref = "one", "two", "one"
	r.append(ana, named)
	gone := memtest.Turn(ana, "c", 3, memory.RoleAssistant, "")
	r.apply(ana, memtest.TurnMark(memory.ActionUpdate, gone.ID, memory.Replaced))
	chains := []string{"chain c 3", "chain c 1", "chain nobody"}
	for _, test := range []struct {
		what string
		q    memory.TurnQuery
		want []string
	}{
		{"all", memory.TurnQuery{}, []string{"c0", "c1", "c2", "d0", "d1", "d2", "d3", "e0", "e1", "e2"}},
		{"conversation", memory.TurnQuery{Conversation: "d"}, []string{"d0", "d1", "d2", "d3"}},
		{"ids", memory.TurnQuery{IDs: []string{gone.ID, memtest.Turn(ana, "d", 0, "", "").ID, "none"}}, []string{"d0"}},
		{"ids of any status", memory.TurnQuery{IDs: []string{gone.ID}, Statuses: allStatuses}, []string{"c3"}},
		{"chains, of any status", memory.TurnQuery{Chains: chains}, []string{"c1", "c3"}},
		{"active chains", memory.TurnQuery{Chains: chains, Statuses: []memory.Status{memory.Active}}, []string{"c1"}},
		{"refs", memory.TurnQuery{Refs: []string{"one", "none"}}, []string{"e0", "e2"}},
		{"refs of one conversation", memory.TurnQuery{Refs: []string{"one"}, Conversation: "d"}, nil},
		{"last two", memory.TurnQuery{Last: 2}, []string{"c1", "c2", "d2", "d3", "e1", "e2"}},
		{"last two of one", memory.TurnQuery{Last: 2, Conversation: "d"}, []string{"d2", "d3"}},
		{"last one unlearned", memory.TurnQuery{Last: 1, Unlearned: true}, []string{"c2", "d2", "e2"}},
		{"replaced", memory.TurnQuery{Statuses: []memory.Status{memory.Replaced}}, []string{"c3"}},
		{"nothing there", memory.TurnQuery{Conversation: "none"}, nil},
	} {
		var got []string
		for _, t := range r.turns(ana, test.q) {
			got = append(got, t.Content)
		}
		r.same("turns by "+test.what, got, test.want)
	}
}

func conversationsKeepTheirFields(r *rig) {
	b := memtest.Batch(ana, "c", 0, "hello", "hi", "well")
	b.Turns[2].Role = memory.RoleTool
	b.Conversation.Project, b.Conversation.Agent, b.Conversation.Rules = "garden", "cook", "be brief"
	b.Conversation.Contexts, b.Conversation.MessageCount = []string{"x", "y"}, 99
	r.append(ana, b)
	want := b.Conversation
	want.MessageCount = 2
	r.same("a new conversation", r.conversation("c"), want)

	more := memtest.Batch(ana, "c", 3, "bye")
	more.Conversation.Title, more.Conversation.Project, more.Conversation.UpdatedAt = "Greetings", "house", memtest.Epoch.Add(time.Hour)
	r.append(ana, more)
	want.Title, want.UpdatedAt, want.MessageCount = "Greetings", memtest.Epoch.Add(time.Hour), 3
	r.same("an old one", r.conversation("c"), want)
	late := memtest.Batch(ana, "c", 4, "an older batch that comes late")
	late.Conversation.Title = "Other"
	r.append(ana, late)
	want.MessageCount = 4
	r.same("a time before its last", r.conversation("c"), want)
	r.apply(ana, memtest.TurnMark(memory.ActionRetire, late.Turns[0].ID, memory.Retired))
	r.same("messages without a retired turn", r.conversation("c").MessageCount, 3)

	untimed := memory.Batch{Conversation: memory.Conversation{ID: "u", Owner: ana}}
	r.clock.Advance(24 * time.Hour)
	receipt := r.append(ana, untimed)
	if got := r.conversation("u"); !got.CreatedAt.Equal(receipt.At) || !got.UpdatedAt.Equal(receipt.At) {
		r.Errorf("a conversation without times: got %v and %v, want the append's, %v", got.CreatedAt, got.UpdatedAt, receipt.At)
	}
	for i := range 5 {
		r.append(ana, memory.Batch{Conversation: memtest.Conversation(ana, fmt.Sprintf("z%d", i))})
	}
	var got []string
	for q := (memory.ConversationQuery{Limit: 3}); ; {
		page, err := r.Conversations(r.Context(), ana, q)
		r.must("conversations", err)
		for _, c := range page.Conversations {
			got = append(got, c.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	r.same("most recently updated first", got, []string{"u", "c", "z4", "z3", "z2", "z1", "z0"})
	page, err := r.Conversations(r.Context(), ana, memory.ConversationQuery{Project: "garden"})
	if err != nil || len(page.Conversations) != 1 {
		r.Errorf("conversations of a project: got %+v, %v", page, err)
	}
}

func wrongBatchesAreInvalid(r *rig) {
	for why, spoil := range map[string]func(*memory.Batch){
		"no conversation":                func(b *memory.Batch) { b.Conversation.ID = "" },
		"another owner's conversation":   func(b *memory.Batch) { b.Conversation.Owner = ben },
		"another owner's turn":           func(b *memory.Batch) { b.Turns[0].Owner = ben },
		"a turn of another conversation": func(b *memory.Batch) { b.Turns[0].Conversation = "d" },
		"a turn without an id":           func(b *memory.Batch) { b.Turns[0].ID = "" },
		"a turn with a fact's status":    func(b *memory.Batch) { b.Turns[0].Status = memory.Superseded },
		"a turn that is not UTF-8":       func(b *memory.Batch) { b.Turns[0].Content = "\xff" },
		"another owner's job":            func(b *memory.Batch) { b.Jobs = []memory.Job{memtest.Job(ben, memory.JobLearn, "j")} },
		"marks without a run": func(b *memory.Batch) {
			b.Marks = []memory.Change{memtest.TurnMark(memory.ActionRetire, "t", memory.Retired)}
		},
		"a mark of a fact": func(b *memory.Batch) {
			b.Run, b.Marks = "r", []memory.Change{memtest.Add(memtest.Fact(ana, "x"))}
		},
	} {
		b := memtest.Batch(ana, "c", 0, "hello")
		spoil(&b)
		_, err := r.Append(r.Context(), ana, b)
		r.wantCode(why, err, memory.Invalid)
	}
	r.same("version after all that", r.version(ana), int64(0))
}
