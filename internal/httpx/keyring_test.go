package httpx

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// stored returns a ring with a key of each role, and their texts by role.
func stored(t *testing.T) (*Keyring, map[memory.KeyRole]string, []memory.Key) {
	t.Helper()
	texts := map[memory.KeyRole]string{}
	var all []memory.Key
	for _, role := range []memory.KeyRole{memory.KeyAdmin, memory.KeyFront, memory.KeyUser} {
		user := ""
		if role == memory.KeyUser {
			user = "ana"
		}
		text, k, err := NewKey(memory.Key{Name: "a key", Role: role, User: user}, noon)
		if err != nil || strings.Contains(fmt.Sprintf("%+v", k), text) || len(text) < 40 {
			t.Fatalf("%q, %+v, %v", text, k, err)
		}
		texts[role] = text
		all = append(all, k)
	}
	var ring Keyring
	ring.Set(all)
	return &ring, texts, all
}

func TestStoredKeysOpenWhatTheirRoleMay(t *testing.T) {
	ring, texts, _ := stored(t)
	far := func(r *http.Request) { r.RemoteAddr = "203.0.113.9:1" }
	for name, test := range map[string]struct {
		options Options
		set     []string
		status  int
		role    Role
		owner   string
	}{
		"admin, default user":     {Options{Key: key}, []string{HeaderKey, texts[memory.KeyAdmin]}, 200, RoleAdmin, "default"},
		"admin names a user":      {Options{Key: key}, []string{HeaderKey, texts[memory.KeyAdmin], HeaderUser, "ben"}, 200, RoleAdmin, "ben"},
		"front names a user":      {Options{Key: key}, []string{"Authorization", "Bearer " + texts[memory.KeyFront], HeaderUser, "ben"}, 200, RoleUser, "ben"},
		"front, many, no user":    {Options{Key: key, MultiUser: true}, []string{HeaderKey, texts[memory.KeyFront]}, 200, RoleUser, ""},
		"user":                    {Options{Key: key}, []string{HeaderKey, texts[memory.KeyUser]}, 200, RoleUser, "ana"},
		"user names another":      {Options{Key: key}, []string{"X-Api-Key", texts[memory.KeyUser], HeaderUser, "ben", HeaderOpenWebUser, "ben"}, 200, RoleUser, "ana"},
		"without a server's key":  {Options{}, []string{HeaderKey, texts[memory.KeyUser]}, 200, RoleUser, "ana"},
		"wrong key":               {Options{Key: key}, []string{HeaderKey, texts[memory.KeyUser] + "x"}, 401, "", ""},
		"wrong key, none is set":  {Options{}, []string{HeaderKey, "x"}, 401, "", ""},
		"a hash is not a key":     {Options{Key: key}, []string{HeaderKey, strings.Repeat("0", 64)}, 401, "", ""},
		"two keys":                {Options{Key: key}, []string{HeaderKey, texts[memory.KeyUser], "Authorization", "Bearer " + texts[memory.KeyAdmin]}, 401, "", ""},
		"the same twice":          {Options{Key: key}, []string{HeaderKey, texts[memory.KeyUser], "Authorization", "Bearer " + texts[memory.KeyUser]}, 200, RoleUser, "ana"},
		"server's own":            {Options{Key: key}, []string{HeaderKey, key}, 200, RoleAdmin, "default"},
		"no key":                  {Options{Key: key}, nil, 401, "", ""},
		"a key of the upstream's": {Options{Key: key}, []string{HeaderKey, texts[memory.KeyUser], "Authorization", "Bearer sk-upstream"}, 200, RoleUser, "ana"},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.options
			o.Keys, o.Hosts = ring, []string{"localhost"}
			w, got := ask(t, o, func(r *http.Request) { far(r); with(test.set...)(r) })
			if w.Code != test.status || got.identity.Role != test.role || got.identity.Owner.Name() != test.owner && test.owner != "" || test.owner == "" && got.identity.Owner != "" {
				t.Fatalf("%d, %+v: %s", w.Code, got.identity, w.Body)
			}
			for _, text := range texts {
				if strings.Contains(fmt.Sprint(got.header, w.Header(), w.Body), text) {
					t.Error("the key went on, or came back")
				}
			}
			if name == "a key of the upstream's" && got.header.Get("Authorization") != "Bearer sk-upstream" {
				t.Errorf("the upstream's key is %q", got.header.Get("Authorization"))
			}
		})
	}
}

