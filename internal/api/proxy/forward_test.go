package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestOtherPathsAreForwardedUnchanged(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/embeddings", `{"input": "What is my cat called?","memory_top_k":3}`},
		{"POST", "/v1/audio/transcriptions", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\x00\xff\r\n--b--\r\n"},
		{"GET", "/v1/files/a%2Fb?after=x&limit=2&q=%C3%A9", ""},
		{"DELETE", "/v1/files/f1", ""},
		{"PATCH", "/v1/anything", "{"},
		{"OPTIONS", "/v1/chat/completions", ""},
		{"GET", "/v1/chat/completions?limit=1", ""},
		{"POST", "/v1/completions", `{"prompt":[1,2],"messages":[{"role":"user","content":"y"}]}`},
		{"GET", "/v1/models/m", ""},
		{"POST", "/v1/messages/count_tokens?beta=true", ask("What is my cat called?")},
		{"POST", "/v1/messages/batches", ask("What is my cat called?")},
		{"POST", "/v1/responses/input_tokens", ask("What is my cat called?")},
		{"POST", "/v1/responses/resp_1/cancel", "{}"},
	} {
		r.upstream.answers(sends(http.StatusAccepted, "\x00answer\xff", "X-Strange", "kept", "Content-Type", "application/octet-stream"))
		resp := r.send(c.method, c.path, c.body, "X-Strange", "kept", "X-Loci-Mode", "off")
		got := r.upstream.one(t)
		if got.method != c.method || got.uri != c.path || got.body != c.body || got.header.Get("X-Strange") != "kept" || got.header.Get("X-Loci-Mode") != "" {
			t.Errorf("%s %s: the upstream got %+v", c.method, c.path, got)
		}
		if body := r.read(resp); resp.StatusCode != http.StatusAccepted || body != "\x00answer\xff" || resp.Header.Get("X-Strange") != "kept" {
			t.Errorf("%s %s: got %d %q %v", c.method, c.path, resp.StatusCode, body, resp.Header)
		}
	}
	r.wantTurns()
}

func TestForwardedAnswersStreamWithTheirTrailers(t *testing.T) {
	r := newRig(t)
	seen := make(chan struct{})
	r.upstream.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		w.(http.Flusher).Flush()
		<-seen
		_, _ = io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		<-seen
		_, _ = io.WriteString(w, "two")
		w.Header().Set("X-Checksum", "abc")
	})
	resp := r.send(http.MethodPost, "/v1/responses", "{}")
	seen <- struct{}{} // the headers arrived
	got := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "one" {
		t.Fatalf("got %q, %v", got, err)
	}
	seen <- struct{}{}
	if rest := r.read(resp); rest != "two" || resp.Trailer.Get("X-Checksum") != "abc" {
		t.Errorf("got %q with trailers %v", rest, resp.Trailer)
	}
}

func TestUpstreamCannotActAsLoci(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path, body, kind string }{
		{"GET", "/v1/page.html", "", "text/html"},
		{"GET", "/v1/models", "", "application/json"},
		{"POST", "/v1/embeddings", `{"model":"m","input":"x"}`, "application/json"},
		{"POST", chatPath, ask("Hello!"), "application/json"},
		{"POST", chatPath, ask("Hello!"), "text/event-stream"},
		{"POST", chatPath, ask("Hello!"), "text/html"},
		{"POST", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "application/json"},
	} {
		for _, status := range []int{http.StatusOK, http.StatusBadGateway} {
			r.upstream.answers(func(w http.ResponseWriter, _ *http.Request) {
				h := w.Header()
				h.Set("Trailer", "X-Loci-Later, X-Checksum")
				h["Set-Cookie"] = []string{"loci_session=theirs", "b=c"}
				h["x-loci-trace"], h["X-Loci-Request-Id"], h["X-Loci-Other"] = []string{"theirs"}, []string{"theirs"}, []string{"theirs"}
				h.Set("Content-Security-Policy", "default-src *")
				h.Set("X-Request-Id", "kept")
				h.Set("Content-Type", c.kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "<script>1</script>")
				h.Set("X-Loci-Later", "theirs")
				h.Set("X-Checksum", "kept")
			})
			resp := r.send(c.method, c.path, c.body)
			r.read(resp)
			for _, h := range []http.Header{resp.Header, resp.Trailer} {
				for name, values := range h {
					if name == "Set-Cookie" || strings.Contains(strings.Join(values, " "), "theirs") {
						t.Errorf("%s %s, %s, %d: %s of the upstream's passes: %q", c.method, c.path, c.kind, status, name, values)
					}
				}
			}
			h := resp.Header
			if got := h.Values("Content-Security-Policy"); len(got) != 1 || got[0] != "sandbox" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s, %s, %d: a browser would run it: %v", c.method, c.path, c.kind, status, h)
			}
			if h.Get("X-Request-Id") != "kept" || h.Get("X-Loci-Request-Id") == "" {
				t.Errorf("%s %s, %s, %d: got %v, want the upstream's id and Loci's", c.method, c.path, c.kind, status, h)
			}
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(sends(http.StatusOK, "", "Content-Type", "audio/mpeg", "Content-Length", "1234"))
	resp := r.send(http.MethodHead, "/v1/files/f1/content", "")
	if body := r.read(resp); body != "" || resp.ContentLength != 1234 {
		t.Errorf("got %q of length %d, want nothing of 1234", body, resp.ContentLength)
	}
}

