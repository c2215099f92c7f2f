package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// counted counts searches.
type counted struct {
	memory.Searcher
	n atomic.Int32
}

func (c *counted) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	if s.Limit != compare.MaxOpposed { // which is for what is written, to be compared with what is known
		c.n.Add(1)
	}
	return c.Searcher.Search(ctx, s)
}

// rule sets the rules of recall and returns a count of the searches.
func (r *rig) rule(rules core.RecallRules) *counted {
	c := &counted{Searcher: r.Searcher}
	r.Searcher, r.Opts.Recall = c, rules
	return c
}

func (r *rig) find(t *testing.T, q retrieve.Question) retrieve.Result {
	t.Helper()
	if q.Scope.Owner == "" {
		q.Scope.Owner = ana
	}
	return try(r.Retrieve.Recall(context.Background(), q)).orFail(t)
}

// chat recalls as a chat does.
func (r *rig) chat(t *testing.T, q retrieve.Question) retrieve.PromptMemory {
	t.Helper()
	q.Scope.Owner, q.Budget = cmp.Or(q.Scope.Owner, ana), cmp.Or(q.Budget, 10_000)
	return r.prepare(context.Background(), q)
}

func contents(hits []memory.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Memory.Content())
	}
	return out
}

func marked(hits []memory.Hit, mark string) []string {
	return contents(slices.DeleteFunc(slices.Clone(hits), func(h memory.Hit) bool { return h.Why.Get(mark) == 0 }))
}

var pets = []string{"User has a dog named Rex", "User has a cat named Mirabel", "User sings in a choir", "User drinks oolong tea", "User was born in Porto"}

func TestASmallSetIsShownWholeAndNotSearched(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		searches := r.rule(core.RecallRules{SmallSetSize: len(pets)})
		for _, p := range pets {
			r.note(t, ana, p)
		}
		r.note(t, ben, "User has a parrot")
		for _, q := range []retrieve.Question{{Text: "Who is the president of France?"}, {Text: "What do I drink?", AskingConversation: "chat"}} {
			got := contents(r.chat(t, q).Hits)
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(pets)); !slices.Equal(got, want) || searches.n.Load() != 0 {
				t.Errorf("%q: %q after %d searches; want all of %q after none", q.Text, got, searches.n.Load(), want)
			}
		}
		one := 1
		if got := r.chat(t, retrieve.Question{Text: "x", TopK: &one}).Hits; len(got) != 1 || got[0].Why.Get("small_set") != 1 || got[0].Score != 0 {
			t.Errorf("asked for one: %v, want one that says it is of a small set", got)
		}
		if got := contents(r.chat(t, retrieve.Question{Text: "tea", ExcludeIDs: map[string]bool{r.chat(t, retrieve.Question{Text: "tea"}).Hits[0].Memory.ID(): true}}).Hits); len(got) != len(pets)-1 {
			t.Errorf("with one in the request: %q, want the others", got)
		}
		high := 0.9999
		if got := r.chat(t, retrieve.Question{Text: "Who is the president of France?", ScoreThreshold: &high}).Hits; len(got) != 0 || searches.n.Swap(0) == 0 {
			t.Errorf("with a threshold of its own: %q, want what reaches it", contents(got))
		}
		if got := contents(r.find(t, retrieve.Question{Text: "What do I drink?"}).Hits); !slices.Equal(got, []string{"User drinks oolong tea"}) || searches.n.Swap(0) != 1 {
			t.Errorf("a search finds %q, want what answers", got)
		}
		r.note(t, ana, "User plays chess on Sundays")
		if got := contents(r.find(t, retrieve.Question{Text: "What do I drink?"}).Hits); len(got) == 0 || got[0] != "User drinks oolong tea" || slices.Contains(got, "User was born in Porto") || searches.n.Load() != 1 {
			t.Errorf("with one fact more: %q after %d searches; want what is searched for", got, searches.n.Load())
		}
	})
}

func TestWithoutFactsTheTalkIsSearched(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.rule(core.RecallRules{SmallSetSize: 5, Fallback: retrieve.FallbackEmpty})
		noError(t)(r.Exchange.Ingest(context.Background(), ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "My accordion is at the repair shop."}}}))
		if got := r.find(t, retrieve.Question{Text: "Where is my accordion?"}).Hits; len(got) != 1 {
			t.Errorf("a turn and no facts: %d hits, want the turn", len(got))
		}
	})
}

