package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/memory"
)

// TestTheWriterIsShownSoMuchAndNoMore holds design 2's table of limits.
func TestTheWriterIsShownSoMuchAndNoMore(t *testing.T) {
	long := strings.Repeat("é", 400) + " tail"
	var a query.RelatedMemory
	for i := range 12 {
		a.RecentTurns = append(a.RecentTurns, memory.Turn{Role: memory.RoleUser, Content: fmt.Sprintf("%02d %s", i, long)})
		a.Summaries = append(a.Summaries, memory.Summary{Text: "- a\n- b " + long})
		a.ProfileEntries = append(a.ProfileEntries, memory.ProfileEntry{Key: fmt.Sprint(i), Value: long})
		a.SimilarTurns = append(a.SimilarTurns, memory.Hit{
			Memory: memory.Memory{Turn: &memory.Turn{Role: memory.RoleAssistant, Content: long}}, Why: memory.Why{{Name: retrieve.SimilarityPart, Value: 0.512}},
			Replacements: []memory.Fact{{Content: "User lives in Faro"}},
		})
	}
	w := a.PromptValues()
	for _, c := range []struct {
		name           string
		lines          []string
		items, letters int
		before         string // what stands before the text itself
	}{
		{"history", w.History, 10, 200, "user: "},
		{"summaries", w.Summaries, 3, 240, "- "},
		{"recent", w.Recent, 6, 180, "user: "},
	} {
		if len(c.lines) != c.items {
			t.Errorf("%s has %d items, want %d", c.name, len(c.lines), c.items)
		}
		for _, l := range c.lines {
			if n := len([]rune(strings.TrimPrefix(l, c.before))); n != c.letters || strings.Contains(l, "\n") || !strings.HasPrefix(l, c.before) {
				t.Errorf("a line of %s has %d letters, want %d: %q", c.name, n, c.letters, l)
			}
		}
	}
	if !strings.HasPrefix(w.History[9], "user: 11 ") || !strings.HasPrefix(w.History[0], "user: 02 ") {
		t.Errorf("history begins with %.12q and ends with %.12q, want the last ten in order", w.History[0], w.History[9])
	}
	if len(w.Facts) != 5 || w.Facts[0] != "0: "+long {
		t.Errorf("%d profile entries, want 5, each whole", len(w.Facts))
	}
	want := "[0.51] assistant: " + strings.Repeat("é", 199) + "… [no longer so: User lives in Faro]"
	if len(w.Similar) != 4 || w.Similar[0] != want {
		t.Errorf("%d similar messages, the first %q; want 4, %q", len(w.Similar), w.Similar[0], want)
	}
}

// TestSimilarIsWhatIsLikeTheQueryItself, not what stands beside it; and of that only
// what reaches the threshold.
func TestSimilarIsWhatIsLikeTheQueryItself(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	r.Opts.ScoreThreshold, r.Opts.Recall.Reach = 0.45, retrieve.ReachConversation
	ana := memory.User(memory.DefaultNamespace, "ana")
	for _, said := range []string{"Hello", "I live in Lisbon.", "Nice weather.", "My cat is called Pip."} {
		noError(t)(r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "a", Text: said}, nil))
	}
	got, err := r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "b", Text: "Where do I live?", UseMemory: true}, nil)
	if err != nil || len(got.Related.SimilarTurns) != 1 || got.Related.SimilarTurns[0].Memory.Content() != "I live in Lisbon." || retrieve.Similarity(got.Related.SimilarTurns[0]) < 0.45 {
		t.Errorf("like the query is %+v, %v; want where she lives alone", got.Related.SimilarTurns, err)
	}
	got, err = r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "b", Text: "Which paint suits the fence?", UseMemory: true}, nil)
	if err != nil || len(got.Related.SimilarTurns) != 0 {
		t.Errorf("like a question about nothing known is %+v, %v", got.Related.SimilarTurns, err)
	}
	// With a model's vectors it is the cosine.
	hits := []memory.Hit{{Why: memory.Why{{Name: "vector", Value: 0.6}, {Name: "relevance", Value: 0.1}}}, {Why: memory.Why{{Name: "vector", Value: -0.2}}}}
	if x := retrieve.Similarities(hits, func(memory.Hit) bool { return false }); x[0] != 0.6 || x[1] != 0 {
		t.Errorf("with a model's vectors: %v, want the cosines", x)
	}
}

