package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func TestWhySaysWhatTheModelsHadToDo(t *testing.T) {
	found := client.SearchAnswer{Hits: []client.Hit{{Memory: client.Memory{ID: "m", Kind: memory.KindFact, Content: "User likes tea"}, Score: 0.5}}, Trace: "t1"}
	const id, vector, reranker = "      id       m\n", "embedder: the question's vector was cached\n", "reranker: scored 8 of 24 candidates\n"
	for _, c := range []struct {
		args  string
		trace any
		want  string // behind the hit
	}{
		{"--why", memory.Trace{ID: "t1", Remembered: true, Reranked: 8, RerankOf: 24}, id + vector + reranker},
		{"--why", memory.Trace{ID: "t1", RerankOf: 24}, id + "reranker: scored 0 of 24 candidates\n"},
		{"--why", memory.Trace{ID: "t1"}, id},
		{"--why", client.Problem{Title: "Not Found", Status: 404, Code: memory.NotFound, Detail: "no trace"}, id},
		{"", memory.Trace{ID: "t1", Remembered: true, Reranked: 8, RerankOf: 24}, ""},
	} {
		s := newStandIn(t, map[string]any{"POST /api/memory/search": found, "GET /api/traces/t1": c.trace})
		got, err := s.loci(t, append([]string{"search", "What does she like?"}, strings.Fields(c.args)...)...)
		if _, behind, ok := strings.Cut(got, "User likes tea\n"); err != nil || !ok || behind != c.want {
			t.Errorf("search %s of %+v: %q, %v; want the hit and %q", c.args, c.trace, got, err, c.want)
		}
	}
}

func TestWhySaysWhatMisspeltWordsWereTakenFor(t *testing.T) {
	found := client.SearchAnswer{Hits: []client.Hit{}, Trace: "t1", Misspelt: []memory.Misspelt{{Word: "alergic", Meant: []string{"allergic", "all\x1b[2Jergy"}}}}
	for args, want := range map[string]string{"--why": "misspelt: alergic → allergic, all�[2Jergy\n", "": ""} {
		s := newStandIn(t, map[string]any{"POST /api/memory/search": found, "GET /api/traces/t1": memory.Trace{ID: "t1"}})
		got, err := s.loci(t, append([]string{"search", "alergic?"}, strings.Fields(args)...)...)
		if err != nil || got != "nothing relevant\n"+want {
			t.Errorf("search %s: %q, %v; want %q at the end", args, got, err, want)
		}
	}
}

// A hit has the day on which it was said, what took its place, and nothing that moves the
// cursor of a terminal.
func TestHitsAreShownAsTheyStandInAPrompt(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 10, d, 9, 0, 0, 0, time.UTC) }
	found := client.SearchAnswer{Trace: "t1", Degraded: []string{"embedder: \x1b[2Jgone"}, Hits: []client.Hit{
		{Memory: client.Memory{ID: "f", Kind: memory.KindFact, Content: "User \x1b[31mlives in York", ObservedAt: day(1), CreatedAt: day(22)}, Score: 0.9},
		{Memory: client.Memory{ID: "t", Kind: memory.KindTurn, Content: "I live in Leeds", CreatedAt: day(2)}, Score: 0.5, Now: []string{"User lives in York"}},
	}}
	trace := memory.Trace{ID: "t1", Cut: []memory.TraceHit{{ID: "c", Kind: memory.KindFact, Cut: "threshold"}}}
	left := client.Memory{ID: "c", Kind: memory.KindFact, Content: "User hates \x1b[2Jtea", ObservedAt: day(3), CreatedAt: day(22)}
	s := newStandIn(t, map[string]any{"POST /api/memory/search": found, "GET /api/traces/t1": trace, "GET /api/memory/c": left})
	got, err := s.loci(t, "search", "Where do I live?", "--cut")
	const want = `0.90  fact    2026-10-01  User �[31mlives in York
0.50  turn    2026-10-02  I live in Leeds
      but now: User lives in York
skipped: embedder: �[2Jgone
left out (threshold): not relevant enough
0.00  fact    2026-10-03  User hates �[2Jtea
`
	if err != nil || got != want {
		t.Errorf("search --cut: %v\n%s\nwant\n%s", err, got, want)
	}
}

func TestSearchIsNarrowedAsListsAre(t *testing.T) {
	s := newStandIn(t, map[string]any{})
	var asked client.SearchRequest
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/memory/search" {
			_ = json.NewDecoder(r.Body).Decode(&asked)
		}
		_, _ = io.WriteString(w, `{"hits": [], "trace": "t1"}`)
	})
	_, err := s.loci(t, "search", "What do I drink?", "--category", "food", "--tag", "tea", "--conversation", "c1", "--project", "atlas")
	if want := (client.Filters{Category: "food", Tag: "tea"}); err != nil || asked.Filters != want || asked.Conversation != "c1" || asked.Project != "atlas" {
		t.Errorf("%v: asked %+v", err, asked)
	}
}
