package assembly

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// tinyModels are random models that the encoder is tested with: mean and cls give
// vectors, cross compares texts.
const tinyModels = "../../internal/model/transformer/testdata"

// openModelled opens a memory with these settings and returns its error, if any, as the
// start would.
func openModelled(t testing.TB, settings map[string]string) (*Loci, error) {
	t.Helper()
	config, err := config.Load(config.Sources{Flags: settings})
	if err != nil {
		return nil, err
	}
	l, err := Open(context.Background(), config, Options{})
	if err == nil {
		t.Cleanup(func() { noError(t)(l.Close()) })
	}
	return l, err
}

func TestModelsThatCannotBeStopTheStart(t *testing.T) {
	broken := t.TempDir()
	noError(t)(os.CopyFS(filepath.Join(broken, "torn"), os.DirFS(filepath.Join(tinyModels, "mean"))))
	noError(t)(os.Truncate(filepath.Join(broken, "torn", "model.safetensors"), 1000))
	for name, c := range map[string]struct {
		settings map[string]string
		want     []string
	}{
		"no such kind":       {map[string]string{"embedder": "magic"}, []string{"embedder: invalid value \"magic\"", "lexical, local:NAME", "remote:MODEL"}},
		"no name":            {map[string]string{"embedder": "local:"}, []string{"embedder: invalid value \"local:\""}},
		"outside the folder": {map[string]string{"embedder": "local:../x"}, []string{"embedder: invalid value \"local:../x\""}},
		"no such folder":     {map[string]string{"embedder": "local:nobody"}, []string{"embedder: there is no model nobody in " + tinyModels, "loci models pull nobody"}},
		"torn":               {map[string]string{"embedder": "local:torn", "models_dir": broken}, []string{"embedder: model ", "model.safetensors", "loci models verify torn"}},
		"compares only":      {map[string]string{"embedder": "local:cross"}, []string{"embedder: cross is a cross-encoder"}},
		"gives vectors only": {map[string]string{"reranker": "local:mean"}, []string{"reranker: mean computes vectors"}},
		"asks nobody":        {map[string]string{"embedder": "remote:m"}, []string{"embedder: \"remote:m\" needs embed.url or upstream.url"}},
		"no such reranker":   {map[string]string{"reranker": "lexical"}, []string{"reranker: invalid value \"lexical\"", "none, local:NAME"}},
		"no URL":             {map[string]string{"embedder": "remote:m", "embed.url": "nowhere"}, []string{"embed.url"}},
	} {
		settings := map[string]string{"store": "memory", "models_dir": tinyModels}
		for k, v := range c.settings {
			settings[k] = v
		}
		_, err := openModelled(t, settings)
		if !errors.Is(err, memory.Invalid) {
			t.Errorf("%s: %v, want it invalid", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

func TestALocalEmbedderGivesVectorsAtOnce(t *testing.T) {
	ctx := context.Background()
	l := try(openModelled(t, map[string]string{"store": "memory", "models_dir": tinyModels, "embedder": "local:mean", "reranker": "local:cross", "recall.threshold": "0"})).orFail(t)
	f := try(l.Remember(ctx, "ana", "User is allergic to peanuts")).orFail(t)
	hits, err := l.Recall(ctx, "ana", "what about peanuts?")
	if err != nil || len(hits) != 1 || hits[0].Memory.ID() != f.ID || hits[0].Why.Get("vector") == 0 {
		t.Errorf("%+v, %v; want the fact, found by its vector too", hits, err)
	}
	if jobs, err := l.engine.Store.Jobs(ctx, memory.User(memory.DefaultNamespace, "ana")); err != nil || len(jobs) > 1 {
		t.Errorf("jobs: %+v, %v; want none to embed", jobs, err)
	}
}

// TestVectorsOfAnotherLengthReplaceTheOldOnes: a server that gives other vectors under the same name, while
// Loci runs or between two starts, is noticed, and memories are embedded again.
func TestVectorsOfAnotherLengthReplaceTheOldOnes(t *testing.T) {
	model := &scripted{dims: 24}
	server := httptest.NewServer(model)
	defer server.Close()
	settings := map[string]string{"data": t.TempDir(), "embedder": "remote:m", "embed.url": server.URL + "/v1", "learn.model": "none"}
	const question = "what about peanuts?"
	run := func(do func(l *Loci, vector func() float64)) {
		t.Helper()
		config := try(config.Load(config.Sources{Flags: settings})).orFail(t)
		l := try(Open(t.Context(), config, Options{})).orFail(t)
		running, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(running) }()
		do(l, func() float64 {
			t.Helper()
			noError(t)(l.Settle(t.Context()))
			hits, err := l.Recall(t.Context(), "default", question)
			if err != nil || len(hits) != 1 {
				t.Fatalf("%+v, %v; want the fact", hits, err)
			}
			return hits[0].Why.Get("vector")
		})
		stop()
		noError(t)(errors.Join(<-done, l.Close()))
	}
	soon := func(when string, vector func() float64) { // a search queues the job, which takes its time
		t.Helper()
		for until := time.Now().Add(10 * time.Second); vector() == 0; {
			if time.Now().After(until) {
				t.Fatalf("%s: found by words alone, want by its vector", when)
			}
		}
	}
	run(func(l *Loci, vector func() float64) {
		noError(t)(l.Remember(t.Context(), "default", "User is allergic to peanuts"))
		soon("at first", vector)
		model.becomes(func(m *scripted) { m.dims = 48 })
		noError(t)(l.engine.Embedder.Embed(t.Context(), memory.AsQuestion, "anything else"))
		soon("after another length", vector)
	})
	model.becomes(func(m *scripted) { m.dims = 96 })
	run(func(_ *Loci, vector func() float64) { soon("after another start", vector) })
}
