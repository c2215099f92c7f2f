package storetest

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var limitRules = []rule{
	{"Isolation", isolation},
	{"InvalidOwner", invalidOwner},
	{"CancelledContext", cancelledContext},
	{"LargeTexts", largeTexts},
	{"LimitsHaveABound", limitsHaveABound},
	{"ValuesAreTheCallers", valuesAreTheCallers},
	{"Traces", traces},
	{"CloseTwice", closeTwice},
}

// furnish gives an owner one of everything, under ids that all owners share.
func (r *rig) furnish(owner memory.Owner) {
	r.Helper()
	shared := func(f memory.Fact) memory.Fact {
		f.ID = memtest.ID("shared " + f.Content)
		return f
	}
	b := memtest.Batch(owner, "c", 0, "hello", "hi")
	for i := range b.Turns {
		b.Turns[i].ID = fmt.Sprint("turn ", i)
	}
	b.Jobs = []memory.Job{{ID: "job", Owner: owner, Kind: memory.JobLearn}}
	r.append(owner, b)
	summary := memtest.Summary(owner, "c", "of "+string(owner))
	summary.ID = "summary"
	run := memtest.Run("furnish")
	fact := shared(memtest.Fact(owner, "fact"))
	run.Vectors = []memory.Vector{memtest.Vector(fact.ID, fact.Content)}
	r.applyRun(owner, run,
		memtest.Add(fact), memtest.Change(memory.ActionAdd, summary),
		memtest.Change(memory.ActionLink, memtest.Link(owner, shared(memtest.Fact(memtest.Team, "linked")))),
		memtest.Change(memory.ActionAdd, memtest.Profile(owner, "key", string(owner))),
		memtest.Change(memory.ActionAdd, memtest.Relation(owner, fact.ID, "other", memory.Refines)),
		memtest.Change(memory.ActionAdd, memtest.Context(owner, "style", string(owner))),
		memtest.Change(memory.ActionUpdate, memory.ConversationMark{ID: "c", Title: string(owner), Status: memory.Active}))
	r.must("save trace", r.SaveTraces(r.Context(), 5, memory.Trace{ID: "trace", Owner: owner, Question: string(owner), At: memtest.Epoch}))
}

func isolation(r *rig) {
	owners := []memory.Owner{
		ana, ben, memory.User("other", "ana"), memory.Pool(memory.DefaultNamespace, "ana"),
		memory.User(memory.DefaultNamespace, "an"), memory.User(memory.DefaultNamespace, "ana/x"), memory.User(memory.DefaultNamespace, "ANA"), memory.User(memory.DefaultNamespace, "an_"),
	}
	was := map[memory.Owner]snapshot{}
	for _, o := range owners {
		r.same("before anything of "+string(o), r.snapshot(o), snapshot{})
		r.furnish(o)
		was[o] = r.snapshot(o)
		if got := was[o]; len(got.Export.Memories) != 5 || got.Export.Profile[0].Value != string(o) || got.Journal[0].Owner != o {
			r.Errorf("what %s has: got %+v, want just its own", o, got)
		}
		trace, err := r.Trace(r.Context(), o, "trace")
		if err != nil || trace.Question != string(o) {
			r.Errorf("trace of %s: got %q, %v", o, trace.Question, err)
		}
	}

	fact := r.fact(ana, memtest.ID("shared fact"))
	r.apply(ana, memtest.Retire(fact), memtest.TurnMark(memory.ActionRetire, "turn 0", memory.Retired))
	learned := memtest.Run("learned")
	learned.Learned = []string{"turn 1"}
	learned.Vectors = []memory.Vector{memtest.Vector(fact.ID, "other words")}
	r.applyRun(ana, learned)
	held := r.claim()
	r.must("finish", r.Finish(r.Context(), held.Lease, memory.Outcome{Park: true}))
	r.must("requeue", r.Requeue(r.Context(), held.Owner, held.ID))
	r.must("save trace", r.SaveTraces(r.Context(), 0, memory.Trace{ID: "other", Owner: ana, At: memtest.Epoch}))
	for _, o := range owners {
		if o == ana {
			continue
		}
		now := r.snapshot(o)
		if o == held.Owner { // which is Ana or whose job sorts before hers
			now.Jobs, now.Counts = was[o].Jobs, was[o].Counts
		}
		r.same("what "+string(o)+" has after Ana's changes", now, was[o])
		if _, err := r.Trace(r.Context(), o, "trace"); err != nil {
			r.Errorf("trace of %s after Ana's were cut: %v", o, err)
		}
	}

	wrong := memtest.Run("wrong")
	_, err := r.Apply(r.Context(), ben, wrong, memtest.Retire(fact))
	r.wantCode("Ben retires Ana's fact", err, memory.Invalid)
}

