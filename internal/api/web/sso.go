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
	// ssoCookie holds, while a browser is at the issuer, what its answer has to fit.
	ssoCookie = "loci_sso"

	// ssoWait is how long somebody may take there.
	ssoWait = 10 * time.Minute

	// ssoSession is how long such a session lasts: then the issuer is asked again who is an admin.
	ssoSession = 12 * time.Hour

	// issuerTime bounds each request to the issuer.
	issuerTime = 10 * time.Second
)

// Issuer signs people in by OpenID Connect, with the code flow and PKCE (RFC 7636). It is asked
// what it offers when somebody first signs in, so that it may be away at the start.
type Issuer struct {
	URL, ClientID, Secret string
	User                  string // the claim with the user's name
	SSO                   httpx.SSO

	mu       sync.Mutex
	provider *oidc.Provider // nil: not asked yet
	end      string         // its end_session_endpoint; "": none
}

// trip is what a browser takes along to the issuer.
type trip struct {
	State, Nonce, Verifier, Next string
}

// discover returns what the issuer offers.
func (i *Issuer) discover() (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return i.provider, nil
	}
	// The provider keeps the context's client for its keys, so it is of no request.
	ctx := oidc.ClientContext(context.Background(), &http.Client{Timeout: issuerTime})
	provider, err := oidc.NewProvider(ctx, i.URL)
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "the sign-in server does not answer as it should; try again, or sign in with a key: %w", err)
	}
	var offers struct {
		End string `json:"end_session_endpoint"`
	}
	_ = provider.Claims(&offers) // without one there is nothing to end
	i.provider, i.end = provider, offers.End
	return provider, nil
}

// flow returns how the issuer is asked, and what verifies its tokens.
func (i *Issuer) flow(r *http.Request) (oauth2.Config, *oidc.IDTokenVerifier, error) {
	provider, err := i.discover()
	if err != nil {
		return oauth2.Config{}, nil, err
	}
	return oauth2.Config{
		ClientID: i.ClientID, ClientSecret: i.Secret, Endpoint: provider.Endpoint(), RedirectURL: origin(r) + "/signin/callback",
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, provider.Verifier(&oidc.Config{ClientID: i.ClientID}), nil
}

// origin is the server as the browser knows it.
func origin(r *http.Request) string {
	scheme := "http"
	if httpx.Secure(r) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// signInBySSO sends a browser to the issuer.
func (p *Page) signInBySSO(w http.ResponseWriter, r *http.Request) {
	flow, _, err := p.Issuer.flow(r)
	if err != nil {
		p.ssoFailed(w, r, r.FormValue("next"), err)
		return
	}
	t := trip{oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), local(r.FormValue("next"))}
	text, _ := json.Marshal(t) // strings always marshal
	c := cookie(r, ssoCookie, base64.RawURLEncoding.EncodeToString(text), ssoWait)
	c.SameSite = http.SameSiteLaxMode // the issuer sends the browser back from another site
	http.SetCookie(w, c)
	http.Redirect(w, r, flow.AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)), http.StatusSeeOther)
}

// signedInBySSO takes what the issuer sent a browser back with.
func (p *Page) signedInBySSO(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, ssoCookie, "", -time.Second))
	t, in, err := p.Issuer.verify(r)
	if err == nil {
		err = p.note(r, "sign in", in.By, in.User, "single sign-on")
	} else {
		_ = p.note(r, "sign in refused", "", "", "single sign-on")
	}
	if err == nil {
		err = p.openSession(w, r, in.SessionBy(), "", ssoSession)
	}
	if err != nil {
		p.ssoFailed(w, r, t.Next, err)
		return
	}
	p.onward(w, r, local(t.Next), "Signed in")
}

// ssoFailed asks to sign in again and says what was wrong.
func (p *Page) ssoFailed(w http.ResponseWriter, r *http.Request, next string, err error) {
	form, problem := p.signinForm(next, ""), httpx.Tell(r.Context(), err)
	form.Wrong = capital(problem.Detail) + "."
	p.askAgain(w, r, problem.Status, form)
}

// verify checks the issuer's answer and returns who it says it is.
func (i *Issuer) verify(r *http.Request) (t trip, in httpx.SignIn, err error) {
	c, err := r.Cookie(ssoCookie)
	if err == nil {
		var text []byte
		if text, err = base64.RawURLEncoding.DecodeString(c.Value); err == nil {
			err = json.Unmarshal(text, &t)
		}
	}
	if err != nil || t.State == "" || t.State != r.FormValue("state") {
		return t, in, memory.Errorf(memory.Unauthorized, "this sign-in was begun elsewhere, or took longer than ten minutes: begin again")
	}
	if code := r.FormValue("error"); code != "" {
		return t, in, memory.Errorf(memory.Unauthorized, "the sign-in server refused: %s", httpx.Brief(code+" "+r.FormValue("error_description"), 200))
	}
	flow, verifier, err := i.flow(r)
	if err != nil {
		return t, in, err
	}
	ctx := oidc.ClientContext(r.Context(), &http.Client{Timeout: issuerTime})
	token, err := flow.Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return t, in, memory.Errorf(memory.Unauthorized, "the sign-in server gave no token: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	var claims map[string]any
	if err == nil {
		err = id.Claims(&claims)
	}
	if err != nil {
		return t, in, memory.Errorf(memory.Unauthorized, "the sign-in server's token is not valid: %w", err)
	}
	if id.Nonce != t.Nonce {
		return t, in, memory.Errorf(memory.Unauthorized, "the sign-in server's token is of another sign-in: begin again")
	}
	user, _ := claims[i.User].(string)
	if !httpx.ValidUser(user) {
		return t, in, memory.Errorf(memory.Unauthorized, "the sign-in server does not say who you are: its token has no %s that is a user's name (setting sso.user)", i.User)
	}
	if verified, is := claims["email_verified"].(bool); i.User == "email" && is && !verified {
		return t, in, memory.Errorf(memory.Forbidden, "the sign-in server has not verified that address")
	}
	var groups []string
	all, _ := claims["groups"].([]any)
	for _, g := range all {
		if name, ok := g.(string); ok {
			groups = append(groups, name)
		}
	}
	return t, i.SSO.Of(user, groups), nil
}

// endOf returns where a browser signs out of the issuer, "" where the session was not by it.
func (i *Issuer) endOf(r *http.Request, by string) string {
	if i == nil || !httpx.IsSSO(by) {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.end == "" {
		return ""
	}
	return i.end + "?" + url.Values{"client_id": {i.ClientID}, "post_logout_redirect_uri": {origin(r) + "/signin"}}.Encode()
}

// onward shows a page that goes on to another. After a redirect from another site a browser would
// leave out the session's cookie, and after a form it follows none to another site.
func (p *Page) onward(w http.ResponseWriter, r *http.Request, to, title string) {
	w.Header().Set("Refresh", "0;url="+to)
	p.render(w, r, http.StatusOK, "onward", frame{Title: title, Bare: true, Body: to})
}
