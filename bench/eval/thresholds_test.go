package eval

import (
	"context"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// TestThresholdsThatPassTheSame prints which relevance lets as many of the facts that answer a
// message pass as a cosine does: docs/profiles.md says what it is for. With LOCI_MODELS_DIR, a
// folder with all-MiniLM-L6-v2, cosines are that model's, else those of words.
func TestThresholdsThatPassTheSame(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("it prints a table: go test -v")
	}
	persons, err := OpenChat("testdata/chat-recall", false)
	if err != nil {
		t.Fatal(err)
	}
	embedders := []string{"lexical"}
	if os.Getenv("LOCI_MODELS_DIR") != "" {
		embedders = append(embedders, "local:all-MiniLM-L6-v2")
	}
	pairs := map[string][]answering{}
	for _, name := range embedders {
		config, err := config.Load(config.Sources{Flags: map[string]string{"embedder": name, "models_dir": os.Getenv("LOCI_MODELS_DIR"), "recall.deadline": "60s"}})
		if err != nil {
			t.Fatal(err)
		}
		pairs[name] = answeringOf(t, persons, config)
	}
	model := pairs[embedders[len(embedders)-1]]
	t.Logf("%d pairs of a message and a fact that answers it", len(model))
	for _, cosine := range []float64{0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.8} {
		passed := 0
		for _, p := range model {
			if p.cosine >= cosine {
				passed++
			}
		}
		share := float64(passed) / float64(len(model))
		for _, name := range embedders {
			t.Logf("cosine %.2f: %.3f pass, by %s with a relevance of %.4f", cosine, share, name, passing(pairs[name], passed))
		}
	}
}

// answering is a message and a fact that answers it.
type answering struct{ cosine, relevance float64 }

// passing returns the relevance that as many pairs have at least.
func passing(pairs []answering, n int) float64 {
	if n == 0 {
		return 1
	}
	var all []float64
	for _, p := range pairs {
		all = append(all, p.relevance)
	}
	slices.Sort(all)
	return all[len(all)-n]
}

func answeringOf(t *testing.T, persons []ChatPerson, config config.Config) (pairs []answering) {
	t.Helper()
	ctx := context.Background()
	trial, err := openChatTrial(ctx, ChatOptions{Config: config, Facts: FactsGiven})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := trial.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, p := range persons {
		if err := trial.record(ctx, p); err != nil {
			t.Fatal(err)
		}
		memories, err := trial.memories(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]bool{}
		for _, f := range p.Facts {
			given[f.Text] = true
		}
		for _, n := range p.Needed {
			most, least := 500, math.SmallestNonzeroFloat64
			found, err := trial.client(p.ID).Search(ctx, client.SearchRequest{Query: n.Message, TopK: &most, ScoreThreshold: &least, Kinds: []memory.Kind{memory.KindFact}, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			of := map[string]answering{}
			for _, h := range found.Hits {
				of[h.ID] = answering{h.Why.Get("vector"), h.Why.Get("relevance")}
			}
			for _, m := range memories {
				if given[m.content] && (m.isFrom(n.Gold) || holds(m.content, n.Answers)) {
					pairs = append(pairs, of[m.id])
				}
			}
		}
	}
	return pairs
}
