package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

func TestOnlyAdminsAndTheUserErase(t *testing.T) {
	r := newRig(t)
	var all []memory.Key
	texts := map[memory.KeyRole]string{}
	for role, user := range map[memory.KeyRole]string{memory.KeyAdmin: "", memory.KeyFront: "", memory.KeyUser: "ana"} {
		text, k, err := httpx.NewKey(memory.Key{Name: "a key", Role: role, User: user}, r.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		texts[role], all = text, append(all, k)
	}
	var ring httpx.Keyring
	ring.Set(all)
	guarded := httpx.Guard(httpx.Options{Key: "server", Keys: &ring, Multi: true}, New(r.engine, Options{Version: "1", MaxBody: 64 << 10}))
	for _, c := range []struct {
		role    memory.KeyRole
		as, who string
		want    int
	}{
		{memory.KeyFront, "ana", "ana", http.StatusForbidden},
		{memory.KeyFront, "ben", "ana", http.StatusForbidden},
		{memory.KeyFront, "", "ana", http.StatusForbidden},
		{memory.KeyUser, "", "ben", http.StatusForbidden},
		{memory.KeyUser, "ben", "ben", http.StatusForbidden},
		{memory.KeyUser, "", "ana", http.StatusOK},
		{memory.KeyAdmin, "", "ben", http.StatusOK},
		{memory.KeyAdmin, "carl", "carl", http.StatusOK},
	} {
		send := func(method, path string) *httptest.ResponseRecorder {
			req := httptest.NewRequest(method, "http://localhost"+path, nil)
			req.Header.Set(httpx.HeaderKey, texts[c.role])
			if c.as != "" {
				req.Header.Set(httpx.HeaderUser, c.as)
			}
			w := httptest.NewRecorder()
			guarded.ServeHTTP(w, req)
			return w
		}
		if w := send(http.MethodDelete, "/api/users/"+c.who); w.Code != c.want {
			t.Errorf("a key of the role %s as %q erases %s: status %d, want %d: %s", c.role, c.as, c.who, w.Code, c.want, w.Body)
		}
		if w := send(http.MethodPost, "/api/users/"+c.who+"/open"); (w.Code == http.StatusForbidden) != (c.want == http.StatusForbidden) {
			t.Errorf("a key of the role %s as %q opens %s: status %d: %s", c.role, c.as, c.who, w.Code, w.Body)
		}
	}
}

func TestAnswersOfTheAPIAreNotCached(t *testing.T) {
	r := newRig(t).furnish()
	for _, c := range [][3]string{
		{"GET", "/api/memory"}, {"GET", "/api/memory/{tea}"}, {"GET", "/api/export"}, {"GET", "/api/memory/nosuch"}, {"GET", "/api/nosuch"},
		{"POST", "/api/memory", `{"content":"x"}`}, {"POST", "/api/memory", `{`}, {"GET", "/api/stats"}, {"DELETE", "/api/memory/{tea}"},
	} {
		w := r.do(c[0], c[1], c[2])
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s: status %d with Cache-Control %q, want no-store", c[0], c[1], w.Code, got)
		}
	}
}
