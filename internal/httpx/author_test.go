package httpx

import (
	"net/http"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestAHistoryTellsTheUserFromWhoeverRunsTheServer: only their own token shows that it is
// the user who writes; in single mode, naming nobody does as well.
func TestAHistoryTellsTheUserFromWhoeverRunsTheServer(t *testing.T) {
	const secret = "shared-with-the-front-end"
	good := token(t, secret, `{"alg":"HS256","typ":"JWT"}`, map[string]any{"sub": "ana", "exp": noon.Unix() + 300})
	single, keyed := Options{}, Options{Key: key}
	signed := Options{Key: key, MultiUser: true, JWTSecret: []byte(secret)}
	many := Options{Key: key, MultiUser: true}
	for _, tt := range []struct {
		name  string
		o     Options
		set   func(*http.Request)
		user  string
		admin bool
	}{
		{"the one user", single, nil, "default", false},
		{"the one user, with the key", keyed, with(HeaderKey, key), "default", false},
		{"the one user by name", keyed, with(HeaderKey, key, HeaderUser, "default"), "default", true},
		{"one of many who is called as the one would be", many, with(HeaderKey, key, HeaderUser, "default"), "default", true},
		{"another user by name", single, with(HeaderUser, "ana"), "ana", true},
		{"another user by name, with the key", keyed, with(HeaderKey, key, HeaderOpenWebUser, "ana"), "ana", true},
		{"a user by their token", signed, with(HeaderOpenWebJWT, good), "ana", false},
		{"a user by their token, beside the key", signed, with(HeaderKey, key, HeaderOpenWebJWT, good), "ana", false},
		{"nobody in particular", signed, with(HeaderKey, key), "", true},
	} {
		w, got := ask(t, tt.o, tt.set)
		if want := (memory.Author{Kind: memory.ByPerson, Name: tt.user, Admin: tt.admin}); w.Code != http.StatusOK || got.identity.Author() != want {
			t.Errorf("%s: status %d, %+v; want %+v", tt.name, w.Code, got.identity.Author(), want)
		}
		ben := memory.User("default", "ben")
		if a := got.identity.AuthorOf(ben); a.Admin != (got.identity.Role == RoleAdmin) {
			t.Errorf("%s, in another's memory: %+v", tt.name, a)
		}
	}
}
