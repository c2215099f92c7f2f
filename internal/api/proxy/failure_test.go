package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/memory"
)

// bubbleUpstream answers without a network, for tests with a fake clock.
type bubbleUpstream struct{ stream bool }

func (u bubbleUpstream) Do(context.Context, string, string, http.Header, io.Reader) (*http.Response, error) {
	w := httptest.NewRecorder()
	if u.stream {
		streams(delta("Hello!"), "data: [DONE]\n\n")(w, nil)
	} else {
		says("Hello!")(w, nil)
	}
	return w.Result(), nil
}

func inBubble(stream bool) func(*setup) {
	return func(s *setup) { s.upstream, s.now = bubbleUpstream{stream}, time.Now }
}

// serve answers a chat without a network.
func (r *rig) serve(body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "http://localhost"+chatPath, strings.NewReader(body))
	req.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// TestFailingStoreNeverFailsTheChat breaks the store in several ways. The chat must be answered completely within
// two seconds, and the loss be counted and noted in the trace.
func TestFailingStoreNeverFailsTheChat(t *testing.T) {
	broken := errors.New("disk full")
	for name, c := range map[string]struct {
		onAppend func(context.Context, memory.Batch) error
		onTurns  func(context.Context) error
		within   time.Duration
		counted  string
		says     string // text in the trace
	}{
		"writes fail":           {onAppend: func(context.Context, memory.Batch) error { return broken }, counted: "1", says: "disk full"},
		"writes hang":           {onAppend: func(ctx context.Context, _ memory.Batch) error { return hangs(ctx) }, within: 2 * time.Second, counted: "1", says: "took longer than"},
		"writes panic":          {onAppend: func(context.Context, memory.Batch) error { panic("index out of range") }, counted: "1", says: "panic"},
		"writes are slow":       {onAppend: func(context.Context, memory.Batch) error { time.Sleep(900 * time.Millisecond); return nil }, within: 1800 * time.Millisecond, counted: "0"},
		"the answer's hangs":    {onAppend: onlyAnswers(hangs), within: 2 * time.Second, counted: "1", says: "took longer than"},
		"the answer's fails":    {onAppend: onlyAnswers(func(context.Context) error { return broken }), counted: "1", says: "disk full"},
		"reads fail":            {onTurns: func(context.Context) error { return broken }, counted: "1"},
		"reads panic":           {onTurns: func(context.Context) error { panic("nil map") }, counted: "1"},
		"reads hang":            {onTurns: hangs, within: 7 * time.Second, counted: "1"}, // the deadline of recall, and the wait for storing
		"reads are interrupted": {onTurns: func(context.Context) error { return context.DeadlineExceeded }, counted: "1"},
	} {
		for _, stream := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inBubble(stream))
				r.know("User has a cat called Ünal")
				r.store.onAppend, r.store.onTurns = c.onAppend, c.onTurns
				started := time.Now()
				w := r.serve(ask("What is my cat called?"))
				took := time.Since(started)
				if body := w.Body.String(); w.Code != http.StatusOK || (stream && body != delta("Hello!")+"data: [DONE]\n\n") || (!stream && !strings.HasPrefix(body, strings.TrimSuffix(completion("Hello!"), " }\n"))) {
					t.Errorf("%s, stream %v: got %d %s, want the whole answer", name, stream, w.Code, body)
				}
				if took > c.within {
					t.Errorf("%s, stream %v: took %v, want at most %v", name, stream, took, c.within)
				}
				if got := r.failures(); got != c.counted {
					t.Errorf("%s, stream %v: counted %s exchanges as not recorded, want %s", name, stream, got, c.counted)
				}
				trace, err := r.engine.Traces.Trace(context.Background(), nobody, w.Header().Get(HeaderTrace))
				if err != nil || !strings.Contains(strings.Join(trace.Degraded, " "), c.says) {
					t.Errorf("%s, stream %v: the trace says %q, %v; want %q", name, stream, trace.Degraded, err, c.says)
				}
			})
		}
	}
}

func onlyAnswers(do func(context.Context) error) func(context.Context, memory.Batch) error {
	return func(ctx context.Context, b memory.Batch) error {
		if isAnswer(b) {
			return do(ctx)
		}
		return nil
	}
}

func TestUpstreamThatIsDownIsAnError(t *testing.T) {
	r := newRig(t)
	r.upstream.Close()
	resp, body := r.chat(ask("I live in Berlin."))
	if message, kind, code := errorOf(t, body); resp.StatusCode != http.StatusBadGateway || kind != "server_error" || code != "upstream_unavailable" || !strings.Contains(message, "refused") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if address := strings.TrimPrefix(r.upstream.URL, "http://"); strings.Contains(body, address) || strings.Contains(body, "127.0.0.1") {
		t.Errorf("the answer has the upstream's address %s: %s", address, body)
	}
	r.wantTurns("user: I live in Berlin.")
	jobs, err := r.store.Jobs(context.Background(), nobody)
	if err != nil || len(jobs) == 0 {
		t.Errorf("jobs: %v, %v; want the question to be learned from", jobs, err)
	}
	resp = r.send(http.MethodPost, "/v1/embeddings", "")
	if body := r.read(resp); resp.StatusCode != http.StatusBadGateway || strings.Contains(body, "127.0.0.1") {
		t.Errorf("embeddings: got %d %s", resp.StatusCode, body)
	}
	resp = r.send(http.MethodGet, "/v1/models", "")
	if body := r.read(resp); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"data":[{"id":"loci/recall",`) || !strings.Contains(resp.Header.Get(HeaderWarning), "did not answer") {
		t.Errorf("models: got %d %s with %v, want Loci's own and a warning", resp.StatusCode, body, resp.Header)
	}
}

// TestRetryAfterAFailureIsOneQuestion sends a retry with the client's key for the request.
func TestRetryAfterAFailureIsOneQuestion(t *testing.T) {
	for _, c := range [][]string{{headerIdempotency, "k1", "k1"}, {headerRetries, "0", "1"}} {
		r := newRig(t)
		r.upstream.answers(sends(http.StatusServiceUnavailable, "busy"))
		r.chat(ask("I live in Berlin."), c[0], c[1])
		r.upstream.answers(says("Nice."))
		r.chat(ask("I live in Berlin."), c[0], c[2])
		r.wantTurns("user: I live in Berlin.", "assistant: Nice.")
	}
}

func TestAnswerCutOffIsAnError(t *testing.T) {
	r := newRig(t)
	r.upstream.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"choices":[`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, body := r.chat(ask("I live in Berlin."))
	if message, _, code := errorOf(t, body); resp.StatusCode != http.StatusBadGateway || code != "upstream_unavailable" || !strings.Contains(message, "cut off") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	r.wantTurns("user: I live in Berlin.")
}

// TestDisconnectBeforeTheAnswerKeepsTheQuestion disconnects while the upstream works. Its request must end, and
// the question be stored.
func TestDisconnectBeforeTheAnswerKeepsTheQuestion(t *testing.T) {
	r := newRig(t)
	asked, canceled := make(chan struct{}), make(chan struct{})
	r.upstream.answers(func(_ http.ResponseWriter, req *http.Request) {
		close(asked)
		<-req.Context().Done()
		close(canceled)
	})
	conn := try(net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))).orFail(t)
	body := ask("I live in Berlin.")
	req := try(http.NewRequest(http.MethodPost, r.url+chatPath, strings.NewReader(body))).orFail(t)
	noError(t)(req.Write(conn))
	<-asked
	conn.Close()
	<-canceled
	r.finish()
	r.wantTurns("user: I live in Berlin.")
}
