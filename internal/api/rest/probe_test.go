package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/client"
)

// TestProbesAnswerAsTheOperationsDo compares answers before the API is built with those of its operations.
func TestProbesAnswerAsTheOperationsDo(t *testing.T) {
	for _, status := range []string{"ok", "store: it is away"} {
		d := &handler{Options{Version: "1", MaxBody: 1 << 10, Health: func(context.Context) client.Health {
			return client.Health{Status: status, Version: "1", Store: "memory", Models: []string{"loci/recall"}}
		}, Ready: func(context.Context) client.Ready {
			if status != "ok" {
				return client.Ready{Status: client.StatusDraining, Problems: []string{"store"}}
			}
			return client.Ready{Status: client.StatusReady, Problems: []string{}}
		}}, newRig(t).engine}
		api := d.newMux()
		for _, path := range []string{"/health", "/health/live", "/health/ready"} {
			probed, want := httptest.NewRecorder(), httptest.NewRecorder()
			if !d.serveHealth(probed, httptest.NewRequest(http.MethodGet, path, nil)) {
				t.Fatalf("GET %s waits for the API", path)
			}
			api.ServeHTTP(want, httptest.NewRequest(http.MethodGet, path, nil))
			if probed.Code != want.Code || probed.Body.String() != want.Body.String() {
				t.Errorf("GET %s while %s: %d %s, want %d %s", path, status, probed.Code, probed.Body, want.Code, want.Body)
			}
			if unwell := status != "ok" && path == "/health/ready"; unwell != (probed.Code == http.StatusServiceUnavailable && strings.Contains(probed.Body.String(), "draining")) {
				t.Errorf("GET %s while %s: status %d: %s", path, status, probed.Code, probed.Body)
			}
			probed.Header().Del("Cache-Control") // only refusals have it
			if diff := cmp.Diff(want.Header(), probed.Header()); diff != "" {
				t.Errorf("GET %s while %s: headers (-API +probe):\n%s", path, status, diff)
			}
		}
	}
}

// TestOnlyPlainRequestsAreProbes leaves requests with a query or a body to the API.
func TestOnlyPlainRequestsAreProbes(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/health?verbose=1", http.StatusUnprocessableEntity},
		{"HEAD", "/health", http.StatusOK},
		{"POST", "/health", http.StatusNotFound},
		{"GET", "/health/none", http.StatusNotFound},
	} {
		if w := r.do(c.method, c.path, ""); w.Code != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
}
