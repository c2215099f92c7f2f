package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const guardKey = "the-key-of-a-server-under-attack"

// TestGuardHostsNeedAKey starts a server that is reached by a name, without a key.
func TestGuardHostsNeedAKey(t *testing.T) {
	for _, setting := range []string{"LOCI_HOSTS=memory.example.org", "LOCI_PROXIES=127.0.0.1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		serve := exec.CommandContext(ctx, binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
		serve.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), setting}
		out, err := serve.CombinedOutput()
		started := ctx.Err() != nil
		cancel()
		name, _, _ := strings.Cut(setting, "=")
		t.Logf("%s without a key: started %v, %v: %.200s", name, started, err, out)
		if started || err == nil {
			t.Errorf("%s without a key: the server started", name)
		}
		for _, want := range []string{strings.ToLower(strings.TrimPrefix(name, "LOCI_")), "LOCI_API_KEY"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s without a key: the error does not name %s: %s", name, want, out)
			}
		}
	}
}

var guardPaths = []string{"/", "/api/memory", "/api/export", "/api/keys", "/metrics", "/health", "/v1/models", "/settings", "/signin"}

// TestGuardProxyInFront puts reverse proxies before a server without a key: each request
// comes from loopback and is a stranger's all the same.
func TestGuardProxyInFront(t *testing.T) {
	s := start(t, t.TempDir())
	if status, body := s.do(http.MethodPost, "/api/memory", `{"content":"Ana hides the key under the flowerpot"}`, nil); status != http.StatusCreated {
		t.Fatalf("status %d: %s", status, body)
	}
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	forwarding := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.SetXForwarded()
	}})
	defer forwarding.Close()
	open, asked := 0, 0
	for _, path := range guardPaths {
		resp, err := http.Get(forwarding.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		guardRefused(t, "a proxy that says so", path, resp, &open)
		resp = guardOldHTTP(t, target.Host, path)
		guardRefused(t, "a proxy that says nothing", path, resp, &open)
		asked += 2
	}
	for _, header := range []string{"Forwarded", "Via", "X-Real-Ip", "X-Forwarded-Host", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip"} {
		req, err := http.NewRequest(http.MethodGet, s.url+"/api/memory", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, "192.0.2.1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		guardRefused(t, header, "/api/memory", resp, &open)
		asked++
	}
	if status, body := s.do(http.MethodGet, "/api/memory", "", nil); status != http.StatusOK || !strings.Contains(body, "flowerpot") {
		t.Errorf("the owner at the machine itself: status %d: %s", status, body)
	}
	t.Logf("%d of %d requests through a proxy were answered", open, asked)
}

func guardRefused(t *testing.T, by, path string, resp *http.Response, open *int) {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusForbidden {
		*open++
		t.Errorf("%s, GET %s: status %d, want 403: %.100s", by, path, resp.StatusCode, body)
	} else if !strings.Contains(string(body), "LOCI_API_KEY") {
		t.Errorf("%s, GET %s: the answer does not name what is missing: %s", by, path, body)
	}
}

// guardOldHTTP asks in the way of an nginx without settings: HTTP/1.0, the upstream's own
// name as host, and no header about the client.
func guardOldHTTP(t *testing.T, host, path string) *http.Response {
	t.Helper()
	conn, err := net.DialTimeout("tcp", host, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// guardBrowser sends a request as a browser does, with a session's cookie if there is one.
func guardBrowser(t *testing.T, s *server, method, path string, form url.Values, session string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if session != "" {
		req.AddCookie(&http.Cookie{Name: "loci_session", Value: session})
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// guardSignIn returns the cookie of a new session.
func guardSignIn(t *testing.T, s *server, headers ...string) *http.Cookie {
	t.Helper()
	resp := guardBrowser(t, s, http.MethodPost, "/signin", url.Values{"key": {guardKey}}, "", headers...)
	for _, c := range resp.Cookies() {
		if c.Name == "loci_session" && c.Value != "" {
			return c
		}
	}
	t.Fatalf("sign in: status %d, cookies %v", resp.StatusCode, resp.Cookies())
	return nil
}

// TestGuardCopiedCookie takes a browser's cookie and uses it after the browser signed out,
// after a restart, and after the server's key changed.
func TestGuardCopiedCookie(t *testing.T) {
	data := t.TempDir()
	s := start(t, data, "LOCI_API_KEY="+guardKey)
	status := func(session string) int { return guardBrowser(t, s, http.MethodGet, "/", nil, session).StatusCode }
	left, kept := guardSignIn(t, s), guardSignIn(t, s)
	if status(left.Value) != http.StatusOK || status(kept.Value) != http.StatusOK {
		t.Fatal("signed in, and the page is not there")
	}
	guardBrowser(t, s, http.MethodPost, "/signout", nil, left.Value)
	after := status(left.Value)
	t.Logf("a copied cookie after sign-out: status %d (200: it still opens the page)", after)
	if after == http.StatusOK {
		t.Error("the cookie opens the page after sign-out")
	}
	s.stop()
	s = start(t, data, "LOCI_API_KEY="+guardKey)
	if got := status(kept.Value); got != http.StatusOK {
		t.Errorf("another session, after a restart: status %d", got)
	}
	if status(left.Value) == http.StatusOK {
		t.Error("the cookie that was signed out opens the page after a restart")
	}
	s.stop()
	s = start(t, data, "LOCI_API_KEY=another-"+guardKey)
	if status(kept.Value) == http.StatusOK {
		t.Error("a session outlives the key that it was opened with")
	}
}

// TestGuardSecureCookie signs in behind a proxy that ends TLS, and as somebody who only
// claims to be one.
func TestGuardSecureCookie(t *testing.T) {
	s := start(t, t.TempDir(), "LOCI_API_KEY="+guardKey, "LOCI_PROXIES=127.0.0.1")
	if c := guardSignIn(t, s, "X-Forwarded-Proto", "https", "X-Forwarded-For", "192.0.2.7"); !c.Secure {
		t.Error("a trusted proxy says https, and the cookie goes over plain HTTP as well")
	}
	if c := guardSignIn(t, s); c.Secure {
		t.Error("without TLS the cookie is Secure: the browser would drop it")
	}
	other := start(t, t.TempDir(), "LOCI_API_KEY="+guardKey, "LOCI_PROXIES=192.0.2.1")
	if c := guardSignIn(t, other, "X-Forwarded-Proto", "https"); c.Secure {
		t.Error("anybody says https and is believed")
	}
}

// TestGuardHostileUpstream lets a model server answer with a web page, cookies and headers
// that only Loci may set.
func TestGuardHostileUpstream(t *testing.T) {
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Set-Cookie", "loci_session=theirs; Path=/")
		w.Header().Set("X-Loci-Trace", "theirs")
		w.Header().Set("X-Loci-Request-Id", "theirs")
		w.Header().Set("X-Ratelimit-Remaining", "7")
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<script>fetch("/api/export")</script>`)
	}))
	defer evil.Close()
	s := start(t, t.TempDir(), "LOCI_UPSTREAM_URL="+evil.URL+"/v1")
	bad := 0
	for _, ask := range [][3]string{
		{http.MethodGet, "/v1/page.html", ""}, {http.MethodGet, "/v1/models", ""}, {http.MethodGet, "/v1/models/m", ""},
		{http.MethodPost, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`},
		{http.MethodPost, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`},
		{http.MethodPost, "/v1/embeddings", `{"model":"m","input":"hello"}`},
	} {
		req, err := http.NewRequest(ask[0], s.url+ask[1], strings.NewReader(ask[2]))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		h := resp.Header
		if h.Get("Set-Cookie") != "" || h.Get("X-Loci-Trace") == "theirs" || h.Get("X-Loci-Request-Id") == "theirs" ||
			h.Get("Content-Security-Policy") != "sandbox" || h.Get("X-Content-Type-Options") != "nosniff" {
			bad++
			t.Errorf("%s %s: %v", ask[0], ask[1], h)
		}
		if h.Get("X-Ratelimit-Remaining") != "7" {
			t.Errorf("%s %s: a header of the upstream's own is gone", ask[0], ask[1])
		}
	}
	t.Logf("%d of 6 forwarded answers acted in Loci's name", bad)
}
