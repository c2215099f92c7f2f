package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

const (
	// ssoCookie contains the values that the issuer's response must match, while a browser is at the issuer.
	ssoCookie = "loci_sso"

	// ssoTimeout is the maximum time of a sign-in at the issuer.
	ssoTimeout = 10 * time.Minute

	// ssoSessionTime is the lifetime of a session. The next sign-in asks the issuer again whether the user is an
	// admin.
	ssoSessionTime = 12 * time.Hour

	// issuerTimeout is the maximum time of each request to the issuer.
	issuerTimeout = 10 * time.Second
)

// Issuer signs people in by OpenID Connect, with the code flow and PKCE (RFC 7636). The issuer's metadata is read
// at the first sign-in, so that the server can start while the issuer is down.
type Issuer struct {
	URL, ClientID, Secret string
	UserClaim             string // claim with the user's name
	SSO                   httpx.SSO

	mu            sync.Mutex
	provider      *oidc.Provider // issuer's metadata; nil until the first sign-in
	endSessionURL string         // issuer's end_session_endpoint; "" if the issuer has none
}

// signInState is the state of a sign-in, stored in a cookie while the browser is at the issuer.
type signInState struct {
	State, Nonce, Verifier, Next string // Verifier is the code verifier of PKCE; Next is the path to show after the sign-in
}

// discoverProvider reads the issuer's metadata.
func (i *Issuer) discoverProvider() (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return i.provider, nil
	}
	// The provider uses the context's client later to fetch keys, so the context must outlive the request.
	ctx := oidc.ClientContext(context.Background(), &http.Client{Timeout: issuerTimeout})
	provider, err := oidc.NewProvider(ctx, i.URL)
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "the sign-in server's answer is invalid; try again, or sign in with a key: %w", err)
	}
	var metadata struct {
		End string `json:"end_session_endpoint"`
	}
	_ = provider.Claims(&metadata) // without the endpoint, signing out does not involve the issuer
	i.provider, i.endSessionURL = provider, metadata.End
	return provider, nil
}

// oauthFlow returns the OAuth configuration and the verifier of the issuer's tokens.
func (i *Issuer) oauthFlow(r *http.Request) (oauth2.Config, *oidc.IDTokenVerifier, error) {
	provider, err := i.discoverProvider()
	if err != nil {
		return oauth2.Config{}, nil, err
	}
	return oauth2.Config{
		ClientID: i.ClientID, ClientSecret: i.Secret, Endpoint: provider.Endpoint(), RedirectURL: serverOrigin(r) + "/signin/callback",
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, provider.Verifier(&oidc.Config{ClientID: i.ClientID}), nil
}

// serverOrigin returns the server's address as the browser sees it.
func serverOrigin(r *http.Request) string {
	scheme := "http"
	if httpx.IsSecure(r) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// startSSO redirects a browser to the issuer.
func (p *Page) startSSO(w http.ResponseWriter, r *http.Request) {
	flow, _, err := p.Issuer.oauthFlow(r)
	if err != nil {
		p.renderSSOError(w, r, r.FormValue("next"), err)
		return
	}
	state := signInState{oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), localPath(r.FormValue("next"))}
	text, _ := json.Marshal(state) // strings can always be encoded
	c := newCookie(r, ssoCookie, base64.RawURLEncoding.EncodeToString(text), ssoTimeout)
	c.SameSite = http.SameSiteLaxMode // the issuer sends the browser back from another site
	http.SetCookie(w, c)
	http.Redirect(w, r, flow.AuthCodeURL(state.State, oidc.Nonce(state.Nonce), oauth2.S256ChallengeOption(state.Verifier)), http.StatusSeeOther)
}

// finishSSO handles the request to which the issuer redirects the browser after the sign-in.
func (p *Page) finishSSO(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, newCookie(r, ssoCookie, "", -time.Second))
	state, signIn, err := p.Issuer.verifyCallback(r)
	if err == nil {
		err = p.recordAudit(r, "sign in", signIn.AuditName, signIn.User, "single sign-on")
	} else {
		_ = p.recordAudit(r, "sign in refused", "", "", "single sign-on")
	}
	if err == nil {
		err = p.openSession(w, r, signIn.SSOCredential(), "", ssoSessionTime)
	}
	if err != nil {
		p.renderSSOError(w, r, state.Next, err)
		return
	}
	p.redirectByPage(w, r, localPath(state.Next), "Signed in")
}

