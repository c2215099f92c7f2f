package assembly

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/memory"
)

// TestProfileAgentCLIKeepsMarkdown: the files of a folder are the memory.
func TestProfileAgentCLIKeepsMarkdown(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "memory")
	s := newStage(t, "agent-cli", map[string]string{"data": data, "store": "sqlite", "summaries.mode": "off"})
	c := s.talk()
	c.extras = map[string]any{"memory_id": "work"}
	s.model.on("extract", `{"facts": [{"text": "User lives in Berlin", "quote": "I live in Berlin"}]}`)
	c.says("I live in Berlin.")
	noError(t)(s.loci.vault.Store.Flush(t.Context()))
	all := readTree(t, dir)
	s.has("the vault", all, "User lives in Berlin", "I live in Berlin.", "created_at:", "id:", "OK.")
	for _, kind := range []string{"facts", "turns/user", "turns/assistant"} { // of the conversation that taught it
		if files, err := filepath.Glob(filepath.Join(dir, "entries", "work", kind, "*.md")); err != nil || len(files) == 0 {
			t.Errorf("there are no files in entries/work/%s: %v", kind, err)
		}
	}
}

// TestProfilesScoreByTheirOwnModel: with the embedder that a profile names a score is the cosine
// of the texts as they are, without a prefix, as in the designs. The threshold is on it.
func TestProfilesScoreByTheirOwnModel(t *testing.T) {
	server := httptest.NewServer(&embedServer{})
	t.Cleanup(server.Close)
	facts := []string{"User's sister is called Eva", "User's brother is called Tom", "User drinks oolong tea", "User drives a green van", "User speaks Finnish", "User grows roses"}
	for profile, embedder := range map[string]string{"assistant": "remote:bge-small-en-v1.5", "openwebui": "remote:mistral-embed", "platform": "remote:text-embedding-3-small"} {
		threshold := map[string]float64{"assistant": 0.5, "openwebui": 0.8, "platform": 0.45}[profile]
		s := newStage(t, profile, map[string]string{"embedder": embedder, "embed.url": server.URL + "/v1", "preset.expand": "false"})
		ana := []string{"X-OpenWebUI-User-Id", "ana"}
		s.remember(ana, facts...)
		s.settle()
		const question = "What is the sister of the user called?"
		vectors := try(embed.Lexical{}.Embed(t.Context(), memory.AsDocument, append([]string{question}, facts...)...)).orFail(t)
		var want []float64
		for _, v := range vectors[1:] {
			cosine := 0.0
			for i, x := range v {
				cosine += float64(x) * float64(vectors[0][i])
			}
			want = append(want, max(0, cosine))
		}
		slices.Sort(want)
		slices.Reverse(want)
		for least, more := range map[float64]string{
			threshold: "", want[0] - 0.01: fmt.Sprintf(`,"score_threshold":%f`, want[0]-0.01), want[1] - 0.01: fmt.Sprintf(`,"score_threshold":%f`, want[1]-0.01),
		} {
			over := slices.IndexFunc(want, func(x float64) bool { return x < least })
			got := s.scores(question, more, ana)
			if !slices.EqualFunc(got, want[:over], func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }) {
				t.Errorf("%s: from %v on the scores are %v, want the cosines %v", profile, least, got, want[:over])
			}
		}
	}
}

// TestProfileAgentCLIScoresByItsReranker: 0.8 of the reranker's number and 0.2 of recency, of
// as much as there is in the conversation and in global alike.
func TestProfileAgentCLIScoresByItsReranker(t *testing.T) {
	embeds := &embedServer{scores: map[string]float64{"User grows roses": 0.9, "User grows figs": 0.6, "User grows tall": 0.3}}
	server := httptest.NewServer(embeds)
	t.Cleanup(server.Close)
	s := newStage(t, "agent-cli", map[string]string{"embed.url": server.URL + "/v1", "reranker": "remote:ms-marco-MiniLM-L-6-v2", "summaries.mode": "off"})
	teach := func(conversation, fact string) {
		s.model.on("extract", fmt.Sprintf(`{"facts": [{"text": %q, "quote": %q}]}`, fact, strings.Replace(fact, "User grows", "I grow", 1)))
		s.model.on("reconcile", `{"decisions": []}`)
		s.ok(nil, "POST", "/api/memory/add", fmt.Sprintf(`{"conversation":%q,"text":%q,"wait":true}`, conversation, strings.Replace(fact, "User grows", "I grow", 1)+"."))
	}
	teach("work", "User grows roses")
	s.clock.pass(30 * 24 * time.Hour)
	teach("global", "User grows figs")
	teach("home", "User grows tall")
	s.settle()
	var found struct {
		Hits []struct {
			Content string
			Score   float64
		}
	}
	s.ok(&found, "POST", "/api/memory/search", `{"query":"What do I grow?","kinds":["fact"],"conversation":"work"}`)
	want := map[string]float64{"User grows roses": 0.8*0.9 + 0.2*math.Exp(-1), "User grows figs": 0.8*0.6 + 0.2}
	for _, h := range found.Hits {
		if math.Abs(h.Score-want[h.Content]) > 1e-3 {
			t.Errorf("%q has the score %v, want %v", h.Content, h.Score, want[h.Content])
		}
	}
	if len(found.Hits) != 2 {
		t.Errorf("found %+v, want what the conversation and global taught", found.Hits)
	}
}

