package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// remembered is a searcher that works only for a question's first time: what is
// left of a recall is everything but the index.
type remembered struct {
	memory.Searcher
	mu    sync.Mutex // guards found
	found map[string][]memory.Candidate
}

func (r *remembered) Search(ctx context.Context, s memory.Search) ([]memory.Candidate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.found[s.Text]; ok {
		return found, nil
	}
	found, err := r.Searcher.Search(ctx, s)
	r.found[s.Text] = found
	return found, err
}

// served is a whole door on SQLite, on loopback, with so many turns of one user.
type served struct {
	engine *engine.Engine
	client *client.Client
	talk   *talk
}

func serve(b *testing.B, turns int, wrap func(memory.Searcher) memory.Searcher) served {
	b.Helper()
	store, err := sqlstore.OpenSQLite(context.Background(), filepath.Join(b.TempDir(), "loci.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ix := index.New(store, index.Options{Model: embed.Lexical{}.Fingerprint()})
	e := engine.New(core.Parts{
		Store: store, Searcher: wrap(ix), Embedder: embed.Lexical{}, Prompts: prompt.Default(),
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Wake: func() {},
	}, core.Options{
		TopK: 10, Budget: 1500, Threshold: -1, RecencyWeight: 0.2, Deadline: 10 * time.Second,
		LearnAfter: core.AfterExchange, Rules: true, MaxText: 1 << 20,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Traces.Run(ctx) })
	server := httptest.NewServer(httpx.Guard(httpx.Options{}, New(e, Options{
		Version: "1", MaxBody: 32 << 20, Health: func(context.Context) client.Health { return health },
	})))
	b.Cleanup(func() {
		server.Close()
		cancel()
		running.Wait()
		e.Close()
		if err := errors.Join(ix.Close(), store.Close()); err != nil {
			b.Error(err)
		}
	})
	s := served{engine: e, talk: newTalk(), client: client.New(server.URL, client.Options{
		User: "bench", HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	})}
	for done := 0; done < turns; done += 500 {
		s.fill(b, fmt.Sprint("talk ", done), 500)
	}
	return s
}

// fill adds turns to a conversation.
func (s served) fill(b *testing.B, conversation string, turns int) {
	b.Helper()
	infer := false
	in := client.AddMessages{Infer: &infer, Conversation: conversation}
	for range turns {
		in.Messages = append(in.Messages, client.Message{Role: memory.RoleUser, Content: s.talk.sentence()})
	}
	if _, err := s.client.AddMessages(context.Background(), in); err != nil {
		b.Fatal(err)
	}
}

func direct(s memory.Searcher) memory.Searcher { return s }

// BenchmarkSearchHTTP measures a recall among 10,000 turns with a client on
// loopback, what of it is not the index, and what a request costs that asks
// nothing.
func BenchmarkSearchHTTP(b *testing.B) {
	ask := func(b *testing.B, s served, i int) {
		if _, err := s.client.Search(context.Background(), client.SearchRequest{Query: s.talk.questions[i%len(s.talk.questions)]}); err != nil {
			b.Error(err)
		}
	}
	warm := func(b *testing.B, s served) {
		for i := range s.talk.questions {
			ask(b, s, i)
		}
		b.ReportAllocs()
		b.ResetTimer()
	}
	b.Run("whole", func(b *testing.B) {
		s := serve(b, 10_000, direct)
		warm(b, s)
		for i := 0; b.Loop(); i++ {
			ask(b, s, i)
		}
	})
	aside := func(b *testing.B) served {
		s := serve(b, 10_000, func(s memory.Searcher) memory.Searcher {
			return &remembered{Searcher: s, found: map[string][]memory.Candidate{}}
		})
		warm(b, s)
		return s
	}
	b.Run("without the index", func(b *testing.B) {
		s := aside(b)
		for i := 0; b.Loop(); i++ {
			ask(b, s, i)
		}
	})
	b.Run("without the index, 8 clients", func(b *testing.B) {
		s := aside(b)
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for i := rand.IntN(100); pb.Next(); i++ {
				ask(b, s, i)
			}
		})
	})
	b.Run("without the index and HTTP", func(b *testing.B) {
		s := aside(b)
		owner := memory.User(memory.DefaultNamespace, "bench")
		for i := 0; b.Loop(); i++ {
			if _, err := s.engine.Retrieve.Recall(context.Background(), retrieve.Question{
				Scope: memory.Scope{Owner: owner}, Text: s.talk.questions[i%len(s.talk.questions)], Door: "search",
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		s := serve(b, 0, direct)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.client.Health(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAddHTTP measures durable adds with a client on loopback: of one fact
// at a time, and of turns 500 at once.
func BenchmarkAddHTTP(b *testing.B) {
	add := func(b *testing.B, s served, text string) {
		if _, _, err := s.client.Add(context.Background(), client.AddMemory{Content: text}); err != nil {
			b.Error(err)
		}
	}
	b.Run("1 client", func(b *testing.B) {
		s := serve(b, 0, direct)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			add(b, s, fmt.Sprintf("%s %d", s.talk.sentence(), i))
		}
	})
	b.Run("8 clients", func(b *testing.B) {
		s := serve(b, 0, direct)
		b.ReportAllocs()
		b.ResetTimer()
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			said := newTalk()
			for pb.Next() {
				add(b, s, fmt.Sprintf("%s %d", said.sentence(), rand.Uint64()))
			}
		})
	})
	b.Run("500 turns", func(b *testing.B) {
		s := serve(b, 0, direct)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.fill(b, fmt.Sprint("talk ", i), 500)
		}
		b.ReportMetric(float64(500*b.N)/b.Elapsed().Seconds(), "turns/s")
	})
}

// talk makes everyday sentences of words that are drawn by Zipf's law.
type talk struct {
	questions []string
	zipf      *rand.Zipf
	r         *rand.Rand
}

func newTalk() *talk {
	r := rand.New(rand.NewPCG(1, 7))
	t := &talk{r: r, zipf: rand.NewZipf(r, 1.1, 20, 19_999)}
	for range 257 {
		t.questions = append(t.questions, "What did I say about "+t.some(2+r.IntN(4))+"?")
	}
	return t
}

func (t *talk) sentence() string { return "I " + t.some(8+t.r.IntN(12)) + "." }

func (t *talk) some(n int) string {
	said := make([]string, n)
	for i := range said {
		said[i] = spoken(t.zipf.Uint64())
	}
	return strings.Join(said, " ")
}

// spoken returns the nth word of a made-up language.
func spoken(n uint64) string {
	const syllables = "bakedifogulamenopiquro"
	w := "z"
	for ; n > 0; n /= 11 {
		w += syllables[2*(n%11) : 2*(n%11)+2]
	}
	return w
}
