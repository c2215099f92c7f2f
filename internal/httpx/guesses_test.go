package httpx

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// asking returns a guard with a key, and what it answers to a request from an address.
func asking(now *time.Time, o Options) func(from, path string, set func(*http.Request)) *httptest.ResponseRecorder {
	o.Key, o.Now = key, func() time.Time { return *now }
	h := Guard(o, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return func(from, path string, set func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = from
		if set != nil {
			set(r)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestWrongKeysAreLimitedAtEveryDoor(t *testing.T) {
	for name, wrong := range map[string]func(*http.Request){
		"X-Loci-Key": with(HeaderKey, "wrong"), "bearer": with("Authorization", "Bearer wrong"), "bare": with("Authorization", "wrong"), "another client's": with("X-Api-Key", "wrong"),
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			ask := asking(&now, Options{})
			const from = "192.0.2.7:1"
			for i := range maxWrongKeys {
				if w := ask(from, []string{"/api/memory", "/v1/models", "/query"}[i%3], wrong); w.Code != http.StatusUnauthorized || w.Header().Get("Retry-After") != "" {
					t.Fatalf("wrong key %d: status %d, %v", i+1, w.Code, w.Header())
				}
			}
			now = now.Add(time.Minute)
			if w := ask("192.0.2.7:2", "/api/memory", wrong); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "840" {
				t.Errorf("one more: status %d, Retry-After %q, want 840", w.Code, w.Header().Get("Retry-After"))
			} else if err := problemIn(t, w); !errors.Is(err, memory.Unauthorized) {
				t.Errorf("a client is told %v", err)
			}
			if w := ask(from, "/api/memory", with(HeaderKey, key)); w.Code != http.StatusOK {
				t.Errorf("the right key is kept out: status %d", w.Code)
			}
			if w := ask(from, "/api/memory", nil); w.Code != http.StatusUnauthorized {
				t.Errorf("no key is taken for a wrong one: status %d", w.Code)
			}
			if w := ask("192.0.2.8:1", "/api/memory", wrong); w.Code != http.StatusUnauthorized {
				t.Errorf("another address: status %d", w.Code)
			}
			if w := ask(from, "/health/live", wrong); w.Code != http.StatusOK {
				t.Errorf("whether the server lives is not told: status %d", w.Code)
			}
			now = now.Add(wrongKeyWindow)
			if w := ask(from, "/api/memory", wrong); w.Code != http.StatusUnauthorized {
				t.Errorf("later: status %d", w.Code)
			}
		})
	}
}

func TestWhatIsNoGuessIsNotCounted(t *testing.T) {
	const secret = "shared-with-the-front-end"
	signed := token(t, secret, `{"alg":"HS256"}`, map[string]any{"sub": "ana", "exp": noon.Unix() + 300})
	now := noon
	ask := asking(&now, Options{JWTSecret: []byte(secret)})
	for range 3 * maxWrongKeys {
		if w := ask("192.0.2.7:1", "/v1/models", with("Authorization", "Bearer upstream", HeaderOpenWebJWT, signed)); w.Code != http.StatusOK {
			t.Fatalf("a signed user with a key for the upstream: status %d", w.Code)
		}
		if w := ask("192.0.2.7:1", "/api/memory", with("Authorization", "Basic YW5hOng=")); w.Code != http.StatusUnauthorized {
			t.Fatalf("a proxy's password: status %d", w.Code)
		}
	}
	if w := ask("192.0.2.7:1", "/api/memory", with(HeaderKey, "wrong")); w.Code != http.StatusUnauthorized {
		t.Errorf("the first wrong key: status %d", w.Code)
	}
}

func TestOneNetworkCountsOnce(t *testing.T) {
	if addressGroup("[2001:db8::1]:1") != addressGroup("[2001:db8::2]:9") || addressGroup("[::ffff:192.0.2.7]:1") != addressGroup("192.0.2.7:5") || addressGroup("192.0.2.7:5") == addressGroup("192.0.2.8:5") {
		t.Error("one who has a network of addresses counts once for each, or two people count together")
	}
}
