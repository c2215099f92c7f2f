package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
)

// TestChatOverTheBudgetPassesWithoutMemory requires unchanged bytes, and that nothing is stored.
func TestChatOverTheBudgetPassesWithoutMemory(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"What is my cat called? ` + strings.Repeat("x ", 100<<10) + `"}]}`
	small := func(s *setup) { s.guard.Budget = httpx.NewBudget(100 << 10) }
	r := newRig(t, small)
	r.know("User has a cat called Ünal")
	r.upstream.answers(sends(http.StatusOK, `{"choices":[{"message":{"role":"assistant","content":"Hello."}}]}`, "Content-Type", "application/json"))
	resp := r.send(http.MethodPost, "/v1/chat/completions", body)
	if got := r.upstream.one(t); got.body != body {
		t.Errorf("the upstream got %d bytes, want the %d of the client", len(got.body), len(body))
	}
	if answer := r.read(resp); resp.StatusCode != http.StatusOK || !strings.Contains(answer, "Hello.") || resp.Header.Get(HeaderTrace) != "" {
		t.Errorf("got %d %q with trace %q", resp.StatusCode, answer, resp.Header.Get(HeaderTrace))
	}
	r.wantTurns()

	alone := newRig(t, small, func(s *setup) { s.alone = true })
	resp = alone.send(http.MethodPost, "/v1/chat/completions", body)
	if alone.read(resp); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("without an upstream: got %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}
