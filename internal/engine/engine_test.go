package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var (
	ana = memory.User(memory.DefaultNamespace, "ana")
	ben = memory.User(memory.DefaultNamespace, "ben")
	her = memory.Author{Kind: memory.ByPerson, Name: "ana"}
)

// onEach runs a rule on every store.
func onEach(t *testing.T, rule func(t *testing.T, r *rig)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, newRig(t, open))
		})
	}
}

func (r *rig) ask(t *testing.T, owner memory.Owner, question string, at memory.At) []string {
	t.Helper()
	found := try(r.Retrieve.Recall(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: owner}, Text: question, At: at})).orFail(t)
	var out []string
	for _, h := range found.Hits {
		out = append(out, h.Memory.Content())
	}
	return out
}

func (r *rig) note(t *testing.T, owner memory.Owner, content string) memory.Fact {
	t.Helper()
	f, _, err := r.Curate.Remember(context.Background(), owner, curate.FactInput{Content: content}, her)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSearchInThePastFindsWhatWasKnownThen(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "Ana's favourite tea is oolong")
		before := r.Time()
		r.clock.Advance(time.Hour)
		words := "Ana's favourite tea is sencha"
		noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words}, her))
		if got := r.ask(t, ana, "favourite tea", memory.At{}); !slices.Equal(got, []string{words}) {
			t.Errorf("now: %q, want %q", got, words)
		}
		if got := r.ask(t, ana, "favourite tea", memory.At{AsOf: before}); !slices.Equal(got, []string{f.Content}) {
			t.Errorf("as of before the edit: %q, want %q", got, f.Content)
		}
	})
}

func TestTheSameKeyWritesOnce(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		note := curate.FactInput{Content: "User plays the cello", IdempotencyKey: "k1"}
		first, created, err := r.Curate.Remember(ctx, ana, note, her)
		if err != nil || !created {
			t.Fatalf("first: created %v, %v", created, err)
		}
		again, created, err := r.Curate.Remember(ctx, ana, note, her)
		if err != nil || created || again.ID != first.ID {
			t.Errorf("again: %s, created %v, %v; want %s, not created", again.ID, created, err, first.ID)
		}
		talk := exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "one"}, {Role: memory.RoleAssistant, Content: "two"}}, IdempotencyKey: "k2"}
		for i := range 2 {
			kept := try(r.Exchange.Ingest(ctx, ana, talk)).orFail(t)
			turns, err := r.Store.Turns(ctx, ana, memory.TurnQuery{Conversation: kept.Conversation})
			if err != nil || len(turns) != 2 {
				t.Errorf("after call %d: %d turns, %v; want 2", i+1, len(turns), err)
			}
		}
		for _, other := range []exchange.IngestRequest{
			{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "something else"}}, IdempotencyKey: "k2"},
			{Messages: talk.Messages, Conversation: "another", IdempotencyKey: "k2"},
		} {
			if _, err := r.Exchange.Ingest(ctx, ana, other); !errors.Is(err, memory.Conflict) {
				t.Errorf("another talk under the same key: %v, want a conflict", err)
			}
		}
		// The same key of somebody else is another key.
		if _, created, err := r.Curate.Remember(ctx, ben, note, her); err != nil || !created {
			t.Errorf("ben: created %v, %v; want created", created, err)
		}
	})
}

// failAfter lets so many batches through.
type failAfter struct {
	memory.Store
	batches int
}

func (f *failAfter) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	if f.batches--; f.batches < 0 {
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "cut off")
	}
	return f.Store.Append(ctx, owner, b)
}

func TestATalkCutOffIsTakenUpWhereItWas(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Conversation: "c", Messages: []exchange.Message{{Role: memory.RoleUser, Content: "before"}}}))
		talk := exchange.IngestRequest{Conversation: "c", IdempotencyKey: "k"}
		for i := range 2*exchange.MaxTurnsPerWrite + 7 {
			talk.Messages = append(talk.Messages, exchange.Message{Role: memory.RoleUser, Content: fmt.Sprint("word ", i)})
		}
		whole := r.Store
		r.Store = &failAfter{whole, 1}
		if _, err := r.Exchange.Ingest(ctx, ana, talk); !errors.Is(err, memory.Unavailable) {
			t.Fatalf("the first time: %v, want it cut off", err)
		}
		r.Store = whole
		noError(t)(r.Exchange.Ingest(ctx, ana, talk))
		turns, err := whole.Turns(ctx, ana, memory.TurnQuery{Conversation: "c"})
		if err != nil || len(turns) != 1+len(talk.Messages) {
			t.Fatalf("%d turns, %v; want %d", len(turns), err, 1+len(talk.Messages))
		}
		for i, turn := range turns[1:] {
			if turn.Index != i+1 || turn.Parent != turns[i].ID || turn.Content != talk.Messages[i].Content {
				t.Fatalf("turn %d is %q at %d after %s; want %q at %d after %s", i+1, turn.Content, turn.Index, turn.Parent, talk.Messages[i].Content, i+1, turns[i].ID)
			}
		}
	})
}