func TestIntentsAreFoundByWords(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for text, want := range map[string]query.Intent{
		"Hello!": query.IntentChat, "thank you so much": query.IntentChat, "Hello, do you remember my name?": query.IntentMemory, "What did I say about tea?": query.IntentMemory,
		"What have I told you earlier?": query.IntentMemory, "Please summarize our talk": query.IntentSummary, "Why does this Python function fail?": query.IntentCode,
		"Is there a bakery near me?": query.IntentLocation, "Which paint suits the fence?": query.IntentGeneral,
	} {
		if got := r.Query.Intent(context.Background(), query.Request{Text: text}); got != want {
			t.Errorf("%q is taken for %s, want %s", text, got, want)
		}
	}
	if got := r.Query.Intent(context.Background(), query.Request{Text: "Hello", Images: []string{"data:image/png;base64,AA"}}); got != query.IntentImage {
		t.Errorf("a query with an image is taken for %s", got)
	}
	r.Opts.IntentMethod = query.IntentsByEmbedding
	if got := r.Query.Intent(context.Background(), query.Request{Text: "Which places are in the neighbourhood?"}); got != query.IntentLocation {
		t.Errorf("by embedding: %s, want %s", got, query.IntentLocation)
	}
}

// TestAQueryIsAnsweredWhateverFails: memory and images may fail, the writer may not.
func TestAQueryIsAnsweredWhateverFails(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	ana := memory.User(memory.DefaultNamespace, "ana")
	blind := func(_ context.Context, p memory.Prompt, images ...string) (memory.Reply, error) {
		if len(images) > 0 {
			return memory.Reply{}, errors.New("no eyes")
		}
		if !strings.Contains(p.User, "could not be read") {
			t.Errorf("the writer is not told that images were not read: %s", p.User)
		}
		return memory.Reply{Text: "A guess.", Model: "m"}, nil
	}
	got, err := r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "s", Text: "What is this?", UseMemory: true, Images: []string{"https://x.test/a.png"}}, blind)
	if err != nil || got.Response != "A guess." || strings.Contains(strings.Join(got.Agents, " "), query.AgentVision) {
		t.Errorf("with images that cannot be described: %+v, %v", got, err)
	}
	mute := func(context.Context, memory.Prompt, ...string) (memory.Reply, error) {
		return memory.Reply{}, memory.Errorf(memory.Unavailable, "down")
	}
	if _, err := r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "s", Text: "I live in Lisbon, and what now?"}, mute); !errors.Is(err, memory.Unavailable) {
		t.Errorf("without a writer that works: %v, want unavailable", err)
	}
	r.clock.Advance(time.Hour)
	noError(t)(r.work(ctx))
	turns, err := r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: "s"})
	if err != nil || len(turns) != 3 {
		t.Errorf("%d turns are kept, %v; want the two questions and one answer", len(turns), err)
	}

	// Nobody in particular: answered, and nothing is kept.
	got, err = r.Query.Query(ctx, query.Request{Text: "Where do I live?", UseMemory: true}, nil)
	if err != nil || got.NeedsMemory || got.Response == "" {
		t.Errorf("for nobody: %+v, %v", got, err)
	}
	if n, err := r.Store.Totals(ctx); err != nil || n.Turns != 3 {
		t.Errorf("there are %d turns, %v; want those of ana alone", n.Turns, err)
	}
	// Paused memory is not read.
	noError(t)(r.SetPause(ctx, ana, core.PauseMemory, "", memory.Author{}))
	got, err = r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "s", Text: "Where do I live?", UseMemory: true}, nil)
	if err != nil || got.NeedsMemory || len(got.Related.RecentTurns) > 0 || got.Reason != "memory is paused" {
		t.Errorf("paused: %+v, %v", got, err)
	}
}

