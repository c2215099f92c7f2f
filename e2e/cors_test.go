package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPageOfAListedOriginTalksToLoci: a page of another server chats and reads memory.
func TestPageOfAListedOriginTalksToLoci(t *testing.T) {
	chromium(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>app</title><body>app</body><link rel=icon href=data:,>"))
	}))
	defer page.Close()
	l := serve(t, t.TempDir(), "LOCI_API_KEY=e2e-key-0123456789", "LOCI_CORS_ORIGINS="+page.URL)
	b := browse(t, &loci{url: page.URL}, deskWidth, deskHeight)
	b.open("/")
	ask := func(path, options, want string) {
		script := fmt.Sprintf(`(async () => {
			const headers = {"Authorization": "Bearer e2e-key-0123456789", "X-Loci-User": "ana", "Content-Type": "application/json"}
			const r = await fetch(%q, {headers, %s})
			document.body.innerText = r.status + " " + (r.headers.get("X-Loci-Request-Id") ? "named " : "") + await r.text()
		})(), ""`, l.url+path, options)
		eval[string](b, script)
		b.see("body", want)
		if got := b.text("body"); !strings.HasPrefix(got, "200 named ") {
			t.Errorf("%s: %s", path, got)
		}
	}
	ask("/v1/chat/completions", `method: "POST", body: JSON.stringify({model: "loci/recall", messages: [{role: "user", content: "Remember that my cat is called Mitzi."}]})`, "I will remember that.")
	l.settle(t, http.Header{"X-Loci-Key": {"e2e-key-0123456789"}, "X-Loci-User": {"ana"}}, patience)
	ask("/api/memory", "", "Mitzi")
}
