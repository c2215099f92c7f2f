package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/memory"
)

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	noError(t)(z.Write([]byte(text)))
	noError(t)(z.Close())
	return b.String()
}

func TestAnswersPassUnchanged(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		headers []string
	}{
		"a rate limit":         {429, `{"error":{"message":"slow down","type":"rate_limit"}}`, []string{"Content-Type", "application/json", "Retry-After", "7", "X-Ratelimit-Remaining-Requests", "0"}},
		"a page of a gateway":  {502, "<html><body>502 Bad Gateway</body></html>\n", []string{"Content-Type", "text/html"}},
		"an error of its own":  {500, `{"error": {"message":"\u00e9","code":1e400}}`, []string{"Content-Type", "application/json; charset=utf-8", "X-Request-Id", "r1"}},
		"no answer":            {204, "", nil},
		"a redirect":           {302, "", []string{"Location", "https://elsewhere.example/v1"}},
		"no JSON":              {200, "fine", []string{"Content-Type", "text/plain"}},
		"an error that is 200": {200, `{"error":"model is loading"`, []string{"Content-Type", "application/json"}},
		"a list":               {200, `[1,2]`, []string{"Content-Type", "application/json"}},
		"compressed otherwise": {200, "\x8b\x02\x80not really brotli", []string{"Content-Type", "application/json", "Content-Encoding", "br"}},
		"compressed and wrong": {200, "this is not gzip", []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}},
		"a compressed error":   {400, zipped(t, `{"error":{"message":"no"}}`), []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}},
	} {
		r := newRig(t)
		r.know("User has a cat called Ünal")
		r.upstream.answers(sends(c.status, c.body, c.headers...))
		resp := r.send(http.MethodPost, chatPath, ask("What is my cat called?"))
		if got := r.read(resp); resp.StatusCode != c.status || got != c.body {
			t.Errorf("%s: got %d %q, want %d %q", name, resp.StatusCode, got, c.status, c.body)
		}
		for i := 0; i < len(c.headers); i += 2 {
			if got := resp.Header.Get(c.headers[i]); got != c.headers[i+1] {
				t.Errorf("%s: header %s: got %q, want %q", name, c.headers[i], got, c.headers[i+1])
			}
		}
		r.wantTurns("user: What is my cat called?")
	}
}

func TestAnswerGainsHitsAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		body     string // "HITS" marks the place of memory_hits
		encoding string
	}{
		"plain":                {`{"id": "c1","big":18446744073709551616, "x":1e400,"choices":[ {"message":{"role":"assistant","content":"\u00dcnal"}}],"usage":null HITS}` + "\n", ""},
		"compressed":           {`{"choices":[{"message":{"content":"Ünal"}}]HITS}`, "gzip"},
		"several choices":      {`{"choices":[{"index":1,"message":{"content":"Rex"}},{"index":0,"message":{"content":"Ünal"}}],"x":1,"x":2HITS}`, ""},
		"with hits in a value": {`{"choices":[{"message":{"content":"Ünal","memory_hits":1}}]HITS}`, ""},
	} {
		r := newRig(t)
		r.chat(ask("My cat is called Ünal and my dog is called Rex."))
		r.know("User's cat is called Ünal")
		sent := strings.Replace(c.body, "HITS", "", 1)
		headers := []string{"Content-Type", "application/json", "X-Ratelimit-Remaining-Tokens", "5"}
		if c.encoding == "gzip" {
			sent, headers = zipped(t, sent), append(headers, "Content-Encoding", "gzip")
		}
		r.upstream.answers(sends(http.StatusOK, sent, headers...))
		resp, got := r.chat(ask("What is my cat called?"), "Accept-Encoding", "gzip")
		front, back, _ := strings.Cut(c.body, "HITS")
		if !strings.HasPrefix(got, front+`,"memory_hits":[`) || !strings.HasSuffix(got, "]"+back) {
			t.Errorf("%s: got %s, want %s with the hits", name, got, c.body)
			continue
		}
		if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Length") != strconv.Itoa(len(got)) || resp.Header.Get("X-Ratelimit-Remaining-Tokens") != "5" {
			t.Errorf("%s: headers %v, want the plain length %d and the rate limit", name, resp.Header, len(got))
		}
		var read struct {
			Hits []map[string]any `json:"memory_hits"`
		}
		if err := json.Unmarshal([]byte(strings.Replace(got, "1e400", "1", 1)), &read); err != nil || len(read.Hits) == 0 {
			t.Fatalf("%s: %s has no hits: %v", name, got, err)
		}
		kinds := map[any]bool{}
		for _, h := range read.Hits {
			kinds[h["kind"]] = true
			wanted := []string{"content", "created_at", "id", "kind", "role", "score"}
			if h["kind"] == "turn" {
				wanted = []string{"content", "created_at", "id", "kind", "role", "score"}
			}
			if have := keys(h); !slices.Equal(have, wanted) {
				t.Errorf("%s: a hit has %q, want %q", name, have, wanted)
			}
		}
		if !kinds["fact"] && !kinds["turn"] {
			t.Errorf("%s: hits of kinds %v", name, kinds)
		}
		if turns := r.turns(); !slices.Contains(turns, "assistant: Ünal") {
			t.Errorf("%s: stored %q, want the answer among them", name, turns)
		}
	}
}

