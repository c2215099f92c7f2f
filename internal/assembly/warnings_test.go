package assembly

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// TestRequestsThatNameNobodyAreTold once in the log, and then by the health, to any key, and by
// the doctor.
func TestRequestsThatNameNobodyAreTold(t *testing.T) {
	const key = "secret-1-0123456789"
	token := []string{"X-OpenWebUI-User-Jwt", "a.b.c"}
	for name, c := range map[string]struct {
		settings, headers []string
		user              string // the body's
		says              []string
	}{
		"a token without jwt_secret":   {nil, token, "", []string{"jwt_secret is not set"}},
		"a chat of nobody":             {[]string{"users", "multi"}, nil, "", []string{"a chat names no user"}},
		"both":                         {[]string{"users", "multi"}, token, "", []string{"jwt_secret is not set", "a chat names no user"}},
		"a chat of a user":             {[]string{"users", "multi"}, []string{"X-Loci-User", "ana"}, "", nil},
		"the one user":                 {nil, nil, "", nil},
		"a user of the body":           {nil, nil, "ben", []string{"users=single ignores"}},
		"the one user by name":         {nil, nil, "default", nil},
		"a user of the body beside":    {nil, []string{"X-Loci-User", "ana"}, "ben", nil},
		"a user of the body of many":   {[]string{"users", "multi"}, nil, "ben", nil},
		"a token of somebody unproven": {nil, append([]string{"X-Loci-Key", "wrong"}, token...), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			config := settingsAt(t, t.TempDir(), append([]string{"api_key", key, "log.level", "warn"}, c.settings...)...)
			l := try(Open(context.Background(), config, Options{Log: &log})).orFail(t)
			defer closed(t, l)
			front, _, err := l.keys.Add(t.Context(), memory.Key{Name: "front", Role: memory.KeyFront, User: ""})
			if err != nil {
				t.Fatal(err)
			}
			ask := func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				w := httptest.NewRecorder()
				l.Handler().ServeHTTP(w, r)
				return w
			}
			for range 3 {
				ask(http.MethodPost, "/v1/chat/completions", `{"model":"loci/recall","user":"`+c.user+`","messages":[{"role":"user","content":"Hello"}]}`, append([]string{"X-Loci-Key", key}, c.headers...)...)
			}
			var health client.Health
			noError(t)(json.Unmarshal(ask(http.MethodGet, "/health", "", "X-Loci-Key", front).Body.Bytes(), &health))
			checkup := try(l.Doctor(t.Context(), false)).orFail(t)
			var found []string
			for _, f := range checkup.Findings {
				if f.Part == "users" {
					found = append(found, f.Problem)
				}
			}
			if len(health.Warnings) != len(c.says) || len(found) != len(c.says) || strings.Count(log.String(), "level=WARN") != len(c.says) {
				t.Fatalf("health warns %q, the doctor %q, the log says\n%swant %q", health.Warnings, found, &log, c.says)
			}
			for i, says := range c.says {
				if !strings.Contains(health.Warnings[i], says) || !strings.Contains(found[i], says) || !strings.Contains(log.String(), says) {
					t.Errorf("health warns %q, the doctor %q, the log says\n%swant %q", health.Warnings[i], found[i], &log, says)
				}
			}
			var stranger client.Health
			if err := json.Unmarshal(ask(http.MethodGet, "/health", "").Body.Bytes(), &stranger); err != nil || len(stranger.Warnings) != 0 {
				t.Errorf("a stranger is told %q, %v", stranger.Warnings, err)
			}
		})
	}
}
