package assembly

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/api/proxy"
)

// TestMem0sPathsStayAtLoci sends what mem0's clients send to a server with an upstream: Loci
// answers it, refusals in mem0's shape, and forwards the paths beside.
func TestMem0sPathsStayAtLoci(t *testing.T) {
	const key = "loci-key-0123456789"
	var mu sync.Mutex
	var forwarded []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		forwarded = append(forwarded, r.URL.Path)
	}))
	defer upstream.Close()
	l := openWith(t, map[string]string{"api_key": key, "upstream.url": upstream.URL + "/v1", "learn.model": "none"})
	send := func(method, path, key string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{}"))
		req.Header.Set("Authorization", "Token "+key)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, req)
		return w
	}
	paths := []string{"/mem0", "/mem0/", "/mem0/memories", "/mem0/v1/ping/", "/v1/%6Demories/", "/v1/Memories/", "/v1/memories%2Fm1"}
	for _, path := range proxy.Reserved() {
		paths = append(paths, path, path+"/", path+"/x/y?z=1")
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if w := send(method, path, key); w.Code >= 500 && w.Code != http.StatusNotImplemented || w.Code >= 400 && !strings.Contains(w.Body.String(), `"detail":"`) {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	for _, path := range []string{"/v1/memories/", "/api/v1/webhooks/7/", "/mem0/memories"} {
		if w := send(http.MethodGet, path, "wrong-"+key); w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Body.String(), `{"detail":"`) {
			t.Errorf("%s with a wrong key: %d %s", path, w.Code, w.Body)
		}
	}
	if len(forwarded) > 0 {
		t.Errorf("the upstream was asked %v", forwarded)
	}
	for _, path := range []string{"/v1/files", "/v1/batches", "/v1/memory", "/v1/mem0/memories"} {
		send(http.MethodPost, path, key)
	}
	if len(forwarded) != 4 {
		t.Errorf("the upstream was asked %v, want four paths", forwarded)
	}
}
