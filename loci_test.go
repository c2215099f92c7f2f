package loci_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/memory"
)

func openWith(t *testing.T, c loci.Config, o loci.Options) *loci.Loci {
	t.Helper()
	l, err := loci.Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestEmptyConfigHasDefaults(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	l := openWith(t, loci.Config{}, loci.Options{})
	if _, err := l.Remember(t.Context(), "ana", "User plays the cello"); err != nil {
		t.Fatal(err)
	}
	hits, err := l.Recall(t.Context(), "ana", "Which instrument do I play, the cello?")
	if err != nil || len(hits) != 1 {
		t.Errorf("recalled %v, %v; want one fact", hits, err)
	}
}

func TestConfigKeepsWhatAProgramSets(t *testing.T) {
	c := loci.Config{Store: "memory"}
	c.Recall.TopK = 1
	l := openWith(t, c, loci.Options{})
	for _, content := range []string{"User plays the cello", "User's sister plays the cello too"} {
		if _, err := l.Remember(t.Context(), "ana", content); err != nil {
			t.Fatal(err)
		}
	}
	if hits, err := l.Recall(t.Context(), "ana", "Who plays the cello?"); err != nil || len(hits) != 1 {
		t.Errorf("recalled %v, %v; want one fact", hits, err)
	}
	if _, err := loci.Open(t.Context(), loci.Config{Store: "nonsense"}, loci.Options{}); err == nil {
		t.Error("an invalid store opens")
	}
}

// axes embeds a text as one of four axes, by how many words it has.
type axes struct{ asked atomic.Int64 }

func (*axes) Fingerprint() string { return "axes-4" }
func (*axes) Dims() int           { return 4 }
func (a *axes) Embed(_ context.Context, _ memory.EmbedAs, texts ...string) ([][]float32, error) {
	a.asked.Add(int64(len(texts)))
	out := make([][]float32, len(texts))
	for i, s := range texts {
		out[i] = make([]float32, 4)
		out[i][len(strings.Fields(s))%4] = 1
	}
	return out, nil
}

func TestProgramsEmbedderEmbeds(t *testing.T) {
	a := &axes{}
	l := openWith(t, loci.Config{Store: "memory"}, loci.Options{Embedder: a})
	if _, err := l.Remember(t.Context(), "ana", "User plays the cello"); err != nil {
		t.Fatal(err)
	}
	stored := a.asked.Load()
	if _, err := l.Recall(t.Context(), "ana", "Which instrument do I play?"); err != nil {
		t.Fatal(err)
	}
	if stored == 0 || a.asked.Load() == stored {
		t.Errorf("the embedder got %d texts to store and %d to recall, want some of both", stored, a.asked.Load()-stored)
	}
}

// teller says of every text that the user keeps bees.
type teller struct{}

func (teller) Complete(context.Context, memory.Prompt) (memory.Reply, error) {
	return memory.Reply{Text: `{"ops":[{"op":"add","ids":[],"text":"User keeps bees behind the house","quote":"keeping bees behind the house","about":"user","lasting":true}]}`}, nil
}

func TestProgramsModelLearns(t *testing.T) {
	l := openWith(t, loci.Config{Store: "memory"}, loci.Options{LLM: teller{}})
	said := "By the way, since spring keeping bees behind the house has been what I do on Sundays."
	if _, err := l.Record(t.Context(), "ana", "", loci.Message{Role: memory.RoleUser, Content: said}); err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := l.List(t.Context(), "ana", memory.Query{Text: "bees"})
	if err != nil || len(page.Memories) != 1 || page.Memories[0].Content() != "User keeps bees behind the house" {
		t.Errorf("learned %+v, %v; want what the model said", page.Memories, err)
	}
}

func TestProgramsLoggerLogs(t *testing.T) {
	var b bytes.Buffer
	l, err := loci.Open(t.Context(), loci.Config{Store: "memory"}, loci.Options{Logger: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil || !strings.Contains(b.String(), "learning model") {
		t.Errorf("logged %q, %v; want who learns", b.String(), err)
	}
}
