package assembly

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/api/web"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/models"
)

func TestThePageSaysWhereSettingsAreFromAndNoSecret(t *testing.T) {
	file := t.TempDir() + "/loci.yaml"
	if err := os.WriteFile(file, []byte("recall:\n  top_k: 5\n  budget: 900\nreview:\n  categories: [health, family]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := config.Load(config.Sources{
		File:  file,
		Env:   []string{"LOCI_RECALL_BUDGET=800", "LOCI_API_KEY=hunter2hunter2", "LOCI_UPSTREAM_URL=http://localhost:1/v1?key=hunter2", "LOCI_EMBED_URL=http://localhost:1/v1?key=hunter2"},
		Flags: map[string]string{"recall.threshold": "0.5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]web.Setting{}
	for _, s := range shownSettings(config) {
		got[s.Key] = s
		if strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s is shown as %q", s.Key, s.Value)
		}
	}
	if len(got) != len(config.Shown()) {
		t.Errorf("%d settings are shown of %d", len(got), len(config.Shown()))
	}
	for key, want := range map[string][2]string{
		"recall.top_k": {"5", "file"}, "recall.budget": {"800", "environment"}, "recall.threshold": {"0.5", "flag"}, "recall.recency_weight": {"0.2", "default"},
		"review.categories": {"health, family", "file"}, "api_key": {"set", "environment"}, "jwt_secret": {"", "default"}, "upstream.url": {"http://localhost:1/v1", "environment"},
	} {
		if s := got[key]; s.Value != want[0] || s.From != want[1] {
			t.Errorf("%s is shown as %q from %s, want %q from %s", key, s.Value, s.From, want[0], want[1])
		}
	}
}

func TestListedOriginsMayUseTheAPIsAlone(t *testing.T) {
	const origin = "https://app.example.org"
	l := openWith(t, map[string]string{"api_key": "a key", "cors.origins": origin})
	for path, want := range map[string]int{"/v1/models": http.StatusOK, "/models": http.StatusOK, "/api/memory": http.StatusOK, "/": http.StatusForbidden, "/settings": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost:7077"+path, nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("X-Loci-Key", "a key")
		w := httptest.NewRecorder()
		if l.Handler().ServeHTTP(w, r); w.Code != want || (w.Header().Get("Access-Control-Allow-Origin") == origin) != (want == http.StatusOK) {
			t.Errorf("%s: got %d with %v, want %d", path, w.Code, w.Header(), want)
		}
	}
}

func TestThePageStandsBesideTheAPIBehindTheSameGuard(t *testing.T) {
	l := openWith(t, map[string]string{"api_key": "a key"})
	for path, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                 {http.StatusSeeOther, "text/html"},
		"/signin":           {http.StatusOK, "text/html"},
		"/playground":       {http.StatusSeeOther, "text/html"},
		"/data/export":      {http.StatusSeeOther, "text/html"},
		"/assets/page.js":   {http.StatusOK, "text/javascript"},
		"/api/memory":       {http.StatusUnauthorized, "application/problem+json"},
		"/v1/models":        {http.StatusUnauthorized, "application/json"},
		"/health":           {http.StatusOK, "application/json"},
		"/assets/page.css/": {http.StatusUnauthorized, "application/problem+json"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		if w.Code != want.status || !strings.HasPrefix(w.Header().Get("Content-Type"), want.kind) {
			t.Errorf("GET %s: status %d in %s, want %d in %s", path, w.Code, w.Header().Get("Content-Type"), want.status, want.kind)
		}
	}
}

// TestALostBrowserGetsAPage: who looks in a browser for what is nowhere is told so by the
// page, signed in or after signing in; programs, and whoever asks another door, get what
// they got.
func TestALostBrowserGetsAPage(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	ask := func(l *Loci, method, path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		return w
	}
	l := openWith(t, nil)
	for _, path := range []string{"/nosuch", "/memories", "/playground/x/y", "/conversations/", "/apis"} {
		w := ask(l, http.MethodGet, path, browser)
		if w.Code != http.StatusNotFound || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") ||
			!strings.Contains(w.Body.String(), "Nothing here") || !strings.Contains(w.Body.String(), path) || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("GET %s: status %d in %s: %.400s", path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		for _, c := range [][2]string{{http.MethodGet, "*/*"}, {http.MethodGet, "application/json"}, {http.MethodGet, ""}, {http.MethodPut, browser}} {
			if w := ask(l, c[0], path, c[1]); w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s for %q: status %d in %s", c[0], path, c[1], w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
	var api struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(ask(l, http.MethodGet, "/openapi.json", browser).Body.Bytes(), &api); err != nil || len(api.Paths) == 0 {
		t.Fatalf("the description for a browser: %v, %d paths", err, len(api.Paths))
	}
	for path := range api.Paths {
		if w := ask(l, http.MethodGet, strings.ReplaceAll(path, "{id}", "x"), browser); strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("GET %s is the page's: %.200s", path, w.Body)
		}
	}
	for _, path := range []string{"/docs", "/metrics", "/health", "/v1/models", "/api/nosuch", "/openapi.yaml"} {
		if w := ask(l, http.MethodGet, path, browser); strings.Contains(w.Body.String(), "Nothing here") {
			t.Errorf("GET %s is the page's: %.200s", path, w.Body)
		}
	}
	keyed := openWith(t, map[string]string{"api_key": "a key"})
	if w := ask(keyed, http.MethodGet, "/nosuch?a=b", browser); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/signin?next=%2Fnosuch%3Fa%3Db" {
		t.Errorf("with a key: status %d to %s", w.Code, w.Header().Get("Location"))
	}
}

func TestThePageSaysWhichModelsAreUsedAndWhy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			t.Errorf("the server is asked %s", r.URL.Path)
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"parrot-7b"},{"id":"wren-1b"}]}`))
	}))
	defer server.Close()
	own := t.TempDir()
	if err := os.WriteFile(own+"/describe.md", []byte("<!-- What it is for: own words. -->\nLook closely.\n<!-- user -->\n{{QUERY}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openWith(t, map[string]string{"learn.url": server.URL + "/v1", "learn.prefer": "owl,wren-1b", "prompts": own, "review.confidence": "0.6"})
	for path, wants := range map[string][]string{
		"/settings": {"wren-1b", "The first that the server lists, of: owl, wren-1b.", "Words alone, without a model.", "what is less sure than 60 %",
			"review:\n  confidence: 0.6\n  categories: []\n  conflicts: false", "A flag says <code>review.confidence</code> now", own + "/describe.md", "profile: &#34;default&#34;"},
		"/settings?models=list":      {"<code dir=\"auto\">parrot-7b</code>"},
		"/settings/prompts/describe": {"own words", "Look closely.", "How large is this flat?", "{{QUERY}}", "loci prompts eject"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("GET %s: it lacks %q:\n%s", path, want, w.Body)
			}
		}
	}
	for name, c := range map[string]struct {
		set  map[string]string
		want string
	}{
		"rules":  {nil, "the built-in rules: No server of models is set."},
		"nobody": {map[string]string{"learn.rules": "off"}, "nobody: No server of models is set."},
		"named":  {map[string]string{"learn.url": server.URL + "/v1", "learn.model": "owl"}, "owl: It is named; the server does not list it."},
		"none":   {map[string]string{"learn.url": server.URL + "/v1", "learn.prefer": "owl"}, "no model yet (the server lists none of: owl): It is asked again before each lesson."},
		"away":   {map[string]string{"learn.url": "http://127.0.0.1:1/v1", "learn.prefer": "owl"}, "no model yet (the server of the model that learns does not list its models): It is asked again before each lesson."},
	} {
		config, err := config.Load(config.Sources{Flags: c.set})
		if err != nil {
			t.Fatal(err)
		}
		learner, err := models.ChooseLearner(t.Context(), config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if m := learnerShown(learner.Learns()); m.Name+": "+m.Why != c.want {
			t.Errorf("%s: it says %q, want %q", name, m.Name+": "+m.Why, c.want)
		}
	}
}

func TestThePlaygroundTalksThroughTheChatsOwnDoor(t *testing.T) {
	l := openWith(t, map[string]string{})
	post := func(path string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		return w
	}
	if w := post("/memories", url.Values{"content": {"User lives in Lisbon"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("remember: status %d: %s", w.Code, w.Body)
	}
	said := post("/playground", url.Values{"content": {"Where do I live?"}, "model": {"loci/recall"}, "conversation": {"page-1"}})
	if said.Code != http.StatusSeeOther {
		t.Fatalf("say: status %d: %s", said.Code, said.Body)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+said.Header().Get("Location"), nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	for _, want := range []string{"Where do I live?", "From memory:", "You live in Lisbon", "Memory gave", "Forget this"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the chat lacks %q:\n%s", want, w.Body)
		}
	}
}