// renderSSOError shows the sign-in form with the reason of a failure.
func (p *Page) renderSSOError(w http.ResponseWriter, r *http.Request, next string, err error) {
	form, problem := p.newSignInForm(next, ""), httpx.LogProblem(r.Context(), err)
	form.Error = capitalize(problem.Detail) + "."
	p.renderSignIn(w, r, problem.Status, form)
}

// verifyCallback checks the issuer's response, which the browser brings, and returns the user.
func (i *Issuer) verifyCallback(r *http.Request) (state signInState, signIn httpx.SignIn, err error) {
	c, err := r.Cookie(ssoCookie)
	if err == nil {
		var text []byte
		if text, err = base64.RawURLEncoding.DecodeString(c.Value); err == nil {
			err = json.Unmarshal(text, &state)
		}
	}
	if err != nil || state.State == "" || state.State != r.FormValue("state") {
		return state, signIn, memory.Errorf(memory.Unauthorized, "this sign-in began in another browser or took longer than ten minutes: start again")
	}
	if code := r.FormValue("error"); code != "" {
		return state, signIn, memory.Errorf(memory.Unauthorized, "the sign-in server refused: %s", httpx.Truncate(code+" "+r.FormValue("error_description"), 200))
	}
	flow, verifier, err := i.oauthFlow(r)
	if err != nil {
		return state, signIn, err
	}
	ctx := oidc.ClientContext(r.Context(), &http.Client{Timeout: issuerTimeout})
	token, err := flow.Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(state.Verifier))
	if err != nil {
		return state, signIn, memory.Errorf(memory.Unauthorized, "the sign-in server returned no token: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	var claims map[string]any
	if err == nil {
		err = id.Claims(&claims)
	}
	if err != nil {
		return state, signIn, memory.Errorf(memory.Unauthorized, "the sign-in server's token is not valid: %w", err)
	}
	if id.Nonce != state.Nonce {
		return state, signIn, memory.Errorf(memory.Unauthorized, "the sign-in server's token belongs to another sign-in: start again")
	}
	user, _ := claims[i.UserClaim].(string)
	if !httpx.ValidUser(user) {
		return state, signIn, memory.Errorf(memory.Unauthorized, "the sign-in server's token does not name you: its claim %s (setting sso.user) is missing or not a valid user name", i.UserClaim)
	}
	if verified, is := claims["email_verified"].(bool); i.UserClaim == "email" && is && !verified {
		return state, signIn, memory.Errorf(memory.Forbidden, "the sign-in server has not verified your email address")
	}
	var groups []string
	all, _ := claims["groups"].([]any)
	for _, g := range all {
		if name, ok := g.(string); ok {
			groups = append(groups, name)
		}
	}
	return state, i.SSO.SignInFor(user, groups), nil
}

// signOutURL returns the address at which a browser signs out of the issuer, or "" if the session has no issuer.
func (i *Issuer) signOutURL(r *http.Request, credential string) string {
	if i == nil || !httpx.IsSSO(credential) {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.endSessionURL == "" {
		return ""
	}
	return i.endSessionURL + "?" + url.Values{"client_id": {i.ClientID}, "post_logout_redirect_uri": {serverOrigin(r) + "/signin"}}.Encode()
}

// redirectByPage shows a page that redirects the browser. After an HTTP redirect from another site, browsers
// would omit the session cookie; after a form, browsers would not follow a redirect to another site.
func (p *Page) redirectByPage(w http.ResponseWriter, r *http.Request, target, title string) {
	w.Header().Set("Refresh", "0;url="+target)
	p.render(w, r, http.StatusOK, "onward", layoutData{Title: title, Bare: true, Body: target})
}
