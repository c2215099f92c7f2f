package rest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
)

// TestTheHistoryOfAFactTellsWhoseHandItWas lets a user write and whoever runs the server
// edit, over HTTP.
func TestTheHistoryOfAFactTellsWhoseHandItWas(t *testing.T) {
	r := newRig(t)
	door := httpx.Guard(httpx.Options{Key: "k", JWTSecret: []byte("s"), Multi: true, MaxBody: 64 << 10, Now: r.clock.Now}, New(r.engine, Options{MaxBody: 64 << 10}))
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"ana","exp":%d}`, r.clock.Now().Unix()+600))
	sum := hmac.New(sha256.New, []byte("s"))
	sum.Write([]byte(head))
	hers := []string{httpx.HeaderOpenWebJWT, head + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))}
	admins := []string{httpx.HeaderKey, "k", httpx.HeaderUser, "ana"}
	send := func(method, path, body string, headers []string) string {
		t.Helper()
		req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		door.ServeHTTP(w, req)
		if w.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	_, after, _ := strings.Cut(send("POST", "/api/memory", `{"content":"Ana plays the cello"}`, hers), `"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	send("PATCH", "/api/memory/"+id, `{"content":"Ana plays the viola"}`, admins)
	history := send("GET", "/api/memory/"+id+"/history", "", hers)
	for author, times := range map[string]int{`"author":{"kind":"person","name":"ana","admin":true}`: 1, `"author":{"kind":"person","name":"ana"}`: 1} {
		if strings.Count(history, author) != times {
			t.Errorf("the history has %s %d times, want %d: %s", author, strings.Count(history, author), times, history)
		}
	}
	if changes := send("GET", "/api/changes", "", hers); strings.Count(changes, `"admin":true`) != 1 {
		t.Errorf("the journal: %s", changes)
	}
}
