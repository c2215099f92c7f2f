package assembly

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestHealthAndMetricsByRole asks a server with a key as everybody who may ask.
func TestHealthAndMetricsByRole(t *testing.T) {
	const key = "secret-1-0123456789"
	dir := t.TempDir()
	c := settingsAt(t, dir, "api_key", key, "vault", dir+"/vault", "upstream.url", "http://127.0.0.1:1/v1?api-version=1&key=secret-2", "upstream.key", "secret-3")
	l := openAt(t, c)
	defer closed(t, l)
	keys := map[string]string{"stranger": "", "server's key": key}
	for role, user := range map[memory.KeyRole]string{memory.KeyAdmin: "", memory.KeyFront: "", memory.KeyUser: "ana"} {
		text, _, err := l.keys.Add(t.Context(), memory.Key{Name: "a key", Role: role, User: user})
		if err != nil {
			t.Fatal(err)
		}
		keys[string(role)] = text
	}
	own := []string{"status", "version"}
	all := append(slices.Clone(own), "profile", "store", "search", "embedder", "reranker", "models", "top_k", "threshold", "upstream", "learns", "better", "warnings")
	admin := append(slices.Clone(all), "vault")
	for who, want := range map[string]struct {
		health  []string
		metrics int
	}{
		"stranger": {own, http.StatusUnauthorized}, "user": {all, http.StatusForbidden}, "front": {all, http.StatusForbidden},
		"admin": {admin, http.StatusOK}, "server's key": {admin, http.StatusOK},
	} {
		t.Run(who, func(t *testing.T) {
			ask := func(path string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
				r.RemoteAddr = "127.0.0.1:1"
				if keys[who] != "" {
					r.Header.Set("X-Loci-Key", keys[who])
				}
				w := httptest.NewRecorder()
				l.Handler().ServeHTTP(w, r)
				return w
			}
			w := ask("/health")
			var told map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || w.Code != http.StatusOK || strings.Contains(w.Body.String(), "secret") {
				t.Fatalf("%d %s, %v; want health without secrets", w.Code, w.Body, err)
			}
			for _, field := range admin {
				if _, is := told[field]; is != slices.Contains(want.health, field) {
					t.Errorf("health tells %s: %v", field, is)
				}
			}
			if len(told) != len(want.health) {
				t.Errorf("health tells %v, want %v", told, want.health)
			}
			if !slices.Contains(want.health, "vault") && (strings.Contains(w.Body.String(), dir) || strings.Contains(w.Body.String(), "127.0.0.1:1")) {
				t.Errorf("health tells a path or an address: %s", w.Body)
			}
			if w := ask("/metrics"); w.Code != want.metrics {
				t.Errorf("metrics: status %d, want %d", w.Code, want.metrics)
			}
		})
	}
	loopback := openWith(t, map[string]string{"upstream.url": "http://127.0.0.1:1/v1"})
	for path, want := range map[string]string{"/health": `"upstream":"http://127.0.0.1:1/v1"`, "/metrics": "go_goroutines"} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		loopback.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s on loopback without a key: %d %.200s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// TestBrokenStoreIsToldToAdminsAlone closes the store under a server.
func TestBrokenStoreIsToldToAdminsAlone(t *testing.T) {
	l := openAt(t, settingsAt(t, t.TempDir(), "api_key", "server"))
	closed(t, l)
	for key, inner := range map[string]bool{"": false, "server": true} {
		for _, path := range []string{"/health", "/health/ready"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
			if key != "" {
				r.Header.Set("X-Loci-Key", key)
			}
			w := httptest.NewRecorder()
			l.Handler().ServeHTTP(w, r)
			if path == "/health/ready" { // chats go on without a store
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"problems":["store"]`) {
					t.Errorf("%s with key %q: %d %s", path, key, w.Code, w.Body)
				}
				continue
			}
			if strings.Contains(w.Body.String(), `"ok"`) || strings.Contains(w.Body.String(), "closed") != inner {
				t.Errorf("%s with key %q: %d %s; want what is wrong inside: %v", path, key, w.Code, w.Body, inner)
			}
		}
	}
}

// TestReadyNamesDiskAndParkedJobs looks at both once in [readinessInterval], however often it is asked.
func TestReadyNamesDiskAndParkedJobs(t *testing.T) {
	clock := &memtest.Clock{}
	c := settingsAt(t, t.TempDir())
	l := try(Open(t.Context(), c, Options{Log: t.Output(), Now: clock.Now})).orFail(t)
	defer closed(t, l)
	want := func(when string, problems ...string) {
		t.Helper()
		for range 3 {
			if is := l.readyStatus(t.Context()); is.Status != client.StatusReady || !slices.Equal(is.Problems, problems) {
				t.Errorf("%s: %+v, want problems %q", when, is, problems)
			}
		}
	}
	want("at first")
	batch := memtest.Batch(memtest.Ana, "c", 0, "I live in Lisbon")
	batch.Jobs = []memory.Job{memtest.Job(memtest.Ana, memory.JobLearn, "j")}
	try(l.engine.Store.Append(t.Context(), memtest.Ana, batch)).orFail(t)
	job := try(l.engine.Store.Claim(t.Context(), []memory.JobKind{memory.JobLearn}, time.Minute)).orFail(t)
	noError(t)(l.engine.Store.Finish(t.Context(), job.Lease, memory.Outcome{Cause: "the model is down", Park: true}))
	away := c.Data + ".away"
	noError(t)(os.Rename(c.Data, away))
	want("before the next look")
	clock.Advance(readinessInterval)
	want("with a parked job and no disk", "disk", "jobs")
	noError(t)(os.Rename(away, c.Data))
	clock.Advance(-time.Hour)
	want("with a parked job, an hour back", "jobs")
}

func TestEveryProfileStartsWithNothing(t *testing.T) {
	for _, name := range config.ProfileNames() {
		l := openWith(t, map[string]string{"profile": name})
		if h := l.health(t.Context()); h.Status != "ok" || h.Profile != name || h.Embedder != "lexical" || h.Reranker != "none" {
			t.Errorf("%s: health %+v", name, h)
		}
	}
}
