package assembly

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// frontEnd is a server with a key, and a front end that sends it requests of its users.
type frontEnd struct {
	t    *testing.T
	loci *Loci
}

const frontKey = "secret-1-0123456789"

func newFrontEnd(t *testing.T, settings ...string) *frontEnd {
	t.Helper()
	l := openAt(t, settingsAt(t, t.TempDir(), append([]string{"users", "multi", "api_key", frontKey}, settings...)...))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closed(t, l)
	})
	return &frontEnd{t, l}
}

// ask sends a request with headers and returns the answer.
func (f *frontEnd) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.loci.Handler().ServeHTTP(w, r)
	return w
}

// says has a user say something in a chat, and waits until it is learned from.
func (f *frontEnd) says(chat, words string, headers ...string) {
	f.t.Helper()
	body := try(json.Marshal(map[string]any{"model": "loci/recall", "messages": []map[string]string{{"role": "user", "content": words}}})).orFail(f.t)
	headers = append([]string{"X-Loci-Key", frontKey, "X-OpenWebUI-Chat-Id", chat}, headers...)
	if w := f.ask(http.MethodPost, "/v1/chat/completions", string(body), headers...); w.Code != http.StatusOK {
		f.t.Fatalf("chat: %d %s", w.Code, w.Body)
	}
	f.loci.engine.Close() // what the chat left to be done beside it
	noError(f.t)(f.loci.runner.Drain(f.t.Context()))
}