func TestASmallSetIsOfTheScopeThatAsks(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		searches := r.rule(core.RecallRules{SmallSetSize: 2})
		for i := range 6 {
			noError(t)(r.Curate.Remember(context.Background(), ana, curate.FactInput{Content: fmt.Sprint("Rule ", i, " of the house"), Project: "house"}, her))
		}
		r.note(t, ana, "User lives in Porto")
		got := contents(r.chat(t, retrieve.Question{Scope: memory.Scope{Owner: ana, Project: "boat"}, Text: "engine"}).Hits)
		if !slices.Equal(got, []string{"User lives in Porto"}) || searches.n.Load() != 0 {
			t.Errorf("%q after %d searches, want the one fact that the project sees, after none", got, searches.n.Load())
		}
	})
}

func TestForgettingIsNotAskedByRules(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.rule(core.RecallRules{SmallSetSize: 50, Fallback: retrieve.FallbackEmpty, BootstrapBelowFacts: 50})
		r.note(t, memory.Global(memory.DefaultNamespace), "Everybody drinks water")
		r.note(t, ana, "User plays the cello")
		for _, query := range []string{"water", "the moon landing"} {
			gone, _, err := r.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{Query: query, DryRun: true}, her)
			if err != nil || len(gone) != 0 {
				t.Errorf("%q would forget %d memories, %v; want none", query, len(gone), err)
			}
		}
	})
}

// said keeps turns of a conversation, each a word and a number.
func (r *rig) said(t *testing.T, conversation, format string, n int) {
	t.Helper()
	talk := exchange.IngestRequest{Conversation: conversation}
	for i := range n {
		talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: fmt.Sprintf(format, i)})
	}
	noError(t)(r.Exchange.Ingest(context.Background(), ana, talk))
	r.clock.Advance(time.Hour)
}

func TestAChatReachesAsFarAsTheRuleSays(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		all := 100
		ask := func(in string) string {
			return strings.Join(contents(r.find(t, retrieve.Question{Text: "What of the lighthouse?", AskingConversation: in, TopK: &all}).Hits), " | ")
		}
		r.said(t, "old", "The lighthouse of Nazaré has %d steps in all", 1)
		r.said(t, "filler", "Something about cooking, number %d of many", retrieve.MaxNewest)
		r.said(t, "other", "Our lighthouse in Aveiro was painted red %d years ago", 1)
		r.said(t, "long", "The lighthouse keeper wrote letter %d", retrieve.SearchAloneFrom)
		r.said(t, "short", "The lighthouse museum opens at %d", 1)

		r.rule(core.RecallRules{Reach: retrieve.ReachUser})
		if got := ask("short"); !strings.Contains(got, "Nazaré") || !strings.Contains(got, "Aveiro") {
			t.Errorf("reach user found %s; want all conversations", got)
		}
		r.rule(core.RecallRules{Reach: retrieve.ReachConversation})
		if got := ask("long"); !strings.Contains(got, "keeper") || strings.Contains(got, "Aveiro") || strings.Contains(got, "museum") {
			t.Errorf("a long conversation found %s; want its own alone", got)
		}
		if got := ask("short"); !strings.Contains(got, "museum") || !strings.Contains(got, "Aveiro") || strings.Contains(got, "Nazaré") {
			t.Errorf("a short conversation found %s; want its own and the recent ones", got)
		}
		if got := ask("old"); !strings.Contains(got, "Nazaré") || !strings.Contains(got, "Aveiro") {
			t.Errorf("an old short conversation found %s; want its own and the recent ones", got)
		}
		if got := ask("new"); !strings.Contains(got, "Aveiro") || strings.Contains(got, "Nazaré") {
			t.Errorf("a new conversation found %s; want the recent ones", got)
		}
		if got := ask(""); !strings.Contains(got, "Nazaré") {
			t.Errorf("a search outside of chats found %s; want everything", got)
		}
	})
}

