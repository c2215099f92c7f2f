package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/loci-memory/loci/internal/httpx"
)

// issuer is a sign-in server that answers with whatever token a test wants.
type issuer struct {
	*httptest.Server
	key    *ecdsa.PrivateKey
	claims map[string]any // over those that are right
	sign   *ecdsa.PrivateKey
	nonce  string
	form   url.Values // of the last request for a token
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	i := &issuer{key: newKey()}
	i.sign = i.key
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			httpx.WriteJSON(w, http.StatusOK, map[string]any{
				"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
				"end_session_endpoint": i.URL + "/end", "id_token_signing_alg_values_supported": []string{oidc.ES256},
			})
		case "/token":
			_ = r.ParseForm()
			i.form = r.PostForm
			claims := map[string]any{"iss": i.URL, "aud": "loci", "sub": "ana", "nonce": i.nonce, "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"staff"}}
			maps.Copy(claims, i.claims)
			text, _ := json.Marshal(claims)
			httpx.WriteJSON(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": oidctest.SignIDToken(i.sign, "k", oidc.ES256, string(text))})
		default:
			keys.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(i.Close)
	keys.SetIssuer(i.URL)
	return i
}

// ssoRig is a page whose people sign in at an issuer.
func ssoRig(t *testing.T, issuer string) *rig {
	r := newRig(t, key)
	r.page.Issuer = &Issuer{URL: issuer, ClientID: "loci", UserClaim: "sub", SSO: httpx.SSO{Admins: []string{"group:operators"}}}
	r.guard()
	return r
}

// begin goes to the issuer and returns the way back.
func (r *rig) begin(i *issuer) string {
	r.t.Helper()
	w := r.get("/signin/sso?next=/profile")
	at, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusSeeOther || !strings.HasPrefix(at.String(), i.URL+"/auth?") || at.Query().Get("code_challenge_method") != "S256" {
		r.t.Fatalf("to the issuer: %d %s: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	i.nonce = at.Query().Get("nonce")
	return "/signin/callback?code=c&state=" + url.QueryEscape(at.Query().Get("state"))
}

func TestPeopleSignInAtTheIssuer(t *testing.T) {
	i := newIssuer(t)
	r := ssoRig(t, i.URL)
	r.fact("User hides the key under the blue flowerpot")
	r.shows("/signin", `href="/signin/sso?next=%2f"`)
	w := r.get(r.begin(i))
	if w.Code != http.StatusOK || w.Header().Get("Refresh") != "0;url=/profile" || i.form.Get("code_verifier") == "" {
		t.Fatalf("the way back: %d %v %v: %s", w.Code, w.Header(), i.form, w.Body)
	}
	r.shows("/", "flowerpot", ">ana<")
	if w := r.get("/settings"); strings.Contains(w.Body.String(), "Configuration of this server") {
		t.Error("a user is taken for an admin")
	}
	if w := r.post("/signout", nil); w.Header().Get("Refresh") == "" || !strings.HasPrefix(w.Header().Get("Refresh"), "0;url="+i.URL+"/end?client_id=loci&post_logout_redirect_uri=http") {
		t.Errorf("out: %v", w.Header())
	}
	if w := r.get("/"); w.Code != http.StatusSeeOther {
		t.Errorf("after it: %d", w.Code)
	}
	i.claims = map[string]any{"sub": "root", "groups": []string{"staff", "operators"}}
	r.get(r.begin(i))
	r.shows("/settings", "Configuration of this server", "Show this memory")
	r.sent("/switch", url.Values{"user": {"ana"}})
	r.shows("/", "flowerpot", ">ana<")
	r.sent("/switch", url.Values{"user": {""}})
	r.shows("/", ">root<")
}

func TestWrongAnswersOfAnIssuerSignNobodyIn(t *testing.T) {
	forged, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		set  func(*issuer)
		path string // "": the way back
		says string
	}{
		"expired":        {set: func(i *issuer) { i.claims = map[string]any{"exp": time.Now().Add(-time.Hour).Unix()} }, says: "not valid"},
		"forged":         {set: func(i *issuer) { i.sign = forged }, says: "not valid"},
		"of another":     {set: func(i *issuer) { i.claims = map[string]any{"aud": "another"} }, says: "not valid"},
		"replayed":       {set: func(i *issuer) { i.claims = map[string]any{"nonce": "another"} }, says: "belongs to another sign-in"},
		"nameless":       {set: func(i *issuer) { i.claims = map[string]any{"sub": ""} }, says: "does not name you"},
		"begun nowhere":  {path: "/signin/callback?code=c&state=x", says: "began in another browser"},
		"refused there":  {set: func(*issuer) {}, path: "&error=access_denied", says: "access_denied"},
		"not as a name":  {set: func(i *issuer) { i.claims = map[string]any{"sub": "a\x00b"} }, says: "does not name you"},
		"of no verified": {set: func(i *issuer) { i.claims = map[string]any{"email": "a@b.c", "email_verified": false} }, says: "not verified your email address"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			r := ssoRig(t, i.URL)
			if name == "of no verified" {
				r.page.Issuer.UserClaim = "email"
			}
			path := test.path
			if test.set != nil {
				path = r.begin(i) + test.path
				test.set(i)
			}
			w := r.get(path)
			if w.Code < 400 || !strings.Contains(w.Body.String(), test.says) {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
			if w := r.get("/"); w.Code != http.StatusSeeOther {
				t.Errorf("after it the page is open: %d", w.Code)
			}
		})
	}
}

func TestAnIssuerThatIsAwayKeepsNobodyOut(t *testing.T) {
	i := newIssuer(t)
	i.Close()
	r := ssoRig(t, i.URL)
	if w := r.get("/signin/sso"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "sign in with a key") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if to := r.sent("/signin", url.Values{"key": {key}, "user": {"ana"}}); to != "/" {
		t.Errorf("with a key it leads to %q", to)
	}
}
