package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
)

// TestPathsOfMem0AreNotForwarded sends requests of mem0's client.
func TestPathsOfMem0AreNotForwarded(t *testing.T) {
	const key = "loci-key-0123456789"
	r := newRig(t, func(s *setup) { s.guard.Key, s.guard.MultiUser = key, true })
	for _, path := range []string{
		"/v1/ping", "/v1/ping/", "/v1/memories", "/v1/memories/", "/v1/memories/search/", "/v1/memories/m1/history/", "/v2/memories/", "/v2/memories/search/?a=b", "/v3/memories/", "/v3/memories/add/",
		"/v1/event/e1/", "/v1/events/", "/v1/entities/", "/v1/entities/user/ana/", "/v2/entities/user/ana/", "/v1/batch/", "/v1/feedback/", "/v1/exports/", "/v1/exports/get", "/v1/summary/", "/v1/stats/",
		"/api/v1/orgs/organizations/o/projects/p/", "/api/v1/webhooks/projects/p/", "/v1/%6Demories/", "/v1/memories%2Fm1",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			resp := r.send(method, path, `{"messages":[{"role":"user","content":"a secret"}]}`, "Authorization", "Token "+key)
			body := r.read(resp)
			if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != httpx.ProblemType || !strings.Contains(body, "mem0") {
				t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, body)
			}
		}
	}
	if got := r.upstream.asked(); len(got) > 0 {
		t.Errorf("the upstream was asked %+v", got)
	}
}

func TestOtherPathsThanMem0sAreForwarded(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/v1/batches", "/v1/batches/b1/cancel", "/v1/files", "/v1/memory", "/v1/eventual", "/v1/statistics", "/v1/pings", "/v1/messages/batches", "/v1/fine_tuning/jobs/j/events", "/v1/feedbacks", "/v1/x/memories"} {
		resp := r.send(http.MethodPost, path, "{}")
		if r.read(resp); resp.StatusCode != http.StatusOK || r.upstream.one(t).uri != path {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestAKeyInAnySchemeDoesNotReachTheUpstream forwards requests with Loci's key in unusual headers.
func TestAKeyInAnySchemeDoesNotReachTheUpstream(t *testing.T) {
	const key = "loci-key-0123456789"
	r := newRig(t, func(s *setup) { s.guard.Key = key })
	for _, path := range []string{"/v1/files?key=" + key + "&limit=2", "/v1/models?key=" + key} {
		resp := r.send(http.MethodGet, path, "", "Authorization", "Token "+key, "Cookie", "session="+key, "X-Anything", "a "+key, "X-Api-Key", "sk-upstream", "Proxy-Authorization", "Basic "+key)
		r.read(resp)
		sent := r.upstream.one(t)
		if resp.StatusCode != http.StatusOK || sent.header.Get("X-Api-Key") != "sk-upstream" || strings.Contains(sent.uri, key) {
			t.Errorf("%s: %d, sent %+v", path, resp.StatusCode, sent)
		}
		for name, values := range sent.header {
			if strings.Contains(strings.Join(values, " "), key) {
				t.Errorf("%s: the upstream got %s: %q", path, name, values)
			}
		}
	}
}