// calls are all methods that take an owner, each on something that is there once
// the owner is furnished, so that a call could do harm.
func calls(s memory.Store) map[string]func(context.Context, memory.Owner) error {
	conversation := func(o memory.Owner) memory.Conversation { return memory.Conversation{ID: "c", Owner: o} }
	lease := func(o memory.Owner) memory.Lease { return memory.Lease{Owner: o, Job: "job", Token: "none"} }
	return map[string]func(context.Context, memory.Owner) error{
		"Get":     func(ctx context.Context, o memory.Owner) error { _, err := s.Get(ctx, o, "turn 0"); return err },
		"List":    func(ctx context.Context, o memory.Owner) error { _, err := s.List(ctx, o, memory.Query{}); return err },
		"Profile": func(ctx context.Context, o memory.Owner) error { _, err := s.Profile(ctx, o, memory.At{}); return err },
		"Relations": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Relations(ctx, o, "x", memory.At{})
			return err
		},
		"Contexts": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Contexts(ctx, o, memory.At{})
			return err
		},
		"Changes": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Changes(ctx, o, memory.ChangeQuery{})
			return err
		},
		"Counts": func(ctx context.Context, o memory.Owner) error { _, err := s.Counts(ctx, o); return err },
		"Apply": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Apply(ctx, o, memtest.Run("new"), memtest.Add(memtest.Fact(o, "new")))
			return err
		},
		"Apply of nothing": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Apply(ctx, o, memtest.Run("nothing"))
			return err
		},
		"Append": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Append(ctx, o, memory.Batch{Conversation: conversation(o), Turns: memtest.Batch(o, "c", 7, "new").Turns})
			return err
		},
		"Conversations": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Conversations(ctx, o, memory.ConversationQuery{})
			return err
		},
		"Turns": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Turns(ctx, o, memory.TurnQuery{})
			return err
		},
		"Extend": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Extend(ctx, lease(o), time.Minute)
			return err
		},
		"Finish": func(ctx context.Context, o memory.Owner) error {
			return s.Finish(ctx, lease(o), memory.Outcome{Done: true})
		},
		"Jobs":    func(ctx context.Context, o memory.Owner) error { _, err := s.Jobs(ctx, o); return err },
		"Requeue": func(ctx context.Context, o memory.Owner) error { return s.Requeue(ctx, o, "job") },
		"Versions": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Versions(ctx, []memory.Owner{ana, o})
			return err
		},
		"Since": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Since(ctx, o, model, 0, func(memory.Item) error { return nil })
			return err
		},
		"SaveTraces": func(ctx context.Context, o memory.Owner) error {
			return s.SaveTraces(ctx, 9, memory.Trace{ID: "kept", Owner: ana, At: memtest.Epoch}, memory.Trace{ID: "new", Owner: o, At: memtest.Epoch})
		},
		"Trace": func(ctx context.Context, o memory.Owner) error { _, err := s.Trace(ctx, o, "trace"); return err },
		"Traces": func(ctx context.Context, o memory.Owner) error {
			_, err := s.Traces(ctx, o, memory.TraceQuery{})
			return err
		},
	}
}

func invalidOwner(r *rig) {
	r.furnish(ana)
	was := r.snapshot(ana)
	for name, call := range calls(r.Store) {
		for _, o := range []memory.Owner{"", "ana", "default/user/", "default/user", "default//ana", "default/user/a/b", "DEFAULT/USER/ana", "default/global/x"} {
			r.wantCode(fmt.Sprintf("%s for %q", name, o), call(r.Context(), o), memory.Invalid)
		}
	}
	r.same("after all that", r.snapshot(ana), was)
	_, err := r.Trace(r.Context(), ana, "kept")
	r.wantCode("a trace saved beside one of nobody", err, memory.NotFound)
}

