package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorServer answers /v1/embeddings with vectors that say how long each text is,
// the last text first.
func vectorServer(t *testing.T, requests *[]int) *Embedder {
	t.Helper()
	return embedderAt(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "m" || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("%s %+v %v", r.URL.Path, in, err)
		}
		*requests = append(*requests, len(in.Input))
		var data []string
		for i := len(in.Input) - 1; i >= 0; i-- {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in.Input[i])))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	})
}

func embedderAt(t *testing.T, answer http.HandlerFunc) *Embedder {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	e, err := NewEmbedder(Options{BaseURL: s.URL + "/v1", Key: "k", Model: "m", Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestTextsAreEmbeddedInBatchesAndComeInOrder(t *testing.T) {
	var requests []int
	e := vectorServer(t, &requests)
	texts := make([]string, embedBatch+2)
	for i := range texts {
		texts[i] = strings.Repeat("x", i)
	}
	texts[1] = strings.Repeat("é", maxEmbedText)
	got, err := e.Embed(context.Background(), memory.AsDocument, texts...)
	if err != nil || len(got) != len(texts) || fmt.Sprint(requests) != fmt.Sprint([]int{embedBatch, 2}) {
		t.Fatalf("%d vectors in requests of %v, %v; want %d in %d and 2", len(got), requests, err, len(texts), embedBatch)
	}
	for i, v := range got {
		length := max(1, i) // nothing is sent as a full stop
		if i == 1 {
			length = maxEmbedText
		}
		want := float64(length) / math.Hypot(float64(length), 1)
		if math.Abs(float64(v[0])-want) > 1e-6 || math.Abs(float64(v[0]*v[0]+v[1]*v[1])-1) > 1e-6 {
			t.Errorf("text %d: %v, want a first value of %v and length 1", i, v, want)
		}
	}
	if e.Dims() != 2 || e.Fingerprint() != "remote:m" || !e.Remote() {
		t.Errorf("dims %d, %s, remote %v", e.Dims(), e.Fingerprint(), e.Remote())
	}
}

func TestAnswersThatAreNoVectorsAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"too few":       `{"data":[{"index":0,"embedding":[1,0]}]}`,
		"one twice":     `{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`,
		"one beyond":    `{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`,
		"no direction":  `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}`,
		"empty":         `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[]}]}`,
		"other dims":    `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1,0,0]}]}`,
		"text":          `{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":[1]}]}`,
		"too large":     `{"data":[{"index":0,"embedding":[1e39,0]},{"index":1,"embedding":[1,0]}]}`,
		"nothing of it": `{}`,
	} {
		e := embedderAt(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		if got, err := e.Embed(context.Background(), memory.AsDocument, "a", "b"); !errors.Is(err, memory.Unavailable) || got != nil {
			t.Errorf("%s: %v, %v; want it refused", name, got, err)
		}
	}
}

func TestAServerThatRefusesATextIsToldFromOneThatIsAway(t *testing.T) {
	for status, want := range map[int]error{400: memory.Invalid, 413: memory.Invalid, 422: memory.Invalid, 401: memory.Unavailable, 404: memory.Unavailable, 429: memory.Unavailable, 503: memory.Unavailable} {
		e := embedderAt(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":{"message":"no, k"}}`, status) })
		for _, as := range []memory.EmbedAs{memory.AsDocument, memory.AsQuestion} {
			if _, err := e.Embed(context.Background(), as, "a"); !errors.Is(err, want) || strings.Contains(err.Error(), "no, k") {
				t.Errorf("%d for a %s: %v, want %v and no key", status, as, err, want)
			}
		}
	}
}

func TestAQuestionIsAskedOnce(t *testing.T) {
	asked := 0
	e := embedderAt(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	e.client.patience = time.Minute
	if _, err := e.Embed(context.Background(), memory.AsQuestion, "a"); !errors.Is(err, memory.Unavailable) || asked != 1 {
		t.Errorf("asked %d times, %v; want once", asked, err)
	}
}

func rerankerAt(t *testing.T, answer http.HandlerFunc) *Reranker {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	r, err := NewReranker(Options{BaseURL: s.URL + "/v1", Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestRankingsComeInTheOrderOfTheTexts(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   []float32 // nil: refused
	}{
		"shares":      {`{"results":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}]}`, []float32{0.25, 0.75}},
		"logits":      {`{"results":[{"index":1,"relevance_score":2},{"index":0,"relevance_score":0}]}`, []float32{0.5, 0.880797}},
		"too few":     {`{"results":[{"index":1,"relevance_score":2}]}`, nil},
		"beyond":      {`{"results":[{"index":1,"relevance_score":2},{"index":5,"relevance_score":2}]}`, nil},
		"no score":    {`{"results":[{"index":1},{"index":0}]}`, nil},
		"no ranking":  {`[]`, nil},
		"no such API": {`{"detail":"Not Found"}`, nil},
	} {
		r := rerankerAt(t, func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				Model, Query string
				Documents    []string
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/rerank" || in.Model != "m" || in.Query != "q" || len(in.Documents) != 2 {
				t.Errorf("%s: asked %s %+v, %v", name, r.URL.Path, in, err)
			}
			fmt.Fprint(w, c.answer)
		})
		got, err := r.Rerank(context.Background(), "q", "a", "b")
		if c.want == nil {
			if !errors.Is(err, memory.Unavailable) {
				t.Errorf("%s: %v, %v; want it refused", name, got, err)
			}
			continue
		}
		for i := range c.want {
			if err != nil || len(got) != 2 || math.Abs(float64(got[i]-c.want[i])) > 1e-6 {
				t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
				break
			}
		}
	}
}
