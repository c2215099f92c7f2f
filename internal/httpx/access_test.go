package httpx

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestRefusalsNameTheLimitOrKey(t *testing.T) {
	var refused []string
	guard := Guard(Options{
		Key: "server-key-of-some-length", Limits: Limits{Requests: 1}, OnAnswer: func(a AccessEntry) { refused = append(refused, a.RefusedBy) },
	}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })) // the upstream's own 429 is none
	for _, key := range []string{"server-key-of-some-length", "server-key-of-some-length", "another-key"} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:7077/api/memory", nil)
		r.Header.Set("X-Loci-Key", key)
		guard.ServeHTTP(httptest.NewRecorder(), r)
	}
	if want := []string{"", "limits.requests", "key"}; !slices.Equal(refused, want) {
		t.Errorf("refused: got %q, want %q", refused, want)
	}
}
