package rest

import (
	"net/http"
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
	r.guarded(httpx.Options{Key: "server", Keys: &ring})
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
		if w := r.as(c.as, "DELETE", "/api/users/"+c.who, "", httpx.HeaderKey, texts[c.role]); w.Code != c.want {
			t.Errorf("a key of the role %s as %q erases %s: status %d, want %d: %s", c.role, c.as, c.who, w.Code, c.want, w.Body)
		}
		if w := r.as(c.as, "POST", "/api/users/"+c.who+"/open", "", httpx.HeaderKey, texts[c.role]); (w.Code == http.StatusForbidden) != (c.want == http.StatusForbidden) {
			t.Errorf("a key of the role %s as %q opens %s: status %d: %s", c.role, c.as, c.who, w.Code, w.Body)
		}
	}
}