// TestAQueryPromisesNoMoreThanWillBe asks as somebody whose memory is on hold, and as
// one who was erased.
func TestAQueryPromisesNoMoreThanWillBe(t *testing.T) {
	ctx := context.Background()
	r := newRig(t, stores["inmem"])
	said := func() string {
		t.Helper()
		got := try(r.Query.Query(ctx, query.Request{Owner: ana, SessionID: "a", Text: "My cat is called Pip.", UseMemory: true}, nil)).orFail(t)
		return got.Response
	}
	kept := said()
	noError(t)(r.SetPause(ctx, ana, core.PauseMemory, "", her))
	if got := said(); got == kept || !strings.Contains(got, "paused") {
		t.Errorf("on hold: %q; want it said that nothing is kept", got)
	}
	noError(t)(r.Erase.EraseOwner(ctx, ana, her))
	if got := said(); got == kept || !strings.Contains(got, "paused") {
		t.Errorf("erased: %q; want it said that nothing is kept", got)
	}
}

// TestAQueryIsToldWhatItsSessionIsSetFor: its rules and its documents, as every chat
// that goes on with memory, and none of another session.
func TestAQueryIsToldWhatItsSessionIsSetFor(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		menu := try(r.Curate.AddContext(ctx, ana, curate.ContextEdit{Title: ptr("Menu"), Content: ptr("Soup of the day: leek.")}, her)).orFail(t)
		set := newChat(t, r.Engine, chats.ChatEdit{Rules: ptr(briefly), Contexts: &[]string{menu.ID}})
		bare := newChat(t, r.Engine, chats.ChatEdit{})
		var system, user string
		write := func(_ context.Context, p memory.Prompt, _ ...string) (memory.Reply, error) {
			system, user = p.System, p.User
			return memory.Reply{Text: "Leek."}, nil
		}
		for name, q := range map[string]struct {
			query.Request
			told bool
		}{
			"its own session":       {query.Request{SessionID: set, UseMemory: true}, true},
			"another one":           {query.Request{SessionID: bare, UseMemory: true}, false},
			"without memory":        {query.Request{SessionID: set}, false},
			"one that is not there": {query.Request{SessionID: "new", UseMemory: true}, false},
		} {
			q.Owner, q.Text = ana, "What is the soup?"
			noError(t)(r.Query.Query(ctx, q.Request, write))
			rules, documents := strings.Index(system, briefly), strings.Index(system, "Soup of the day: leek.")
			if told := documents > 0 && rules > documents && strings.LastIndex(system, recall.FenceClose) < rules; told != q.told || !q.told && rules+documents != -2 {
				t.Errorf("%s: the writer is told\n%s", name, system)
			}
			if strings.Contains(user, briefly) {
				t.Errorf("%s: the writer is asked\n%s", name, user)
			}
		}
	})
}

// TestRulesThatAQueryIsToldAreNeverLearned, where the answer repeats them.
func TestRulesThatAQueryIsToldAreNeverLearned(t *testing.T) {
	for rules, shown := range map[string]bool{"User is allergic to kiwis.": false, "": true} {
		eachStore(t, func(t *testing.T, s *scene) {
			play(t, s, "set learn.assistant: true\nllm extract: []")
			q := query.Request{Owner: ana, SessionID: newChat(t, s.Engine, chats.ChatEdit{Rules: &rules}), Text: "What do you know of my sister?", UseMemory: true}
			noError(t)(s.Query.Query(context.Background(), q, func(context.Context, memory.Prompt, ...string) (memory.Reply, error) {
				return memory.Reply{Text: "You are allergic to kiwis.", Model: "m"}, nil
			}))
			wantLearned(t, s)
			prompts := s.llm.Prompts()
			if len(prompts) != 1 || strings.Contains(prompts[0].System+prompts[0].User, "kiwis") != shown || !strings.Contains(prompts[0].User, "sister") {
				t.Errorf("with the rules %q the model that learns was shown\n%+v", rules, prompts)
			}
		})
	}
}
