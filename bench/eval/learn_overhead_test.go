package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// learnerRig is an engine on SQLite whose jobs the benchmark does itself, so that
// it knows where the time goes.
type learnerRig struct {
	*engine.Engine
	owner memory.Owner
}

func newLearnerRig(b *testing.B, model memory.LLM) *learnerRig {
	b.Helper()
	store, err := sqlstore.OpenSQLite(context.Background(), filepath.Join(b.TempDir(), "loci.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	embedder := embed.Lexical{}
	ix := index.New(store, index.Options{Model: embedder.Fingerprint()})
	e := engine.New(core.Parts{
		Store: store, Searcher: ix, Embedder: embedder, LLM: model, Prompts: prompt.Default(),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now, Wake: func() {},
	}, core.Options{LearnAfter: core.AfterExchange, Rules: true, MaxText: 1 << 20})
	b.Cleanup(func() {
		e.Close()
		if err := ix.Close(); err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return &learnerRig{Engine: e, owner: memory.User(memory.DefaultNamespace, "bench")}
}

// fill gives the owner so many memories: of three, two turns and a fact.
func (r *learnerRig) fill(b *testing.B, memories int) {
	b.Helper()
	ctx := context.Background()
	talk := talk.New(1)
	const batch = 500
	for done := 0; done < memories; done += batch {
		turns := exchange.Talk{Conversation: fmt.Sprint("old-", done)}
		for range min(batch, memories-done) * 2 / 3 {
			turns.Messages = append(turns.Messages, exchange.Said{Role: memory.RoleUser, Content: talk.Sentence()})
		}
		if _, err := r.Exchange.Ingest(ctx, r.owner, turns); err != nil {
			b.Fatal(err)
		}
		run := memory.Run{ID: fmt.Sprint("fill-", done), Kind: "import", Author: memory.Author{Kind: memory.ByRule, Name: "bench"}}
		var changes []memory.Change
		for i := range min(batch, memories-done) / 3 {
			f := memory.Fact{
				ID: fmt.Sprint("f", done, "-", i), Scope: memory.Scope{Owner: r.owner}, Content: fmt.Sprintf("User likes %s %s", talk.Word(), strings.TrimPrefix(talk.Sentence(), "I ")),
				Subject: "user", Confidence: 1, Status: memory.Active, Source: memory.Extracted, Trust: memory.TrustUser, ObservedAt: time.Now(), CreatedAt: time.Now(), UpdatedAt: time.Now(),
			}
			f.Hash = text.Hash(f.Content)
			v, err := r.Embedder.Embed(ctx, memory.AsDocument, f.Content)
			if err != nil {
				b.Fatal(err)
			}
			run.Vectors = append(run.Vectors, memory.Vector{Memory: f.ID, Model: r.Embedder.Fingerprint(), Values: v[0]})
			changes = append(changes, memory.Change{Action: memory.ActionAdd, After: memory.Image{Fact: &f}})
		}
		if _, err := r.Store.Apply(ctx, r.owner, run, changes...); err != nil {
			b.Fatal(err)
		}
	}
}

// instant is a model that answers at once, with a fact for each sentence of the
// turns and with "add" for each new fact.
type instant struct{}

func (instant) Complete(_ context.Context, p memory.Prompt) (memory.Reply, error) {
	if p.Name != "extract" {
		_, fresh, _ := strings.Cut(p.User, "New:")
		var decisions []map[string]any
		for i := range strings.Count(strings.TrimSpace(fresh), "\n") + 1 {
			decisions = append(decisions, map[string]any{"new": i + 1, "event": "ADD"})
		}
		return jsonReply(map[string]any{"decisions": decisions})
	}
	var facts []map[string]any
	_, turns, _ := strings.Cut(p.User, "The turns:")
	for line := range strings.Lines(turns) {
		for _, sentence := range text.Sentences(line) {
			if s := strings.TrimRight(sentence.Of(line), ".\n"); strings.HasPrefix(s, "I ") {
				facts = append(facts, map[string]any{"text": "User " + strings.Replace(strings.TrimPrefix(s, "I "), "like", "likes", 1), "turn": "t1", "quote": s, "confidence": 0.9})
			}
		}
	}
	return jsonReply(map[string]any{"facts": facts})
}

func jsonReply(v any) (memory.Reply, error) {
	data, err := json.Marshal(v)
	return memory.Reply{Text: string(data), Model: "instant"}, err
}

// BenchmarkLearn is one exchange, of which two facts are learned, of an owner with
// so many memories: recorded, then learned. The model answers at once, so that what
// is left is Loci's own. The parts are medians.
func BenchmarkLearn(b *testing.B) {
	for _, by := range []string{"rules", "model"} {
		for _, memories := range []int{0, 1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/memories=%d", by, memories), func(b *testing.B) { benchmarkLearn(b, by == "model", memories) })
		}
	}
}

func benchmarkLearn(b *testing.B, byModel bool, memories int) {
	if testing.Short() && memories > 10_000 {
		b.Skip("takes a minute to fill; run without -short")
	}
	var model memory.LLM
	if byModel {
		model = instant{}
	}
	r := newLearnerRig(b, model)
	r.fill(b, memories)
	ctx := context.Background()
	talk := talk.New(6)
	var record, claim, learn []time.Duration
	one := func(i int) {
		said := fmt.Sprintf("I like %s %s. I have a dog called %s.", talk.Word(), talk.Word(), talk.Word())
		began := time.Now()
		if _, err := r.Exchange.Ingest(ctx, r.owner, exchange.Talk{Conversation: fmt.Sprint("c", i/8), Infer: true, Messages: []exchange.Said{
			{Role: memory.RoleUser, Content: said}, {Role: memory.RoleAssistant, Content: "That sounds good."},
		}}); err != nil {
			b.Fatal(err)
		}
		recorded := time.Now()
		job, err := r.Store.Claim(ctx, []memory.JobKind{memory.JobLearn}, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		claimed := time.Now()
		if _, err := r.Lessons.Learn(ctx, job); err != nil {
			b.Fatal(err)
		}
		record, claim, learn = append(record, recorded.Sub(began)), append(claim, claimed.Sub(recorded)), append(learn, time.Since(claimed))
	}
	one(-1) // loads the index
	record, claim, learn = nil, nil, nil
	i := 0
	for b.Loop() {
		one(i)
		i++
	}
	counts, err := r.Store.Counts(ctx, r.owner)
	if err != nil {
		b.Fatal(err)
	}
	if counts.Facts <= memories/500*166 { // as many as fill wrote
		b.Fatalf("nothing was learned: %d facts", counts.Facts)
	}
	for unit, took := range map[string][]time.Duration{"p50-ms-record": record, "p50-ms-claim": claim, "p50-ms-learn": learn} {
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, unit)
	}
}