func cancelledContext(r *rig) {
	r.furnish(ana)
	was := r.snapshot(ana)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	all := calls(r.Store)
	all["Claim"] = func(ctx context.Context, _ memory.Owner) error {
		_, err := r.Claim(ctx, learning, time.Minute)
		return err
	}
	all["Totals"] = func(ctx context.Context, _ memory.Owner) error { _, err := r.Totals(ctx); return err }
	for name, call := range all {
		if err := call(ctx, ana); !errors.Is(err, context.Canceled) {
			r.Errorf("%s with a cancelled context: got %v, want %v", name, err, context.Canceled)
		}
	}
	r.same("after all that", r.snapshot(ana), was)
	_, err := r.Trace(r.Context(), ana, "new")
	r.wantCode("a trace saved with a cancelled context", err, memory.NotFound)
	for name, call := range calls(r.Store) {
		switch err := call(r.Context(), ana); name {
		case "Extend", "Finish":
			r.wantCode(name+" with a live one", err, memory.LeaseLost)
		case "Requeue":
			r.wantCode(name+" with a live one", err, memory.Conflict)
		default:
			r.must(name+" with a live one", err)
		}
	}
}

func largeTexts(r *rig) {
	odd := "\x00\x01 ünïcödé \u2028 e\u0301 \U0001F469\u200D\U0001F680 مرحبا 漢字 \ufeff\ufffd <>&\"'\\ %_ \r\n\t"
	large := strings.Repeat(odd, (1<<20)/len(odd)+1)
	fact, summary := memtest.Fact(ana, large), memtest.Summary(ana, "c", large)
	fact.Category, fact.Tags, fact.Subject = odd, []string{odd, "", "a,b", "a b"}, odd
	b := memtest.Batch(ana, "c", 0, large, odd, "")
	b.Turns[0].Name, b.Turns[0].Ref, b.Conversation.Title, b.Conversation.Contexts = odd, odd, odd, []string{odd, ","}
	entry := memtest.Profile(ana, odd, large)
	r.append(ana, b)
	document := memtest.Context(ana, odd, large)
	r.apply(ana, memtest.Add(fact), memtest.Change(memory.ActionAdd, summary), memtest.Change(memory.ActionAdd, entry), memtest.Change(memory.ActionAdd, document))

	got := r.get(ana, fact.ID, summary.ID, b.Turns[0].ID, b.Turns[1].ID)
	for i, want := range []string{large, large, large, odd} {
		if content := got[i].Content(); content != want {
			r.Errorf("%s of %d bytes: got %d bytes back, first difference at %d", got[i].Kind(), len(want), len(content), differsAt(content, want))
		}
	}
	r.same("category and tags", []any{got[0].Fact.Category, got[0].Fact.Tags, got[0].Fact.Subject}, []any{fact.Category, fact.Tags, fact.Subject})
	r.same("name and ref", []string{got[2].Turn.Name, got[2].Turn.Ref}, []string{odd, odd})
	r.same("title and contexts", []any{r.conversation("c").Title, r.conversation("c").Contexts}, []any{odd, b.Conversation.Contexts})
	profile, err := r.Profile(r.Context(), ana, memory.At{})
	if err != nil || len(profile) != 1 || profile[0].Key != odd || profile[0].Value != large {
		r.Errorf("profile entry of %d bytes: got %d entries, %v", len(large), len(profile), err)
	}
	if got := r.contexts(ana, memory.At{}); len(got) != 1 || got[0].Title != odd || got[0].Content != large {
		r.Errorf("context of %d bytes: got %d contexts", len(large), len(got))
	}
	for _, c := range r.changes(ana, memory.ChangeQuery{Target: "fact:" + fact.ID}) {
		if c.After.Fact.Content != large {
			r.Errorf("journal: got %d bytes back, first difference at %d", len(c.After.Fact.Content), differsAt(c.After.Fact.Content, large))
		}
	}
	r.same("found by its last words", len(r.list(ana, memory.Query{Text: odd + odd})), 1)
	r.same("found by a tag", len(r.list(ana, memory.Query{Tag: "a,b"})), 1)
	r.same("a part of a tag", len(r.list(ana, memory.Query{Tag: "b"})), 0)
}