// known returns what a user's memory holds, turns and facts, as the API lists it.
func (f *frontEnd) known(user string) string {
	f.t.Helper()
	w := f.ask(http.MethodGet, "/api/memory?kind=turn,fact", "", "X-Loci-Key", frontKey, "X-OpenWebUI-User-Id", user)
	if w.Code != http.StatusOK {
		f.t.Fatalf("list: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// TestAChatIsDeletedByItsFrontEndsID with what it alone taught; that can be undone, and touches
// no other chat or user.
func TestAChatIsDeletedByItsFrontEndsID(t *testing.T) {
	const chat = "6f1c7d0e-1b1a-4a43-9d3e-0d6f0a3f9a11"
	f := newFrontEnd(t)
	ana, ben := []string{"X-OpenWebUI-User-Id", "ana"}, []string{"X-OpenWebUI-User-Id", "ben"}
	f.says("another", "I live in Lisbon.", ana...)
	f.says("another", "I live in Lisbon.", ben...)
	f.says(chat, "I live in Lisbon. I am allergic to kiwis.", ana...)
	if before := f.known("ana"); strings.Count(before, "kiwis") < 2 {
		t.Fatalf("before: %s; want the turn and the fact", before)
	}

	key := []string{"X-Loci-Key", frontKey}
	if w := f.ask(http.MethodDelete, "/api/chats/"+chat+"?facts=true", "", append(key, ben...)...); w.Code != http.StatusNotFound {
		t.Errorf("another user's chat: %d %s", w.Code, w.Body)
	}
	w := f.ask(http.MethodDelete, "/api/chats/"+chat+"?facts=true", "", append(key, ana...)...)
	var receipt struct{ Run string }
	if err := json.Unmarshal(w.Body.Bytes(), &receipt); err != nil || w.Code != http.StatusOK || receipt.Run == "" {
		t.Fatalf("delete: %d %s", w.Code, w.Body)
	}
	if after := f.known("ana"); strings.Contains(after, "kiwis") || !strings.Contains(after, "Lisbon") {
		t.Errorf("after: %s; want what the other chat taught, too, and nothing else", after)
	}
	if w := f.ask(http.MethodPost, "/api/changes/undo", `{"run":"`+receipt.Run+`"}`, append(key, ana...)...); w.Code >= 300 {
		t.Fatalf("undo: %d %s", w.Code, w.Body)
	}
	if back := f.known("ana"); strings.Count(back, "kiwis") < 2 {
		t.Errorf("after undo: %s", back)
	}
}

// userToken is a token as Open WebUI signs it: with sub in the header for a server, with id in
// its own session.
func userToken(secret, claims string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + b64([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}

// TestASignedTokenOpensItsUsersPage and no other: from the header or Open WebUI's cookie, where
// the secret is known, with or without Loci's own key set.
func TestASignedTokenOpensItsUsersPage(t *testing.T) {
	const secret, uuid = "s3cret", "0b7c6c9a-7f0e-4b1b-8f44-d9a0b9a6a001"
	soon := fmt.Sprint(time.Now().Add(time.Hour).Unix())
	header, session := userToken(secret, `{"sub":"`+uuid+`","name":"Ana Sousa","exp":`+soon+`}`), userToken(secret, `{"id":"`+uuid+`","exp":`+soon+`}`)
	forged, late := userToken("other", `{"id":"`+uuid+`","exp":`+soon+`}`), userToken(secret, `{"id":"`+uuid+`","exp":1}`)
	f := newFrontEnd(t, "jwt_secret", secret)
	f.says("c1", "I am allergic to kiwis.", "X-OpenWebUI-User-Jwt", header)
	f.says("c2", "I live in Lisbon.", "X-OpenWebUI-User-Id", "ben", "X-OpenWebUI-User-Name", "Ben%20N%C3%BA%C3%B1ez")
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"header":           {[]string{"X-OpenWebUI-User-Jwt", header}, http.StatusOK},
		"cookie":           {[]string{"Cookie", "token=" + session}, http.StatusOK},
		"names another":    {[]string{"Cookie", "token=" + session, "X-Loci-User", "ben", "X-OpenWebUI-User-Id", "ben"}, http.StatusOK},
		"forged cookie":    {[]string{"Cookie", "token=" + forged}, http.StatusSeeOther},
		"expired cookie":   {[]string{"Cookie", "token=" + late}, http.StatusSeeOther},
		"another's cookie": {[]string{"Cookie", "token=hello"}, http.StatusSeeOther},
		"nothing":          {nil, http.StatusSeeOther},
	} {
		w := f.ask(http.MethodGet, "/", "", append([]string{"Accept", "text/html"}, c.headers...)...)
		page := w.Body.String()
		if w.Code != c.status || strings.Contains(page, "kiwis") != (c.status == http.StatusOK) || strings.Contains(page, "Lisbon") {
			t.Errorf("%s: status %d, want %d, with the user's memory alone:\n%s", name, w.Code, c.status, page)
		}
		if c.status != http.StatusOK {
			continue
		}
		if !strings.Contains(page, "Ana Sousa") {
			t.Errorf("%s: the page does not say whose it is", name)
		}
		if settings := f.ask(http.MethodGet, "/settings", "", c.headers...).Body.String(); strings.Contains(settings, "Ben") || strings.Contains(settings, "Configuration of this server") {
			t.Errorf("%s: the user is shown what is an admin's", name)
		}
	}
	cookie := []string{"Cookie", "token=" + session}
	if w := f.ask(http.MethodGet, "/api/memory", "", cookie...); w.Code != http.StatusUnauthorized {
		t.Errorf("the cookie opens /api: %d", w.Code)
	}
	if w := f.ask(http.MethodPost, "/settings", "pause=memory", append(cookie, "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")...); w.Code != http.StatusForbidden {
		t.Errorf("another site's form: %d", w.Code)
	}
	open := newFrontEnd(t, "jwt_secret", secret, "api_key", "")
	if w := open.ask(http.MethodGet, "/settings", "", cookie...); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Configuration of this server") {
		t.Errorf("without api_key: %d, or the user is an admin", w.Code)
	}
}

// TestAdminsSeeNamesOfUsers as a front end that is trusted tells them, and users do not. They go
// when the user is erased, and a chat that leaves nothing leaves no name.
func TestAdminsSeeNamesOfUsers(t *testing.T) {
	const uuid = "0b7c6c9a-7f0e-4b1b-8f44-d9a0b9a6a001"
	f := newFrontEnd(t)
	admin := []string{"X-Loci-Key", frontKey}
	f.says("c1", "I live in Lisbon.", "X-OpenWebUI-User-Id", uuid, "X-OpenWebUI-User-Name", "Ana%20Sousa")
	f.says("c2", "I live in Faro.", "X-OpenWebUI-User-Id", "ben")
	f.says("temporary:c3", "I live in Faro.", "X-OpenWebUI-User-Id", "carl", "X-OpenWebUI-User-Name", "Carl")
	list := func() string {
		t.Helper()
		w := f.ask(http.MethodGet, "/api/users", "", admin...)
		if w.Code != http.StatusOK {
			t.Fatalf("list users: %d %s", w.Code, w.Body)
		}
		return strings.TrimSpace(w.Body.String())
	}
	if got, want := list(), `{"users":[{"user":"`+uuid+`","name":"Ana Sousa"},{"user":"ben"}]}`; got != want {
		t.Errorf("users: %s, want %s", got, want)
	}
	w := f.ask(http.MethodGet, "/api/users?limit=1", "", admin...)
	if !strings.Contains(w.Body.String(), `"next_cursor":"`+uuid+`"`) {
		t.Errorf("a page of one: %s", w.Body)
	}
	if w := f.ask(http.MethodGet, "/api/users?cursor="+uuid, "", admin...); strings.Contains(w.Body.String(), uuid) || !strings.Contains(w.Body.String(), "ben") {
		t.Errorf("the next page: %s", w.Body)
	}
	f.says("c1", "I moved.", "X-OpenWebUI-User-Id", uuid, "X-OpenWebUI-User-Name", "Ana Silva\n")
	if got := list(); !strings.Contains(got, `"name":"Ana Silva"`) {
		t.Errorf("after another name: %s", got)
	}
	page := f.ask(http.MethodGet, "/settings", "", append(admin, "X-Loci-User", "ben")...).Body.String()
	if !strings.Contains(page, "Ana Silva") || !strings.Contains(page, uuid) {
		t.Error("the page shows no names of users")
	}
	if w := f.ask(http.MethodDelete, "/api/users/"+uuid, "", admin...); w.Code != http.StatusOK {
		t.Fatalf("erase: %d %s", w.Code, w.Body)
	}
	if got := list(); strings.Contains(got, "Silva") || !strings.Contains(got, `"closed":true`) {
		t.Errorf("after the user was erased: %s", got)
	}
}

// TestWhoAsksStaysFromTheUpstream on every path under /v1, also where a refused request is sent
// again, unless it is set otherwise. What is Loci's own and what proxies say never goes on.
func TestWhoAsksStaysFromTheUpstream(t *testing.T) {
	personal := []string{
		"X-OpenWebUI-User-Name", "Ana%20Sousa", "X-OpenWebUI-User-Email", "ana@example.org", "X-OpenWebUI-User-Role", "admin",
		"X-OpenWebUI-User-Jwt", "a.b.c", "X-OpenWebUI-Chat-Id", "c1",
	}
	own := []string{"X-Loci-User", "ana", "X-Loci-Task", "", "X-Forwarded-For", "192.0.2.7", "X-Forwarded-User", "ana", "Forwarded", "for=192.0.2.7", "Remote-User", "ana", "X-Auth-Request-Email", "ana@example.org"}
	for _, passes := range []bool{false, true} {
		var mu sync.Mutex
		var got []*http.Request
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r)
			w.WriteHeader(http.StatusBadRequest)
		}))
		defer upstream.Close()
		keep := ""
		if passes {
			keep = "-X-OpenWebUI-*"
		}
		f := newFrontEnd(t, "learn.model", "none", "upstream.url", upstream.URL+"/v1", "forward.drop", keep)
		key := []string{"X-Loci-Key", frontKey}
		if w := f.ask(http.MethodPost, "/api/memory", `{"content":"User drinks oolong tea"}`, append(key, "X-Loci-User", "ana")...); w.Code >= 300 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		headers := slices.Concat(key, personal, own)
		f.ask(http.MethodPost, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Which tea do I drink?"}]}`, headers...)
		f.ask(http.MethodPost, "/v1/embeddings", `{"model":"m","input":"tea"}`, headers...)
		f.ask(http.MethodGet, "/v1/models", "", headers...)
		f.ask(http.MethodGet, "/v1/files", "", headers...)
		if len(got) != 5 { // the chat twice
			t.Fatalf("the upstream was asked %d times, want 5", len(got))
		}
		for _, r := range got {
			for i := 0; i < len(personal); i += 2 {
				if has := r.Header.Get(personal[i]) != ""; has != passes {
					t.Errorf("%s: %s reached the upstream: %v, want %v", r.URL.Path, personal[i], has, passes)
				}
			}
			for name := range r.Header {
				if strings.HasPrefix(name, "X-Loci-") || strings.HasPrefix(name, "X-Forwarded-") || slices.Contains([]string{"Forwarded", "Remote-User", "X-Auth-Request-Email"}, name) {
					t.Errorf("%s: %s reached the upstream", r.URL.Path, name)
				}
			}
		}
	}
}
