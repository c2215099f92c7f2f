package assembly

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/api/proxy"
)

// TestMem0sPathsStayAtLoci sends what mem0's clients send to a server with an upstream: Loci
// answers it, refusals in mem0's shape, and forwards the paths beside.
func TestMem0sPathsStayAtLoci(t *testing.T) {
	const key = "loci-key-0123456789"
	forwarded := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { forwarded++ }))
	defer upstream.Close()
	l := openWith(t, map[string]string{"api_key": key, "upstream.url": upstream.URL + "/v1", "learn.model": "none"})
	send := func(path, key string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader("{}"))
		req.Header.Set("Authorization", "Token "+key)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, req)
		return w
	}
	for _, path := range append(proxy.ReservedPaths(), "/mem0", "/mem0/v1/ping/", "/v1/%6Demories/", "/v1/memories%2Fm1") {
		if w := send(path, key); w.Code >= 500 && w.Code != http.StatusNotImplemented || w.Code >= 400 && !strings.Contains(w.Body.String(), `"detail":"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := send("/v1/memories/", "wrong-"+key); w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Body.String(), `{"detail":"`) {
		t.Errorf("with a wrong key: %d %s", w.Code, w.Body)
	}
	if forwarded > 0 {
		t.Errorf("the upstream was asked %d times", forwarded)
	}
	if send("/v1/files", key); forwarded != 1 {
		t.Errorf("the upstream was asked %d times, want once", forwarded)
	}
}