// The field is present but empty if memory was read and found nothing.
func TestAnswerHasMemoriesIfSet(t *testing.T) {
	for _, named := range []bool{false, true} {
		r := newRig(t, func(s *setup) { s.named = named })
		for i, message := range []string{"My cat is called Ünal.", "What is my cat called?"} {
			_, body := r.chat(ask(message))
			var got struct {
				Hits     []map[string]any `json:"memory_hits"`
				Memories []map[string]any
			}
			noError(t)(json.Unmarshal([]byte(body), &got))
			if strings.Contains(body, `"memories":[`) != named || len(got.Hits) < i || named && len(got.Memories) != len(got.Hits) {
				t.Errorf("named %v: %s", named, body)
			}
			for j, m := range got.Memories {
				if have := keys(m); !slices.Equal(have, []string{"content", "created_at", "id", "score"}) || m["id"] != got.Hits[j]["id"] {
					t.Errorf("a memory is %v, its hit %v", m, got.Hits[j])
				}
			}
		}
	}
}

// TestAnswerNamesOwnerOfSharedMemory shares a fact with the default user of single mode.
func TestAnswerNamesOwnerOfSharedMemory(t *testing.T) {
	r := newRig(t, func(s *setup) { s.named = true })
	eva, by := memory.User(memory.DefaultNamespace, "eva"), memory.Author{Kind: memory.ByPerson, Name: "eva"}
	f, _, err := r.engine.Curate.Remember(t.Context(), eva, curate.FactInput{Content: "The gate of the yard is red"}, by)
	if err != nil {
		t.Fatal(err)
	}
	noError(t)(r.engine.Share.Share(t.Context(), eva, f.ID, share.Request{Receiver: nobody.DisplayName()}, by))
	noError(t)(r.engine.Curate.Judge(t.Context(), nobody, []curate.Judgement{{ID: f.ID, Action: memory.ActionApprove}}, "", by))
	_, body := r.chat(`{"memory_mode":"read",` + ask("Which colour has the gate of the yard?")[1:])
	if n := strings.Count(body, `"home":"`+string(eva)+`"`); n != 2 {
		t.Errorf("%d of hit and memory say that it is Eva's: %s", n, body)
	}
}

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestCompressedAnswerWithoutHitsPassesUnchanged(t *testing.T) {
	r := newRig(t)
	sent := zipped(t, completion("Hello!"))
	r.upstream.answers(sends(http.StatusOK, sent, "Content-Type", "application/json", "Content-Encoding", "gzip"))
	resp, got := r.chat(`{"memory_mode":"write",`+ask("Hi")[1:], "Accept-Encoding", "gzip")
	if got != sent || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("got %q in %q, want the upstream's bytes", got, resp.Header.Get("Content-Encoding"))
	}
	r.wantTurns("user: Hi", "assistant: Hello!")
}

func TestAnswerOverTheLimitPasses(t *testing.T) {
	r := newRig(t)
	sent := completion(strings.Repeat("x", maxAnswer))
	r.upstream.answers(sends(http.StatusOK, sent, "Content-Type", "application/json"))
	if _, got := r.chat(ask("Hi")); got != sent {
		t.Errorf("got %d bytes, want the upstream's %d", len(got), len(sent))
	}
	r.wantTurns("user: Hi")
}

// Facts of the core are marked as such and are no search results.
func TestAnswerNamesTheCore(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(sends(http.StatusOK, completion("User is allergic to penicillin."), "Content-Type", "application/json"))
	r.know("User is allergic to penicillin")
	noError(t)(r.engine.SetProfileEntry(context.Background(), nobody, "timezone", "Europe/Lisbon", memory.Author{Kind: memory.ByPerson}))
	_, got := r.chat(ask("How high is Mount Everest?"))
	var answer struct {
		Hits []struct {
			ID, Kind, Content string
			Core              bool
		} `json:"memory_hits"`
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Hits) != 2 || !answer.Hits[0].Core || !answer.Hits[1].Core ||
		answer.Hits[0].Content != "User is allergic to penicillin" || answer.Hits[1].Kind != "profile" || answer.Hits[1].Content != "timezone: Europe/Lisbon" {
		t.Errorf("memory_hits of %s (%v)", got, err)
	}
	w := httptest.NewRecorder()
	r.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(w.Body.String(), "retrieval_hit_rate 1") {
		t.Errorf("the core counts as what search found")
	}
}