func TestUploadPastTheLimitIsTooLarge(t *testing.T) {
	r := newRig(t, func(s *setup) { s.guard.MaxBody = 1 << 10 })
	resp := r.send(http.MethodPost, "/v1/files", strings.Repeat("x", 2<<10))
	if _, _, code := errorOf(t, r.read(resp)); resp.StatusCode != http.StatusRequestEntityTooLarge || code != "too_large" {
		t.Errorf("got %d %s", resp.StatusCode, code)
	}
}

func TestPathThatLeavesTheUpstreamIsRefused(t *testing.T) {
	r := newRig(t)
	resp := r.send(http.MethodGet, "/v1/files/%2e%2e/%2e%2e/admin", "")
	if _, _, code := errorOf(t, r.read(resp)); resp.StatusCode != http.StatusBadRequest || code != "invalid" {
		t.Errorf("got %d %s", resp.StatusCode, code)
	}
	if got := r.upstream.asked(); len(got) > 0 {
		t.Errorf("the upstream was asked %+v", got)
	}
}

func TestCompressedChatPassesUnread(t *testing.T) {
	r := newRig(t)
	r.know("User has a cat called Ünal")
	sent := zipped(t, ask("What is my cat called?"))
	if _, got := r.chat(sent, "Content-Encoding", "gzip"); got != completion("Hello!") {
		t.Errorf("got %s, want the upstream's answer", got)
	}
	if got := r.upstream.one(t); got.body != sent || got.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the upstream got %q in %q, want the client's bytes", got.body, got.header.Get("Content-Encoding"))
	}
	r.wantTurns()
}

func TestModelsAreTheUpstreamsAndTheBuiltInOne(t *testing.T) {
	const own = `{"id":"loci/recall","object":"model","created":1767607200,"owned_by":"loci"}`
	for name, c := range map[string]struct{ sent, want string }{
		"some":    {`{"object": "list","data":[{"id":"m", "x":1e400}],"y":null}`, `{"object": "list","data":[{"id":"m", "x":1e400},` + own + `],"y":null}`},
		"none":    {`{"data":[]}`, `{"data":[` + own + `]}`},
		"no list": {`<html>`, `<html>`},
	} {
		r := newRig(t)
		r.upstream.answers(sends(http.StatusOK, c.sent, "Content-Type", "application/json"))
		resp := r.send(http.MethodGet, "/v1/models?x=1", "", "Accept-Encoding", "gzip")
		if got := r.read(resp); got != c.want || resp.ContentLength != int64(len(c.want)) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if got := r.upstream.one(t); got.uri != "/v1/models?x=1" || got.header.Get("Accept-Encoding") != "" {
			t.Errorf("%s: the upstream got %+v", name, got)
		}
		head := r.send(http.MethodHead, "/v1/models", "")
		if body := r.read(head); body != "" || head.ContentLength != int64(len(c.want)) {
			t.Errorf("%s: HEAD got %q of length %d, want nothing of %d", name, body, head.ContentLength, len(c.want))
		}
	}
	r := newRig(t)
	r.upstream.answers(sends(http.StatusUnauthorized, `{"error":{}}`))
	if resp := r.send(http.MethodGet, "/v1/models", ""); resp.StatusCode != http.StatusUnauthorized || r.read(resp) != `{"error":{}}` {
		t.Errorf("without the upstream's key: got %d", resp.StatusCode)
	}
}

// TestTheEmbedderAnswersNoChat covers all dialects, with and without an upstream.
func TestTheEmbedderAnswersNoChat(t *testing.T) {
	for _, alone := range []bool{false, true} {
		r := newRig(t, func(s *setup) { s.alone = alone })
		for path, body := range map[string]string{
			chatPath:        `{"model":"loci/embed","messages":[{"role":"user","content":"Hello"}]}`,
			"/v1/messages":  `{"model":"loci/embed","max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`,
			"/v1/responses": `{"model":"loci/embed","input":"Hello"}`,
		} {
			resp := r.send(http.MethodPost, path, body)
			if got := r.read(resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "loci/embed") || !strings.Contains(got, "/v1/embeddings") {
				t.Errorf("%s, without an upstream %v: got %d %s", path, alone, resp.StatusCode, got)
			}
		}
		r.wantTurns()
		if got := r.upstream.asked(); len(got) > 0 {
			t.Errorf("the upstream was asked %+v", got)
		}
	}
}

func TestWithoutUpstreamOnlyBuiltInModelsAnswer(t *testing.T) {
	r := newRig(t, func(s *setup) { s.alone = true })
	if got := r.read(r.send(http.MethodGet, "/v1/models", "")); !strings.Contains(got, `"id":"loci/recall"`) {
		t.Errorf("models: %s", got)
	}
	resp := r.send(http.MethodPost, "/v1/messages/count_tokens", ask("Hi"))
	if got := r.read(resp); resp.StatusCode != http.StatusNotFound || at(t, got, "type") != "error" || at(t, got, "error", "type") != "not_found_error" {
		t.Errorf("count tokens: %d %s", resp.StatusCode, got)
	}
	for method, path := range map[string]string{http.MethodPost: "/v1/embeddings", http.MethodGet: chatPath} {
		resp := r.send(method, path, "")
		if message, _, code := errorOf(t, r.read(resp)); resp.StatusCode != http.StatusNotFound || code != "not_found" || !strings.Contains(message, "LOCI_UPSTREAM_URL") {
			t.Errorf("%s %s: got %d %s %s", method, path, resp.StatusCode, code, message)
		}
	}
}
