package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

func decode(t *testing.T, messages string) *chatapi.Chat {
	t.Helper()
	return try(chatapi.Decode([]byte(`{"messages":` + messages + `}`))).orFail(t)
}

func answered(text string) chatapi.Answer {
	return chatapi.Answer{Role: memory.RoleAssistant, Text: text, Digest: chatapi.Digest(memory.RoleAssistant, text, "", "")}
}

func (r *rig) path(t *testing.T, conversation string) []string {
	t.Helper()
	turns := try(r.Store.Turns(context.Background(), ana, memory.TurnQuery{Conversation: conversation})).orFail(t)
	var out []string
	for _, turn := range turns {
		out = append(out, string(turn.Role)+": "+turn.Content)
	}
	return out
}

// TestSameRequestAtOnceIsOneTurnOnProof: by its history or the client's key; without them each
// is a turn with its answer.
func TestSameRequestAtOnceIsOneTurnOnProof(t *testing.T) {
	for name, c := range map[string]struct {
		before, once    string
		turns, answered int
	}{
		"with its history": {before: hello, turns: 4, answered: 1},
		"with a key":       {once: "k", turns: 2, answered: 1},
		"alone":            {turns: 4, answered: 2},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				ctx := context.Background()
				var opened []*exchange.Exchange
				for range 2 {
					x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, "["+c.before+inLisbon+"]"), ChatID: "c", IdempotencyKey: c.once})
					x.Prepare(ctx)
					opened = append(opened, x)
				}
				var wg sync.WaitGroup
				for i, x := range opened {
					wg.Go(func() {
						x.RecordQuestion(ctx)
						x.RecordAnswer(ctx, answered(fmt.Sprint("Answer ", i)))
					})
				}
				wg.Wait()
				path := r.path(t, "c")
				if n := strings.Count(strings.Join(path, "\n"), "Answer "); len(path) != c.turns || n != c.answered {
					t.Errorf("the current path is %q, want %d turns and %d answers", path, c.turns, c.answered)
				}
				r.sound(t, ana)
			})
		})
	}
}

// slowStore takes its time with the first reading of turns.
type slowStore struct {
	memory.Store
	once sync.Once
}

func (s *slowStore) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	s.once.Do(func() { <-ctx.Done() })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Store.Turns(ctx, owner, q)
}

func TestAStoreThatIsSlowToReadLosesNoTurn(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx := context.Background()
	r.Store, r.Opts.Deadline = &slowStore{Store: r.Store}, 20*time.Millisecond
	x := r.Exchange.Open(ctx, exchange.Incoming{Owner: ana, Chat: decode(t, `[{"role":"user","content":"I live in Lisbon."}]`), ChatID: "c"})
	p := x.Prepare(ctx)
	x.RecordQuestion(ctx)
	x.RecordAnswer(ctx, answered("OK."))
	if path := r.path(t, "c"); len(path) != 2 {
		t.Errorf("the path is %q, want two turns", path)
	}
	trace, err := r.Traces.Trace(ctx, ana, p.TraceID)
	if err != nil || !strings.Contains(strings.Join(trace.Degraded, " "), "conversation: ") {
		t.Errorf("the trace says %q, %v; want it to name the conversation", trace.Degraded, err)
	}
}

// learnIn has the owner say something in each of these projects and what is learned be learned.
func (r *rig) learnIn(t *testing.T, said ...[2]string) {
	t.Helper()
	for _, one := range said {
		noError(t)(r.Exchange.Ingest(t.Context(), ana, exchange.IngestRequest{Project: one[0], Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: one[1]}}}))
		noError(t)(r.work(t.Context()))
	}
}

// answers returns what a question in a project finds, facts and turns.
func (r *rig) answers(t *testing.T, project, question string) []string {
	t.Helper()
	found := try(r.Retrieve.Recall(t.Context(), retrieve.Question{Scope: memory.Scope{Owner: ana, Project: project}, Text: question})).orFail(t)
	var out []string
	for _, h := range found.Hits {
		out = append(out, h.Memory.Content())
	}
	return out
}

