package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// vectorServer answers /v1/embeddings with vectors that encode each text's length, the last text
// first.
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
	e, err := NewEmbedder(Options{BaseURL: s.URL + "/v1", Key: "k", Model: "m", RetryTimeout: time.Millisecond}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestTextsAreEmbeddedInBatchesAndComeInOrder(t *testing.T) {
	var requests []int
	e := vectorServer(t, &requests)
	texts := make([]string, maxBatchTexts+2)
	for i := range texts {
		texts[i] = strings.Repeat("x", i)
	}
	texts[1] = strings.Repeat("é", maxEmbedText)
	got, err := e.Embed(context.Background(), memory.AsDocument, texts...)
	if err != nil || len(got) != len(texts) || fmt.Sprint(requests) != fmt.Sprint([]int{maxBatchTexts, 2}) {
		t.Fatalf("%d vectors in requests of %v, %v; want %d in %d and 2", len(got), requests, err, len(texts), maxBatchTexts)
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
		"too few":       `{"data":[]}`,
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

func TestRefusedTextsDifferFromOutages(t *testing.T) {
	for status, want := range map[int]error{400: nil, 413: nil, 422: nil, 500: nil, 401: memory.Unavailable, 404: memory.Unavailable, 429: memory.Unavailable, 503: memory.Unavailable} {
		for all, want := range map[bool]error{false: want, true: memory.Unavailable} { // whether it says so to any text
			e := embedderAt(t, func(w http.ResponseWriter, r *http.Request) {
				var in struct{ Input []string }
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !all && in.Input[0] == "." {
					fmt.Fprint(w, `{"data":[{"embedding":[1]}]}`)
					return
				}
				http.Error(w, `{"error":{"message":"no, k"}}`, status)
			})
			if _, err := e.Embed(context.Background(), memory.AsDocument, "a"); !errors.Is(err, want) || strings.Contains(fmt.Sprint(err), "no, k") {
				t.Errorf("%d for a document, to all %v: %v, want %v and no key", status, all, err, want)
			}
			if _, err := e.Embed(context.Background(), memory.AsQuestion, "a"); err == nil || strings.Contains(err.Error(), "no, k") {
				t.Errorf("%d for a question: %v, want an error and no key", status, err)
			}
		}
	}
}

// picky is an embedder at a server with limits on texts and bytes, which refuses excess with a
// status and cannot embed poisoned texts. It records how many texts each request held.
func picky(t *testing.T, status, most, longest int) (*Embedder, *[]int) {
	t.Helper()
	var requests []int
	return embedderAt(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		requests = append(requests, len(in.Input))
		var data []string
		for i, text := range in.Input {
			switch {
			case len(in.Input) > most || len(text) > longest:
				http.Error(w, `{"error":"the input length exceeds the context length"}`, status)
				return
			case strings.Contains(text, "poison"):
				fmt.Fprint(w, `{"data":[{"index":0,"embedding":[NaN,1]}]}`)
				return
			}
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}), &requests
}

// Real servers' statuses: text-embeddings-inference 422 for too many texts and 413 for a long one,
// Ollama and vLLM 400 for a long one, llama.cpp 500.
func TestRefusedBatchesAreSplit(t *testing.T) {
	for _, status := range []int{400, 413, 422, 500} {
		e, requests := picky(t, status, 20, 3000)
		texts := make([]string, 70)
		for i := range texts {
			texts[i] = strings.Repeat("x", 600+i)
		}
		texts[33] = strings.Repeat("y", 9000)
		got, err := e.Embed(t.Context(), memory.AsDocument, texts...)
		if err != nil || len(got) != len(texts) {
			t.Fatalf("%d: %d vectors, %v; want %d", status, len(got), err, len(texts))
		}
		for i, v := range got {
			want := len(texts[i])
			if i == 33 {
				want = 9000 / 4 // cut until it is taken
			}
			if math.Abs(float64(v[0]/v[1])-float64(want)) > 0.01*float64(want) {
				t.Errorf("%d: vector %d says a length of %v, want %d", status, i, v[0]/v[1], want)
			}
		}
		*requests = nil
		if _, err := e.Embed(t.Context(), memory.AsDocument, texts[:32]...); err != nil || fmt.Sprint(*requests) != "[16 16]" {
			t.Errorf("%d: asked again in requests of %v, %v; want what the server took", status, *requests, err)
		}
	}
}

func TestATextThatBreaksAServerHoldsUpNoOther(t *testing.T) {
	e, _ := picky(t, 400, 64, 1<<20)
	got, err := e.Embed(t.Context(), memory.AsDocument, "aa", "b poison", "cccc", "")
	if err != nil || len(got) != 4 {
		t.Fatalf("%v, %v; want a vector for each", got, err)
	}
	for i, length := range []float64{2, 1, 4, 1} { // the second as the last, which is blank
		if math.Abs(float64(got[i][0]/got[i][1])-length) > 1e-6 {
			t.Errorf("vector %d is %v, want that of a text of %v", i, got[i], length)
		}
	}
}

func TestRequestsHoldSoManyBytes(t *testing.T) {
	e, requests := picky(t, 400, 64, 1<<20)
	texts := slices.Repeat([]string{strings.Repeat("x", maxBatchBytes/4)}, 9)
	if got, err := e.Embed(t.Context(), memory.AsDocument, texts...); err != nil || len(got) != 9 || fmt.Sprint(*requests) != "[4 4 1]" {
		t.Errorf("%d vectors in requests of %v, %v; want 9 in 4, 4 and 1", len(got), *requests, err)
	}
}

// hosted redirects requests for internet servers to a scripted one.
type hosted func(url string, body map[string]any) string

func (h hosted) RoundTrip(r *http.Request) (*http.Response, error) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	fmt.Fprint(w, h(r.URL.String(), body))
	return w.Result(), nil
}

// TestEachServerIsAskedInItsForm: a field distinguishes questions from documents if the server has
// one, otherwise a prefix does. The fingerprint depends on it.
func TestEachServerIsAskedInItsForm(t *testing.T) {
	const openAI, cohere = `{"data":[{"index":0,"embedding":[3,4]}]}`, `{"id":"1","embeddings":{"float":[[3,4]]},"texts":["t"]}`
	seen := map[string]string{}
	for name, c := range map[string]struct {
		base, model, question, document string // what the model expects before texts
		url, answer                     string
		asks                            [2]string // of a question and of a document
	}{
		"plain":                 {"http://tei.test/v1", "m", "", "", "http://tei.test/v1/embeddings", openAI, [2]string{`{"input":["t"],"model":"m"}`, `{"input":["t"],"model":"m"}`}},
		"prefixes":              {"http://tei.test/v1", "m", "query: ", "passage: ", "http://tei.test/v1/embeddings", openAI, [2]string{`{"input":["query: t"],"model":"m"}`, `{"input":["passage: t"],"model":"m"}`}},
		"other prefixes":        {"http://tei.test/v1", "m", "query: ", "", "http://tei.test/v1/embeddings", openAI, [2]string{`{"input":["query: t"],"model":"m"}`, `{"input":["t"],"model":"m"}`}},
		"Cohere":                {"https://api.cohere.com/v2", "m", "query: ", "", "https://api.cohere.com/v2/embed", cohere, [2]string{`{"embedding_types":["float"],"input_type":"search_query","model":"m","texts":["t"]}`, `{"embedding_types":["float"],"input_type":"search_document","model":"m","texts":["t"]}`}},
		"Cohere's OpenAI form":  {"https://api.cohere.ai/compatibility/v1", "c", "", "", "https://api.cohere.ai/compatibility/v1/embeddings", openAI, [2]string{`{"input":["t"],"model":"c"}`, `{"input":["t"],"model":"c"}`}},
		"Jina":                  {"https://api.jina.ai/v1", "jina-embeddings-v3", "", "", "https://api.jina.ai/v1/embeddings", openAI, [2]string{`{"input":["t"],"model":"jina-embeddings-v3","task":"retrieval.query"}`, `{"input":["t"],"model":"jina-embeddings-v3","task":"retrieval.passage"}`}},
		"Jina's earlier models": {"https://api.jina.ai/v1", "jina-embeddings-v2-base-en", "", "", "https://api.jina.ai/v1/embeddings", openAI, [2]string{`{"input":["t"],"model":"jina-embeddings-v2-base-en"}`, `{"input":["t"],"model":"jina-embeddings-v2-base-en"}`}},
		"Jina's, at home":       {"http://vllm.test/v1", "jina-embeddings-v3", "", "", "http://vllm.test/v1/embeddings", openAI, [2]string{`{"input":["t"],"model":"jina-embeddings-v3"}`, `{"input":["t"],"model":"jina-embeddings-v3"}`}},
		"Voyage":                {"https://api.voyageai.com/v1", "m", "", "", "https://api.voyageai.com/v1/embeddings", openAI, [2]string{`{"input":["t"],"input_type":"query","model":"m"}`, `{"input":["t"],"input_type":"document","model":"m"}`}},
	} {
		var asked []string
		e, err := NewEmbedder(Options{BaseURL: c.base, Model: c.model, Transport: hosted(func(url string, body map[string]any) string {
			line, _ := json.Marshal(body)
			if asked = append(asked, string(line)); url != c.url {
				t.Errorf("%s: asked %s, want %s", name, url, c.url)
			}
			return c.answer
		})}, c.question, c.document)
		if err != nil {
			t.Fatal(err)
		}
		for _, as := range []memory.EmbedAs{memory.AsQuestion, memory.AsDocument} {
			if got, err := e.Embed(t.Context(), as, "t"); err != nil || len(got) != 1 || math.Abs(float64(got[0][0])-0.6) > 1e-6 || e.Dims() != 2 {
				t.Errorf("%s: %v, %v; want the vector that it gave", name, got, err)
			}
		}
		if fmt.Sprint(asked) != fmt.Sprint(c.asks[:]) {
			t.Errorf("%s: asked %s, want %s", name, asked, c.asks)
		}
		if other, ok := seen[e.Fingerprint()]; ok {
			t.Errorf("%s and %s have the fingerprint %s", name, other, e.Fingerprint())
		}
		seen[e.Fingerprint()] = name
	}
	if seen["remote:m"] != "plain" {
		t.Errorf("fingerprints %v, want remote:m where nothing tells questions from documents", seen)
	}
}

func TestAQuestionIsAskedOnce(t *testing.T) {
	asked := 0
	e := embedderAt(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	e.client.retryTimeout = time.Minute
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
		"Voyage's":    {`{"object":"list","data":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}]}`, []float32{0.25, 0.75}},
		"a list":      {` [{"index":1,"score":0.75},{"index":0,"score":0.25}]`, []float32{0.25, 0.75}},
		"no score":    {`{"results":[{"index":1},{"index":0}]}`, nil},
		"no ranking":  {`[]`, nil},
		"no number":   {`[1,2]`, nil},
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

// TestAServerIsAskedToRankInTheFormThatItTakes: text-embeddings-inference refuses the others'
// format once, and then always gets its own.
func TestAServerIsAskedToRankInTheFormThatItTakes(t *testing.T) {
	var asked []string
	r := rerankerAt(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Query            string
			Documents, Texts []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Query != "q" {
			t.Errorf("asked %+v, %v", in, err)
		}
		asked = append(asked, fmt.Sprint(in.Documents, in.Texts))
		if len(in.Texts) != 2 {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, "Failed to deserialize the JSON body into the target type: missing field `texts`")
			return
		}
		fmt.Fprint(w, `[{"index":1,"score":0.5},{"index":0,"score":0.25}]`)
	})
	for range 2 {
		if got, err := r.Rerank(t.Context(), "q", "a", "b"); err != nil || fmt.Sprint(got) != "[0.25 0.5]" {
			t.Errorf("%v, %v; want the server's scores", got, err)
		}
	}
	if want := []string{"[a b] []", "[] [a b]", "[] [a b]"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// TestRerankerTriesOutsideV1, as for text-embeddings-inference, which embeds below it; the way is
// found once.
func TestRerankerTriesOutsideV1(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.String())
		switch {
		case r.URL.Path != "/rerank":
			w.WriteHeader(http.StatusNotFound)
		case r.Header.Get("Authorization") != "Bearer k" || !strings.Contains(string(body), `"texts"`):
			w.WriteHeader(http.StatusUnprocessableEntity)
		default:
			fmt.Fprint(w, `[{"index":0,"score":0.25}]`)
		}
	}))
	t.Cleanup(s.Close)
	r, err := NewReranker(Options{BaseURL: s.URL + "/v1/?a=b", Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	for range 2 {
		if got, err := r.Rerank(t.Context(), "q", "a"); err != nil || fmt.Sprint(got) != "[0.25]" {
			t.Errorf("%v, %v; want the server's score", got, err)
		}
	}
	if want := []string{"/v1/rerank?a=b", "/rerank?a=b", "/rerank?a=b", "/rerank?a=b"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestFirstRefusalOfBothFormatsIsReported(t *testing.T) {
	r := rerankerAt(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		what := "there is no such model"
		if strings.Contains(string(body), `"texts"`) {
			what = "documents are required"
		}
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, what), http.StatusBadRequest)
	})
	if _, err := r.Rerank(t.Context(), "q", "a"); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "there is no such model") {
		t.Errorf("%v, want what was said of the usual form", err)
	}
}