func TestUserOfABodyDoesNotReachPastAKey(t *testing.T) {
	ring, texts, _ := stored(t)
	_, got := ask(t, Options{Key: key, Keys: ring, MultiUser: true}, with(HeaderKey, texts[memory.KeyUser]))
	if id, err := got.identity.WithUser("ben"); err != nil || id.Owner.Name() != "ana" {
		t.Errorf("%+v, %v: want ana's memory", id, err)
	}
	_, got = ask(t, Options{Key: key, Keys: ring, MultiUser: true}, with(HeaderKey, texts[memory.KeyFront]))
	if id, err := got.identity.WithUser("ben"); err != nil || id.Owner.Name() != "ben" || id.Author().Admin {
		t.Errorf("%+v, %v: want a front end to name ben, as no admin", id, err)
	}
}

func TestRemovedKeyOpensNothing(t *testing.T) {
	ring, texts, all := stored(t)
	ring.Set(all[:2])
	if w, _ := ask(t, Options{Key: key, Keys: ring}, with(HeaderKey, texts[memory.KeyUser])); w.Code != 401 {
		t.Errorf("%d, want it refused", w.Code)
	}
	bad := all[2]
	bad.Role = "root"
	ring.Set([]memory.Key{bad, {Hash: "x", Name: "x", Role: memory.KeyAdmin}})
	if w, _ := ask(t, Options{Key: key, Keys: ring}, with(HeaderKey, texts[memory.KeyUser])); w.Code != 401 {
		t.Errorf("of a role that there is not: %d, want it refused", w.Code)
	}
}

// TestKeysOpenBehindMem0sPrefix sends keys as tools want them that take mem0's own alone.
func TestKeysOpenBehindMem0sPrefix(t *testing.T) {
	ring, texts, _ := stored(t)
	o := Options{Key: key, Keys: ring}.WithDefaults()
	for text, want := range map[string]Role{
		Mem0Prefix + texts[memory.KeyUser]: RoleUser, Mem0Prefix + key: RoleAdmin, Mem0Prefix: "", Mem0Prefix + Mem0Prefix + key: "", "m0" + key: "",
	} {
		r, _ := http.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "203.0.113.9:1"
		r.Header.Set("Authorization", "Token "+text)
		id, err := o.identify(r)
		if id.Role != want || (err == nil) != (want != "") {
			t.Errorf("%q: %+v, %v; want the role %q", text, id, err, want)
		}
		if want != "" && r.Header.Get("Authorization") != "" {
			t.Errorf("%q stays in the request", text)
		}
	}
}

func TestKeysThatCannotBeAreNotMade(t *testing.T) {
	for _, k := range []memory.Key{
		{Name: "", Role: memory.KeyAdmin}, {Name: "a\nb", Role: memory.KeyAdmin}, {Name: strings.Repeat("a", 101), Role: memory.KeyAdmin}, {Name: "a", Role: "root"},
		{Name: "a", Role: memory.KeyUser}, {Name: "a", Role: memory.KeyAdmin, User: "ana"}, {Name: "a", Role: memory.KeyUser, User: "a\x00"}, {Name: "a", Role: memory.KeyAdmin, Scope: "admin"},
		{Name: "a", Role: memory.KeyAdmin, ExpiresAt: noon},
	} {
		if _, _, err := NewKey(k, noon); err == nil {
			t.Errorf("%+v was made", k)
		}
	}
}