func TestForgettingByQuestionTakesOnlyWhatIsMeant(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.note(t, ana, "User drinks oolong tea every morning")
		r.note(t, ana, "User sails to Madeira in June")
		for _, query := range []string{"oolong tea", "what I said about oolong tea"} {
			gone, _, err := r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{Query: query, DryRun: true}, her)
			if err != nil || len(gone) != 1 || gone[0].Content() != "User drinks oolong tea every morning" {
				t.Errorf("%q: would forget %d memories, %v; want the tea alone", query, len(gone), err)
			}
		}
	})
}

func TestHandWrittenFactsFoldOnlyIntoEqualOnes(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		first := r.note(t, ana, "User likes green tea")
		if again := r.note(t, ana, "user likes  green tea."); again.ID != first.ID {
			t.Errorf("the same words made another fact, %q", again.Content)
		}
		if other := r.note(t, ana, "User likes green teas"); other.ID == first.ID {
			t.Error("other words were folded into a fact")
		}
	})
}

// TestWrittenAgainTakesOver: what is written once more is not lost with its second
// writing, and changes nothing where it adds nothing.
func TestWrittenAgainTakesOver(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		write := func(n curate.FactInput) memory.Fact {
			t.Helper()
			n.Content = "User is allergic to peanuts"
			f, _, err := r.Curate.Remember(ctx, ana, n, her)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		unsure := 0.6
		first := write(curate.FactInput{Tags: []string{"health"}, Confidence: &unsure, Category: "health"})
		if same := write(curate.FactInput{Tags: []string{"health"}, Confidence: &unsure}); same.Version != first.Version {
			t.Errorf("the same again was written as version %d of %d", same.Version, first.Version)
		}
		later := first.ObservedAt.Add(time.Hour)
		got := write(curate.FactInput{Tags: []string{"food"}, Core: memory.CoreAlways, ObservedAt: later, IdempotencyKey: "again"})
		want := first
		want.Tags, want.Core, want.ObservedAt, want.Confidence = []string{"health", "food"}, memory.CoreAlways, later, 1
		want.Version, want.UpdatedAt = got.Version, got.UpdatedAt
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("written again (-got +want):\n%s", diff)
		}
		if twice := write(curate.FactInput{Tags: []string{"food"}, IdempotencyKey: "again"}); twice.Version != got.Version {
			t.Errorf("the same request again changed it: version %d, was %d", twice.Version, got.Version)
		}
		page, err := r.History(ctx, ana, first.ID, "")
		if err != nil || len(page.Changes) != 2 || page.Changes[0].Reason != "written by hand again" {
			t.Errorf("its history is %+v, %v", page.Changes, err)
		}
	})
}

func TestAModelThatFailsIsTriedAgainAndThenTheRulesLearn(t *testing.T) {
	r := newRig(t, stores["inmem"])
	ctx := context.Background()
	llm := memtest.NewLLM(memtest.ScriptLine{Err: memory.Errorf(memory.Unavailable, "no model today"), Reusable: true})
	r.LLM = llm
	noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Learn: true, Messages: []exchange.Message{{Role: memory.RoleUser, Content: "I live in Lisbon."}}}))
	job := try(r.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Hour)).orFail(t)
	if _, err := r.Lessons.Learn(ctx, job); !errors.Is(err, memory.Unavailable) {
		t.Fatalf("learning with a model that is down: %v, want unavailable", err)
	}
	job.Attempts = memory.MaxAttempts - 1
	if end, err := r.Lessons.Learn(ctx, job); err != nil || end != "applied" {
		t.Fatalf("at the last attempt: %s, %v; want applied", end, err)
	}
	page, err := r.List(ctx, ana, memory.Query{})
	if err != nil || len(page.Memories) != 1 || page.Memories[0].Fact.Model == "" {
		t.Errorf("facts %+v, %v; want one that names its rule", page.Memories, err)
	}
}