// asked is the answer to POST /query.
type asked struct {
	MemoryContext struct {
		Context []struct {
			Content    string
			Similarity float64
		}
		RecentMessages []any `json:"recent_messages"`
		Summaries      []struct {
			Summary      string
			MessageCount int `json:"message_count"`
		}
		Memories []any
		Dim      int `json:"query_embedding_dim"`
	} `json:"memory_context"`
}

// query asks POST /query, and has the model write reply.
func (s *stage) query(reply string, fields map[string]any) asked {
	s.t.Helper()
	body := try(json.Marshal(fields)).orFail(s.t)
	s.model.on("write", reply)
	var out asked
	s.ok(&out, "POST", "/query", string(body))
	s.settle()
	return out
}

// TestProfilePlatformReadsWithoutItsEmbedder: its embedder is asked for the query alone, and
// what needs no vector is there although that answers nobody.
func TestProfilePlatformReadsWithoutItsEmbedder(t *testing.T) {
	embeds := &embedServer{}
	server := httptest.NewServer(embeds)
	t.Cleanup(server.Close)
	s := newStage(t, "platform", map[string]string{"embed.url": server.URL + "/v1", "recall.deadline": "2s", "summaries.every": "2"})
	ask := func(text string) asked {
		return s.query("Fine.", map[string]any{"query": text, "session_id": "trip", "user_id": "ana"})
	}
	s.ok(nil, "PUT", "/api/profile/timezone", `{"value":"UTC"}`, "X-Loci-User", "ana")
	if first := s.query("Hi.", map[string]any{"query": "Hello.", "session_id": "other", "user_id": "ana"}); first.MemoryContext.Dim == 0 {
		t.Error("the first query has no query_embedding_dim")
	}
	embeds.taken("")
	for i := range 4 {
		s.model.on("summarize", fmt.Sprintf("- Plans a trip, stage %d.", i))
		ask(fmt.Sprintf("I decided to visit the lighthouse of Nazaré on day %d of the trip.", i))
	}
	if first := embeds.taken("lighthouse"); len(first) == 0 {
		t.Fatal("nothing was embedded")
	}
	const question = "Which lighthouse did I decide to visit?"
	a := ask(question)
	if asked := embeds.taken(""); len(asked) != 2 || asked[0] != question { // the query, and later its turn; the answer was given before
		t.Errorf("for one query were embedded %q", asked)
	}
	if len(a.MemoryContext.Context) == 0 || a.MemoryContext.Dim == 0 {
		t.Errorf("similar messages: %+v", a.MemoryContext)
	}
	if again := ask(question); again.MemoryContext.Context[0].Content != question || again.MemoryContext.Context[0].Similarity > 1 {
		t.Errorf("the question again is like %+v, want itself and at most 1", again.MemoryContext.Context[0])
	}
	embeds.down.Store(true)
	body := try(json.Marshal(map[string]any{"query": "What is the lighthouse called that I decided to visit?", "session_id": "trip", "user_id": "ana"})).orFail(t)
	s.model.on("write", "Fine.")
	s.ok(&a, "POST", "/query", string(body))
	embeds.down.Store(false)
	if m := a.MemoryContext; len(m.Context) == 0 || len(m.RecentMessages) == 0 || len(m.Summaries) == 0 || len(m.Memories) != 1 || m.Dim != 0 {
		t.Errorf("without an embedder: %+v", m)
	}
}

// embedServer is a server of embeddings, by words, and of a reranker with the scores that it is
// given. While it is down it answers nobody.
type embedServer struct {
	down   atomic.Bool
	scores map[string]float64 // of a text, by the reranker

	mu    sync.Mutex // guards texts
	texts []string
}

func (e *embedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Input, Documents []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if e.down.Load() {
		<-r.Context().Done()
		return
	}
	if strings.HasSuffix(r.URL.Path, "/rerank") {
		var results []any
		for i, text := range in.Documents {
			results = append(results, map[string]any{"index": i, "relevance_score": e.scores[text]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
		return
	}
	e.mu.Lock()
	e.texts = append(e.texts, in.Input...)
	e.mu.Unlock()
	vectors, err := embed.Lexical{}.Embed(r.Context(), memory.AsDocument, in.Input...)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var data []any
	for i, v := range vectors {
		data = append(data, map[string]any{"index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// taken returns the texts with this in them that were embedded since the last look.
func (e *embedServer) taken(with string) (out []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, text := range e.texts {
		if strings.Contains(text, with) {
			out = append(out, text)
		}
	}
	e.texts = nil
	return out
}

// scores are those of the facts that a search finds; without recency they are their
// relevance.
func (s *stage) scores(question, more string, headers []string) []float64 {
	s.t.Helper()
	var found struct{ Hits []struct{ Score float64 } }
	s.ok(&found, "POST", "/api/memory/search", fmt.Sprintf(`{"query":%q,"kinds":["fact"]%s}`, question, more), headers...)
	var out []float64
	for _, h := range found.Hits {
		out = append(out, h.Score)
	}
	return out
}