// TestFactsOfAProjectAndOfAPerson: what is said of a project stays there, what is said of
// the person is known everywhere and replaced from everywhere.
func TestFactsOfAProjectAndOfAPerson(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.learnIn(t,
			[2]string{"/src/tern", "I live in Berlin, and our API is called Halyard."},
			[2]string{"/src/wren", "Our API is called Arkham. I moved to Lisbon."},
		)
		for _, c := range []struct{ project, question, want, never string }{
			{"/src/tern", "What is our API called?", "Halyard", "Arkham"},
			{"/src/wren", "What is our API called?", "Arkham", "Halyard"},
			{"/src/tern", "Where do I live?", "User lives in Lisbon", "User lives in Berlin"},
			{"", "What is our API called?", "Arkham", ""},
			{"", "What is our API called?", "Halyard", ""},
			{"/src/other", "Where do I live?", "User lives in Lisbon", "Halyard"},
		} {
			got := strings.Join(r.answers(t, c.project, c.question), " | ")
			if !strings.Contains(got, c.want) || c.never != "" && strings.Contains(got, c.never) {
				t.Errorf("%q in %q: %s; want %q and not %q", c.question, c.project, got, c.want, c.never)
			}
		}
	})
}

// TestFactsAreOfTheProjectIfSet: with [OfProject] all that is learned in a project is its own.
func TestFactsAreOfTheProjectIfSet(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.Opts.Learn.Scope = core.OfProject
		r.learnIn(t, [2]string{"work", "I live in Berlin."}, [2]string{"novel", "I live in Lisbon."}, [2]string{"", "I am allergic to peanuts."})
		got := r.answers(t, "work", "What do you know about me?")
		if joined := strings.Join(got, " | "); len(got) != 2 || !strings.Contains(joined, "Berlin") || !strings.Contains(joined, "peanuts") {
			t.Errorf("known in project work: %s; want Berlin and the peanuts", joined)
		}
	})
}

const secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"

func TestSecretsReachNeitherTurnsNorTraces(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx := context.Background()
	kept := try(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "my key is " + secret}}})).orFail(t)
	if path := r.path(t, kept.Conversation); strings.Contains(strings.Join(path, ""), secret) {
		t.Errorf("the turn says %q", path)
	}
	found := try(r.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: "what of " + secret + strings.Repeat(" and more", 10_000)})).orFail(t)
	trace, err := r.Traces.Trace(ctx, ana, found.TraceID)
	if err != nil || strings.Contains(trace.Question, secret) || len(trace.Question) > retrieve.MaxTracedQuestion {
		t.Errorf("the trace's question has %d bytes: %.60q, %v", len(trace.Question), trace.Question, err)
	}
}

func TestForgettingReachesWhatWasSaidInTheSameTalk(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Learn: true, Messages: []exchange.Message{
			{Role: memory.RoleUser, Content: "I am allergic to peanuts."},
			{Role: memory.RoleAssistant, Content: "Noted."},
			{Role: memory.RoleUser, Content: "Please forget that I am allergic to peanuts."},
		}}))
		noError(t)(r.work(ctx))
		if page, err := r.List(ctx, ana, memory.Query{}); err != nil || len(page.Memories) != 0 {
			t.Errorf("%d facts are active, %v; want none", len(page.Memories), err)
		}
	})
}

func TestForgettingByQuestionFindsMoreThanRecallShows(t *testing.T) {
	r := newRig(t, stores["inmem"])
	for i := range 14 {
		r.note(t, ana, fmt.Sprintf("Step %d of the Zephyr project is done", i))
	}
	r.note(t, ana, "User plays the cello")
	gone, _, err := r.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{Query: "everything about the Zephyr project"}, her)
	if err != nil || len(gone) != 14 {
		t.Errorf("forgot %d, %v; want the project's 14", len(gone), err)
	}
}

func TestUndoneWordsHaveTheirVectorAgain(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "User drinks oolong tea")
		words := "User drinks sencha tea"
		noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words}, her))
		page := try(r.Changes(ctx, ana, memory.ChangeQuery{Limit: 1})).orFail(t)
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: page.Changes[0].Run}, her))
		noError(t)(r.Store.Since(ctx, ana, r.Embedder.Fingerprint(), 0, func(item memory.IndexItem) error {
			if item.Memory.Content() != f.Content || len(item.Vector) == 0 {
				t.Errorf("%q has %d numbers, want %q with its vector", item.Memory.Content(), len(item.Vector), f.Content)
			}
			return nil
		}))
	})
}

func (r *rig) onlyConversation(t *testing.T) string {
	t.Helper()
	page, err := r.Store.Conversations(context.Background(), ana, memory.ConversationQuery{})
	if err != nil || len(page.Conversations) != 1 {
		t.Fatalf("%d conversations, %v", len(page.Conversations), err)
	}
	return page.Conversations[0].ID
}