func TestThePoolJoinsInForThoseWhoHaveLittle(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		const printer = "The office printer stands on the third floor"
		r.rule(core.RecallRules{BootstrapBelowFacts: 5, Reach: retrieve.ReachConversation})
		noError(t)(r.Transfer.Bootstrap(context.Background(), memory.DefaultNamespace, []byte("- "+printer)))
		q := retrieve.Question{Text: "Where is the printer?"}
		for i, p := range pets {
			for _, in := range []string{"", "chat"} {
				q.AskingConversation = in
				hits := r.find(t, q).Hits
				if got := marked(hits, "bootstrap"); !slices.Equal(got, []string{printer}) {
					t.Errorf("with %d facts of her own, in %q: of the pool %q, want the printer", i, in, got)
				}
			}
			r.note(t, ana, p)
		}
		if got := marked(r.find(t, q).Hits, "bootstrap"); len(got) > 0 {
			t.Errorf("with %d facts of her own: of the pool %q, want nothing", len(pets), got)
		}
		for name, q := range map[string]retrieve.Question{
			"another namespace":   {Scope: memory.Scope{Owner: memory.User("other", "ana")}},
			"a shared pool":       {Scope: memory.Scope{Owner: memory.Pool(memory.DefaultNamespace, "team")}},
			"one conversation":    {Scope: memory.Scope{Owner: ben}, Conversation: "c"},
			"turns alone":         {Scope: memory.Scope{Owner: ben}, Kinds: []memory.Kind{memory.KindTurn}},
			"the past":            {Scope: memory.Scope{Owner: ben}, At: memory.At{AsOf: r.Time()}},
			"what it knows of me": {Scope: memory.Scope{Owner: ben}, Text: "What do you know about me?"},
		} {
			if q.Text == "" {
				q.Text = "Where is the printer?"
			}
			if got := contents(r.find(t, q).Hits); slices.Contains(got, printer) {
				t.Errorf("asked by %s: %q, want nothing of the pool", name, got)
			}
		}
		if _, err := r.Retrieve.Recall(context.Background(), retrieve.Question{Text: "printer"}); !errors.Is(err, memory.Invalid) {
			t.Errorf("nobody asked: %v, want invalid", err)
		}
		q = retrieve.Question{Text: "Where is the printer?", Tag: "none of hers", Scope: memory.Scope{Owner: ana, Project: "p"}}
		if got := contents(r.find(t, q).Hits); slices.Contains(got, printer) {
			t.Errorf("a narrow question of one who has many facts: %q, want nothing of the pool", got)
		}
		r.rule(core.RecallRules{})
		if got := r.ask(t, ben, q.Text, memory.At{}); slices.Contains(got, printer) {
			t.Errorf("without the rule: %q, want nothing of the pool", got)
		}
	})
}

func TestASmallSetAndThePoolGoTogether(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.rule(core.RecallRules{SmallSetSize: 5, BootstrapBelowFacts: 5})
		r.note(t, memory.Global(memory.DefaultNamespace), "The office printer stands on the third floor")
		r.note(t, ana, "User plays the cello")
		found := r.chat(t, retrieve.Question{Text: "Where is the printer?"})
		if own, pool := marked(found.Hits, "small_set"), marked(found.Hits, "bootstrap"); len(own) != 1 || len(pool) != 1 {
			t.Errorf("own %q, of the pool %q; want one of each", own, pool)
		}
	})
}

// broken fails as it is told.
type broken struct {
	memory.Searcher
	err   error
	panic bool
	hang  bool
}

func (b broken) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	switch {
	case b.panic:
		panic("a bug")
	case b.hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case b.err != nil:
		return nil, b.err
	}
	return b.Searcher.Search(ctx, s)
}

var errBroken = memory.Errorf(memory.Unavailable, "broken")