func differsAt(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return i
}

func limitsHaveABound(r *rig) {
	const many = 501
	var changes []memory.Change
	for i := range many {
		changes = append(changes, memtest.Add(memtest.Fact(ana, fmt.Sprint("fact ", i))))
	}
	r.apply(ana, changes...)
	for limit, want := range map[int]int{0: 50, -1: 50, 1: 1, 500: 500, 501: 500, 1 << 30: 500} {
		page, err := r.List(r.Context(), ana, memory.Query{Limit: limit})
		if err != nil || len(page.Memories) != want || page.Next == "" {
			r.Errorf("list with limit %d: got %d, next %q, %v; want %d and more", limit, len(page.Memories), page.Next, err, want)
		}
		journal, err := r.Changes(r.Context(), ana, memory.ChangeQuery{Limit: limit})
		if err != nil || len(journal.Changes) != want || journal.Next == "" {
			r.Errorf("changes with limit %d: got %d, next %q, %v; want %d and more", limit, len(journal.Changes), journal.Next, err, want)
		}
	}
	r.same("counted", r.counts(ana).Facts, many)
}

func valuesAreTheCallers(r *rig) {
	fact := fullFact(ana)
	b := memtest.Batch(ana, "c", 0, "hello")
	b.Conversation.Contexts, b.Jobs = []string{"x"}, []memory.Job{job(ana, "j")}
	b.Jobs[0].Turns = []string{"t"}
	vector := memtest.Vector(fact.ID, fact.Content)
	run := r.run()
	run.Vectors = []memory.Vector{vector}
	r.append(ana, b)
	fact.Status = memory.Active
	r.applyRun(ana, run, memtest.Add(fact))
	was := r.deepCopy(r.snapshot(ana))

	spoil := func(f *memory.Fact) {
		f.Content, f.Tags[0], f.Provenance.Turns[0], f.Provenance.Quote.Start, f.Metadata[2] = "spoilt", "spoilt", "spoilt", 99, '!'
	}
	spoil(&fact)
	vector.Values[0], b.Turns[0].Content, b.Conversation.Contexts[0], b.Jobs[0].Turns[0] = 9, "spoilt", "spoilt", "spoilt"
	r.same("after the writer wrote on", r.snapshot(ana), was)

	read := r.snapshot(ana)
	for _, m := range read.Export.Memories {
		if m.Fact != nil {
			spoil(m.Fact)
		}
	}
	spoil(read.Journal[0].After.Fact)
	read.Conversations[0].Contexts[0], read.Jobs[0].Turns[0] = "spoilt", "spoilt"
	for i := range read.Items {
		if f := read.Items[i].Memory.Fact; f != nil {
			spoil(f)
			read.Items[i].Vector[0] = 9
		}
	}
	r.same("after a reader wrote to what it got", r.snapshot(ana), was)
}

// deepCopy returns a snapshot that shares nothing with s.
func (r *rig) deepCopy(s snapshot) snapshot {
	r.Helper()
	var b bytes.Buffer
	var out snapshot
	r.must("encode", gob.NewEncoder(&b).Encode(s))
	r.must("decode", gob.NewDecoder(&b).Decode(&out))
	return out
}

