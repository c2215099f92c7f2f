package httpx

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// TestAProxyThatSignsPeopleInNamesThem: its header counts from its own address alone, makes nobody
// an admin who is not listed, and reaches no handler.
func TestAProxyThatSignsPeopleInNamesThem(t *testing.T) {
	o := Options{
		Key: key, MultiUser: true, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		SSO: SSO{UserHeader: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups", Admins: []string{"root", "group:operators"}},
	}
	for name, test := range map[string]struct {
		from   string
		set    []string
		status int
		role   Role
		owner  memory.Owner
	}{
		"a user":                {"10.1.2.3:4", []string{"X-Forwarded-User", "ana"}, 200, RoleUser, memory.User("default", "ana")},
		"who cannot switch":     {"10.1.2.3:4", []string{"X-Forwarded-User", "ana", HeaderUser, "ben"}, 200, RoleUser, memory.User("default", "ana")},
		"an admin":              {"10.1.2.3:4", []string{"X-Forwarded-User", "root"}, 200, RoleAdmin, memory.User("default", "root")},
		"an admin by group":     {"10.1.2.3:4", []string{"X-Forwarded-User", "ben", "X-Forwarded-Groups", "staff, operators"}, 200, RoleAdmin, memory.User("default", "ben")},
		"an admin who looks":    {"10.1.2.3:4", []string{"X-Forwarded-User", "root", HeaderUser, "ana"}, 200, RoleAdmin, memory.User("default", "ana")},
		"from elsewhere":        {"203.0.113.9:1", []string{"X-Forwarded-User", "root"}, 401, "", ""},
		"nobody":                {"10.1.2.3:4", nil, 401, "", ""},
		"a header left unset":   {"10.1.2.3:4", []string{"X-Forwarded-User", "{http.reverse_proxy.header.X-Forwarded-User}"}, 401, "", ""},
		"a name that cannot be": {"10.1.2.3:4", []string{"X-Forwarded-User", "a\x01b"}, 400, "", ""},
	} {
		w, got := ask(t, o, func(r *http.Request) { with(test.set...)(r); r.RemoteAddr = test.from })
		if w.Code != test.status || test.status == 200 && (got.header.Get("X-Forwarded-User") != "" || got.identity.Role != test.role || got.identity.Owner != test.owner) {
			t.Errorf("%s: %d, %+v", name, w.Code, got)
		}
	}
}