func TestRecentFactsStandInForASearchThatFails(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var all []string
		for i := range 12 {
			all = append([]string{r.note(t, ana, fmt.Sprintf("User read volume %d of the chronicle", i)).Content}, all...)
			r.clock.Advance(time.Hour)
		}
		r.note(t, ben, "User reads nothing")
		ix := r.Searcher
		for _, c := range []struct {
			when     core.Fallback
			searcher memory.Searcher
			question string
			want     []string
			degraded string
			fails    bool
		}{
			{when: retrieve.FallbackNone, searcher: broken{err: errBroken}, fails: true},
			{when: retrieve.FallbackError, searcher: broken{err: errBroken}, want: all[:retrieve.RecentFacts], degraded: "search: broken"},
			{when: retrieve.FallbackError, searcher: broken{panic: true}, want: all[:retrieve.RecentFacts], degraded: "search: panic: a bug"},
			{when: retrieve.FallbackError, searcher: ix, question: "quantum mechanics"},
			{when: retrieve.FallbackEmpty, searcher: ix, question: "quantum mechanics"},
			{when: retrieve.FallbackEmpty, searcher: broken{err: errBroken}, want: all[:retrieve.RecentFacts], degraded: "search: broken"},
			{when: retrieve.FallbackEmpty, searcher: ix, question: "Which volume is number 3?", want: []string{"User read volume 3 of the chronicle"}},
		} {
			r.Searcher, r.Opts.Recall = c.searcher, core.RecallRules{Fallback: c.when}
			if c.question == "" {
				c.question = "Which volume is number 3?"
			}
			one := 1
			q := retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: c.question}
			if len(c.want) == 1 {
				q.TopK = &one
			}
			found, err := r.Retrieve.Recall(context.Background(), q)
			if got := contents(found.Hits); !slices.Equal(got, c.want) || (err != nil) != c.fails {
				t.Errorf("%+v:\ngot  %q, %v\nwant %q", c, got, err, c.want)
			}
			if got := strings.Join(found.Degraded, "; "); got != c.degraded {
				t.Errorf("%+v: degraded is %q, want %q", c, got, c.degraded)
			}
			trace, err := r.Traces.Trace(context.Background(), ana, found.TraceID)
			if err != nil || strings.Join(trace.Degraded, "; ") != c.degraded {
				t.Errorf("%+v: its trace has %q, %v", c, trace.Degraded, err)
			}
		}
		r.Searcher, r.Opts.Recall = ix, core.RecallRules{Fallback: retrieve.FallbackEmpty}
		if got := r.chat(t, retrieve.Question{Text: "quantum mechanics"}).Hits; !slices.Equal(contents(got), all[:retrieve.RecentFacts]) || got[0].Score != 0 {
			t.Errorf("a chat is told %q, want the recent ones without a score", contents(got))
		}
		low := 0.1
		if got := r.chat(t, retrieve.Question{Text: "quantum mechanics", ScoreThreshold: &low}).Hits; len(got) != 0 {
			t.Errorf("with a threshold of its own a chat is told %q, want nothing", contents(got))
		}
		r.Searcher, r.Opts.Recall = broken{err: errBroken}, core.RecallRules{Fallback: retrieve.FallbackError}
		found := r.find(t, retrieve.Question{Text: "x", Budget: 40})
		if len(found.Hits) == 0 || len(found.Hits) >= retrieve.RecentFacts || found.Hits[0].Why.Get("recent") != 1 {
			t.Errorf("with little room: %q, want some of the recent ones, marked", contents(found.Hits))
		}
	})
}

// lame is a store of which some parts fail.
type lame struct {
	memory.Store
	get, list, profile, versions error
	panics                       bool
}

func (l *lame) fail(err error) error {
	if err != nil && l.panics {
		panic(err)
	}
	return err
}

func (l *lame) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	if err := l.fail(l.get); err != nil {
		return nil, err
	}
	return l.Store.Get(ctx, owner, ids...)
}

func (l *lame) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	if err := l.fail(l.list); err != nil {
		return memory.Page{}, err
	}
	return l.Store.List(ctx, owner, q)
}

func (l *lame) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	if err := l.fail(l.profile); err != nil {
		return nil, err
	}
	return l.Store.Profile(ctx, owner, at)
}

func (l *lame) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	if err := l.fail(l.versions); err != nil {
		return nil, err
	}
	return l.Store.Versions(ctx, owners)
}

// mute is an embedder that fails as it is told.
type mute struct {
	memory.Embedder
	err          error
	panics, hang bool
}