func traces(r *rig) {
	trace := func(owner memory.Owner, n int) memory.Trace {
		return memory.Trace{
			ID: fmt.Sprint("trace ", n), Owner: owner, Conversation: "c", Door: "chat", Question: "tea?",
			At: memtest.Epoch.Add(time.Duration(n) * time.Second), Found: 3,
			Hits:      []memory.TraceHit{{ID: "f", Kind: memory.KindFact, Content: "tea", Score: 0.5, Why: memory.Why{{Name: "words", Value: 0.25}, {Name: "fused", Value: 0.5}}}},
			Cut:       []memory.TraceHit{{ID: "t", Kind: memory.KindTurn, Cut: "threshold"}},
			Placement: "tail", Block: "tea\n", Degraded: []string{"vector: slow"}, Took: 1500 * time.Nanosecond,
			Remembered: true, Reranked: 8, RerankOf: 24, Misspelt: []memory.Misspelt{{Word: "tae", Meant: []string{"tea"}}},
		}
	}
	r.must("save", r.SaveTraces(r.Context(), 3, trace(ana, 1), trace(ben, 1), trace(ana, 3)))
	got, err := r.Trace(r.Context(), ana, "trace 1")
	r.must("trace", err)
	r.same("trace", got, trace(ana, 1))
	r.wantTime("its time", got.At, trace(ana, 1).At)

	r.must("save", r.SaveTraces(r.Context(), 3, trace(ana, 4), trace(ana, 2)))
	_, err = r.Trace(r.Context(), ana, "trace 1")
	r.wantCode("the oldest of four", err, memory.NotFound)
	for n := 2; n <= 4; n++ {
		if _, err := r.Trace(r.Context(), ana, fmt.Sprint("trace ", n)); err != nil {
			r.Errorf("one of the newest three, %d: %v", n, err)
		}
	}
	if _, err := r.Trace(r.Context(), ben, "trace 1"); err != nil {
		r.Errorf("another owner's only trace: %v", err)
	}
	r.listed(trace)
	changed := trace(ana, 4)
	changed.Question = "milk?"
	r.must("save", r.SaveTraces(r.Context(), 3, changed))
	if got, err := r.Trace(r.Context(), ana, "trace 4"); err != nil || got.Question != "milk?" {
		r.Errorf("a trace saved again: got %q, %v; want the later", got.Question, err)
	}
	r.must("save", r.SaveTraces(r.Context(), 0, trace(ana, 5)))
	_, err = r.Trace(r.Context(), ana, "trace 5")
	r.wantCode("keeping none", err, memory.NotFound)
	r.same("traces are no memory", r.version(ana), int64(0))
}

// listed checks what is listed of ana's traces 2 to 4 and of ben's first.
func (r *rig) listed(trace func(memory.Owner, int) memory.Trace) {
	r.Helper()
	odd := trace(ana, 3)
	odd.Conversation, odd.Door = "a%_!\"<\\C", "search"
	long := trace(ana, 2)
	long.Conversation = strings.Repeat("ü", 300)
	r.must("save", r.SaveTraces(r.Context(), 3, odd, long))
	for _, c := range []struct {
		of   memory.Owner
		q    memory.TraceQuery
		want string
	}{
		{ana, memory.TraceQuery{}, "4 3 2"},
		{ana, memory.TraceQuery{Limit: 2}, "4 3"},
		{ana, memory.TraceQuery{Conversation: "c"}, "4"},
		{ana, memory.TraceQuery{Conversation: "C"}, ""},
		{ana, memory.TraceQuery{Conversation: odd.Conversation}, "3"},
		{ana, memory.TraceQuery{Conversation: "a%"}, ""},
		{ana, memory.TraceQuery{Conversation: long.Conversation}, "2"},
		{ana, memory.TraceQuery{Conversation: long.Conversation + "ü"}, ""},
		{ana, memory.TraceQuery{Door: "chat"}, "4 2"},
		{ana, memory.TraceQuery{Conversation: "c", Door: "search"}, ""},
		{ben, memory.TraceQuery{}, "1"},
	} {
		found, err := r.Traces(r.Context(), c.of, c.q)
		r.must("list traces", err)
		var got []string
		for _, t := range found {
			got = append(got, strings.TrimPrefix(t.ID, "trace "))
		}
		r.same(fmt.Sprintf("traces of %s that are %.60q", c.of, fmt.Sprint(c.q)), strings.Join(got, " "), c.want)
		if len(found) > 0 && c.q.Conversation == odd.Conversation {
			r.same("a trace in a list", found[0], odd)
		}
	}
	r.must("save", r.SaveTraces(r.Context(), 3, trace(ana, 3), trace(ana, 2)))
}

func closeTwice(r *rig) {
	r.add(ana, "one")
	r.must("close", r.Close())
	r.must("close again", r.Close())
}
