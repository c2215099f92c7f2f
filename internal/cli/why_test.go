package cli

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func TestWhySaysWhatTheModelsHadToDo(t *testing.T) {
	found := client.SearchAnswer{Hits: []client.Hit{{Memory: client.Memory{ID: "m", Kind: memory.KindFact, Content: "User likes tea"}, Score: 0.5}}, Trace: "t1"}
	const vector, reranker = "embedder: the question's vector was remembered\n", "reranker: read 8 of 24\n"
	for _, c := range []struct {
		args  string
		trace any
		want  string // behind the hit
	}{
		{"--why", memory.Trace{ID: "t1", Remembered: true, Reranked: 8, RerankOf: 24}, vector + reranker},
		{"--why", memory.Trace{ID: "t1", RerankOf: 24}, "reranker: read 0 of 24\n"},
		{"--why", memory.Trace{ID: "t1"}, ""},
		{"--why", client.Problem{Title: "Not Found", Status: 404, Code: memory.NotFound, Detail: "no trace"}, ""},
		{"", memory.Trace{ID: "t1", Remembered: true, Reranked: 8, RerankOf: 24}, ""},
	} {
		s := newStandIn(t, map[string]any{"POST /api/memory/search": found, "GET /api/traces/t1": c.trace})
		got, err := s.loci(t, append([]string{"search", "What does she like?"}, strings.Fields(c.args)...)...)
		if _, behind, ok := strings.Cut(got, "User likes tea\n"); err != nil || !ok || behind != c.want {
			t.Errorf("search %s of %+v: %q, %v; want the hit and %q", c.args, c.trace, got, err, c.want)
		}
	}
}