func (m mute) Embed(ctx context.Context, _ memory.EmbedAs, _ ...string) ([][]float32, error) {
	switch {
	case m.panics:
		panic("a bug")
	case m.hang:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, m.err
}

func TestWhatBreaksInRecallIsSkippedAndNamed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		const dog, cello = "has a dog named Rex", "plays the cello"
		r.note(t, ana, "User "+dog)
		noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: "User " + cello, Core: memory.CoreAlways}, her))
		whole := r.Parts
		rules := core.RecallRules{SmallSetSize: 1, BootstrapBelowFacts: 5, Fallback: retrieve.FallbackError}
		for name, c := range map[string]struct {
			breaks func()
			want   []string // in the block
			named  []string // of what was skipped
		}{
			"nothing":                  {func() {}, []string{dog, cello}, nil},
			"the embedder":             {func() { r.Embedder = mute{whole.Embedder, errBroken, false, false} }, []string{dog, cello}, []string{"embedder"}},
			"the embedder, by a panic": {func() { r.Embedder = mute{whole.Embedder, nil, true, false} }, []string{dog, cello}, []string{"embedder"}},
			"the search":               {func() { r.Searcher, r.Opts.Recall = broken{err: errBroken}, rules }, []string{dog, cello}, []string{"search"}},
			"the search, by a panic":   {func() { r.Searcher, r.Opts.Recall = broken{panic: true}, rules }, []string{dog, cello}, []string{"search"}},
			"Get":                      {func() { r.Store = &lame{Store: whole.Store, get: errBroken} }, []string{dog, cello}, []string{"search"}},
			"Get, by a panic":          {func() { r.Store = &lame{Store: whole.Store, get: errBroken, panics: true} }, []string{dog, cello}, []string{"search"}},
			"List":                     {func() { r.Store = &lame{Store: whole.Store, list: errBroken} }, []string{dog}, []string{"small_set", "pinned"}},
			"Profile":                  {func() { r.Store = &lame{Store: whole.Store, profile: errBroken} }, []string{dog, cello}, []string{"profile"}},
			"Profile, by a panic":      {func() { r.Store = &lame{Store: whole.Store, profile: errBroken, panics: true} }, []string{dog}, []string{"core"}},
			"Versions":                 {func() { r.Store = &lame{Store: whole.Store, versions: errBroken} }, []string{dog, cello}, []string{"bootstrap"}},
			"everything": {func() {
				r.Store = &lame{Store: whole.Store, get: errBroken, list: errBroken, profile: errBroken}
				r.Searcher, r.Opts.Recall = broken{err: errBroken}, rules
				r.Embedder = mute{err: errBroken}
			}, nil, []string{"small_set", "embedder", "recent", "search", "pinned", "profile"}},
		} {
			r.Parts = whole
			r.Searcher, r.Opts.Recall = whole.Searcher, rules
			c.breaks()
			p := r.prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What is my dog called?", Budget: 1000, API: "chat"})
			for _, want := range []string{dog, cello} {
				if strings.Contains(p.Block, want) != slices.Contains(c.want, want) {
					t.Errorf("%s broke: the block should have %q and is\n%s", name, c.want, p.Block)
				}
			}
			trace, err := r.Traces.Trace(ctx, ana, p.TraceID)
			var named []string
			for _, d := range trace.Degraded {
				part, _, _ := strings.Cut(d, ":")
				named = append(named, part)
			}
			if err != nil || !slices.Equal(named, c.named) {
				t.Errorf("%s broke: the trace names %q, %v; want %q", name, trace.Degraded, err, c.named)
			}
		}
		r.Parts = whole
	})
}

// With a clock of its own: nobody waits, and nothing depends on the machine.
func TestWhatHangsInRecallLeavesTimeForTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(r *rig)
		named  string
		within time.Duration
	}{
		"the embedder": {func(r *rig) { r.Embedder = mute{r.Embedder, nil, false, true} }, "embedder", 100 * time.Millisecond},
		"the search": {func(r *rig) {
			r.Searcher, r.Opts.Recall = broken{hang: true}, core.RecallRules{Fallback: retrieve.FallbackError}
		}, "search", 130 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, stores["inmem"])
				r.Opts.Deadline = 150 * time.Millisecond
				r.note(t, ana, "User has a dog named Rex")
				c.breaks(r)
				began := time.Now()
				p := r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "What is my dog called?"})
				trace, err := r.Traces.Trace(context.Background(), ana, p.TraceID)
				if err != nil || len(trace.Degraded) != 1 || !strings.HasPrefix(trace.Degraded[0], c.named+": ") {
					t.Errorf("the trace names %q, %v; want %s alone", trace.Degraded, err, c.named)
				}
				if took := time.Since(began); !strings.Contains(p.Block, "Rex") || took > c.within {
					t.Errorf("after %v the block is %q; want the dog by %v", took, p.Block, c.within)
				}
			})
		})
	}
}

func TestTheCoreIsThereWhateverTheQuestion(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		for i := range 6 {
			noError(t)(r.Curate.Remember(ctx, ana, curate.FactInput{Content: fmt.Sprintf("User must never miss appointment number %d at the clinic", i), Core: memory.CoreAlways}, her))
		}
		zone := memory.ProfileEntry{Owner: ana, Key: "timezone", Value: "Europe/Lisbon", Status: memory.Active}
		noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: "p", Kind: "manual", Author: her}, memory.Change{Action: memory.ActionAdd, After: memory.State{Profile: &zone}, Author: her}))
		for _, question := range []string{"quantum mechanics", "", "How high is Mount Everest?"} {
			p := r.prepare(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: question, Budget: 1000})
			lines := strings.Split(p.Block, "\n")
			if len(lines) < 5 || !strings.Contains(p.Block, "timezone: Europe/Lisbon") || !strings.Contains(p.Block, "clinic") || len(p.Hits) > 0 {
				t.Errorf("%q: the block is\n%s\nwith %d hits; want the profile and pinned facts", question, p.Block, len(p.Hits))
				continue
			}
			tokens := 0
			for _, l := range lines[2 : len(lines)-1] {
				tokens += text.EstimateTokens(l)
			}
			if tokens > 150 {
				t.Errorf("%q: the core has %d tokens, more than 150", question, tokens)
			}
		}
	})
}

func TestBroadQuestionsListWhatMatters(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		searches := r.rule(core.RecallRules{Fallback: retrieve.FallbackError})
		low := 0.3
		noError(t)(r.Curate.Remember(context.Background(), ana, curate.FactInput{Content: "User may own a canoe", Confidence: &low}, her))
		r.note(t, ana, "User is a nurse")
		noError(t)(r.Curate.Remember(context.Background(), ana, curate.FactInput{Content: "User is allergic to peanuts", Core: memory.CoreAlways}, her))
		want := []string{"User is allergic to peanuts", "User is a nurse", "User may own a canoe"}
		for _, question := range []string{"What do you know about me?", "tell me everything you remember about me", "Who am I?"} {
			if got := r.ask(t, ana, question, memory.At{}); !slices.Equal(got, want) || searches.n.Load() > 0 {
				t.Errorf("%q: %q after %d searches, want %q after none", question, got, searches.n.Load(), want)
			}
		}
		store := r.Store
		r.Store = &lame{Store: store, list: errBroken}
		found := r.find(t, retrieve.Question{Text: "What do you know about me?"})
		r.Store = store
		if len(found.Degraded) == 0 || !strings.HasPrefix(found.Degraded[0], "list: ") || searches.n.Load() != 1 {
			t.Errorf("when listing fails: skipped %q, %d searches; want the list named and a search", found.Degraded, searches.n.Load())
		}
	})
}

// heardEmbedder and heardSearcher remember what they were asked.
type heardEmbedder struct {
	memory.Embedder
	near string
}

func (h *heardEmbedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	if as == memory.AsQuestion {
		h.near = texts[0]
	}
	return h.Embedder.Embed(ctx, as, texts...)
}

type heardSearcher struct {
	memory.Searcher
	text string
}

func (h *heardSearcher) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	h.text = s.Text
	return h.Searcher.Search(ctx, s)
}

// Design 1: the words draw the question's vector, and are not searched for.
func TestShortQuestionsAboutOneselfAreExpandedBySetting(t *testing.T) {
	const added = " height weight physical attributes user facts"
	r := newRig(t, stores["inmem"])
	embedder, searcher := &heardEmbedder{Embedder: r.Embedder}, &heardSearcher{Searcher: r.Searcher}
	r.Embedder, r.Searcher = embedder, searcher
	long := "What do I drink" + strings.Repeat("é", 100-len("What do I drink?"))
	for _, c := range []struct {
		question string
		expand   bool
		want     string
	}{
		{"What do I drink?", false, ""},
		{"What do I drink?", true, added},
		{"What does she drink?", true, ""},
		{long + "?", true, added}, // 100 characters, and more bytes
		{long + "é?", true, ""},
	} {
		r.rule(core.RecallRules{ExpandQuestions: c.expand})
		r.ask(t, ana, c.question, memory.At{})
		if embedder.near != searcher.text+c.want || strings.Contains(searcher.text, "height") || searcher.text == "" {
			t.Errorf("expand %v: %q is embedded as %q and searched for as %q", c.expand, c.question, embedder.near, searcher.text)
		}
	}
}

func chatOf(t *testing.T, messages string) *chatapi.Chat {
	t.Helper()
	return try(chatapi.Decode([]byte(`{"model":"m","messages":[` + messages + `]}`))).orFail(t)
}

func TestTheLastMessagesAreTheQuestionBySetting(t *testing.T) {
	r := newRig(t, stores["inmem"])
	chat := chatOf(t, `{"role":"user","content":"one"},{"role":"assistant","content":"OK."},{"role":"user","content":"two"},{"role":"user","content":"three"}`)
	for messages, want := range map[int]string{0: "two\nthree", 1: "two\nthree", 2: "two\nthree", 3: "one\ntwo\nthree", 9: "one\ntwo\nthree"} {
		r.rule(core.RecallRules{QuestionMessages: messages})
		if got := r.Retrieve.QuestionText(chat); got != want {
			t.Errorf("%d messages: %q, want %q", messages, got, want)
		}
	}
}
