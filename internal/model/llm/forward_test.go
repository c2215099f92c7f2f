package llm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	pathpkg "path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

// arrived is a request that reached the upstream.
type arrived struct {
	method, uri, host, body string
	header                  http.Header
	length                  int64
	encoding                []string
}

// upstream starts a server that records requests and answers with h.
func upstream(t *testing.T, h http.HandlerFunc) (*httptest.Server, <-chan arrived) {
	t.Helper()
	got := make(chan arrived, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = append(body, []byte("!"+err.Error())...)
		}
		got <- arrived{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone(), r.ContentLength, r.TransferEncoding}
		if h != nil {
			h(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv, got
}

func forwarder(t *testing.T, url, key string) *Forwarder {
	t.Helper()
	f, err := NewForwarder(Options{BaseURL: url + "/v1", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// send forwards a request and reads the whole answer.
func send(t *testing.T, f *Forwarder, method, path string, header http.Header, body io.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := f.Do(t.Context(), method, path, header, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(got)
}

func TestForwardedBytesAreTheClients(t *testing.T) {
	srv, got := upstream(t, nil)
	const body = "{ \"n\":1e400,\n\"s\":\"\\u2028\" , \"n\": 12345678901234567890 }\n"
	header := http.Header{"Content-Type": {"application/json"}, "X-Custom": {"a", "b"}, "User-Agent": {"client/1"}, "Content-Length": {"3"}}
	send(t, forwarder(t, srv.URL, ""), http.MethodPost, "chat/completions?stream=%2F&x=1", header, bytes.NewReader([]byte(body)))
	a := <-got
	if a.method != http.MethodPost || a.uri != "/v1/chat/completions?stream=%2F&x=1" || a.body != body || a.length != int64(len(body)) || a.host != strings.TrimPrefix(srv.URL, "http://") {
		t.Errorf("arrived %+v; want the client's own bytes at the upstream's address", a)
	}
	want := http.Header{"Content-Type": {"application/json"}, "X-Custom": {"a", "b"}, "User-Agent": {"client/1"}, "Content-Length": {fmt.Sprint(len(body))}}
	if diff := cmp.Diff(want, a.header); diff != "" {
		t.Errorf("headers that arrived (-want +got):\n%s", diff)
	}
	if header.Get("Content-Length") != "3" {
		t.Error("the client's header was changed")
	}
}

func TestHeadersThatEndAtLoci(t *testing.T) {
	srv, got := upstream(t, nil)
	header := http.Header{
		"X-Loci-Key": {"loci"}, "X-Loci-User": {"ana"}, "x-loci-id": {"1"}, "Cookie": {"session=1"},
		"Connection": {"keep-alive, X-Hop"}, "X-Hop": {"1"}, "Keep-Alive": {"5"}, "Te": {"trailers"}, "Expect": {"100-continue"},
		"Proxy-Authorization": {"Basic x"}, "Upgrade": {"h2c"}, "Host": {"localhost:7077"},
		"X-Openwebui-User-Email": {"ana@example.org"}, "x-openwebui-user-jwt": {"a.b.c"}, "X-Openwebui-Chat-Id": {"c1"},
		"X-Forwarded-For": {"192.0.2.7"}, "x-forwarded-user": {"ana"}, "Forwarded": {"for=192.0.2.7"}, "X-Real-Ip": {"192.0.2.7"}, "Via": {"1.1 home"},
		"X-Strange": {"kept"},
	}
	send(t, forwarder(t, srv.URL, ""), http.MethodGet, "models", header, nil)
	want := http.Header{"X-Strange": {"kept"}}
	if diff := cmp.Diff(want, (<-got).header); diff != "" {
		t.Errorf("headers that arrived (-want +got):\n%s", diff)
	}
	if h := forwarder(t, srv.URL, "").forwardedHeader(nil); h == nil || len(h) != 0 {
		t.Errorf("no header becomes %v, want an empty one", h)
	}
}

// TestIdentityHeadersAreDropped has each pattern of identity.txt, and those of the setting.
func TestIdentityHeadersAreDropped(t *testing.T) {
	const local = "http://127.0.0.1:4000/v1"
	names := func(at string, set []string, sent ...string) (got []string) {
		t.Helper()
		f, err := NewForwarder(Options{BaseURL: at, DropHeaders: set})
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		for _, name := range sent {
			h[name] = []string{"x"}
		}
		return slices.Sorted(maps.Keys(f.forwardedHeader(h)))
	}
	personal := []string{
		"X-Auth-Request-Email", "Cf-Access-Jwt-Assertion", "Cf-Access-Authenticated-User-Email", "Remote-User", "remote_user", "Remote-Groups", "Remote-Email", "Remote-Name",
		"X-Litellm-User-Id", "x-litellm-user_api_key_user_id", "X-Litellm-End-User-Id", "Helicone-User-Id", "X-Portkey-Metadata", "X-Librechat-User",
		"X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Preferred-Username", "X-Authentik-Username", "x-authentik-jwt", "X-Ms-Client-Principal", "X-Ms-Client-Principal-Name",
		"X-Ms-Token-Aad-Id-Token", "X-Goog-Authenticated-User-Email", "X-Goog-Iap-Jwt-Assertion", "Tailscale-User-Login", "X-Webauth-User", "X-Webauth-Email", "X-Openwebui-User-Name",
		"X-Amzn-Oidc-Data", "X-Amzn-Oidc-Identity", "X-Pomerium-Jwt-Assertion", "X-Pomerium-Claim-Email", "X-Vouch-User", "X-Token-User-Email", "Oidc_claim_email", "X-Consumer-Username",
		"X-Remote-User", "X-User-Id", "Sm_user", "Iv-User", "Shib-Session-Id",
		"X-Access-Token", "X-Id-Token", "X-Userinfo", "X-Jwt-Assertion",
	}
	plain := []string{
		"Accept", "Anthropic-Version", "Authorization", "Content-Type", "Openai-Organization", "Traceparent", "User-Agent", "X-Amzn-Bedrock-Trace", "X-Api-Key", "X-Auth-Token", "X-Goog-Api-Key",
		"X-Goog-User-Project", "X-Ms-Client-Request-Id", "X-Stainless-Os", "X-Team", "X-Userland",
	}
	if got := names(local, nil, slices.Concat(personal, plain)...); !slices.Equal(got, plain) {
		t.Errorf("what goes on: got %q, want %q", got, plain)
	}
	for _, tt := range []struct {
		at         string
		set        []string
		sent, want []string
	}{
		{local, []string{"X-Team*"}, []string{"X-Team", "X-Team-Id", "X-Tea"}, []string{"X-Tea"}},
		{local, []string{"-x-litellm-*"}, []string{"X-Litellm-Tags", "Helicone-Auth"}, []string{"X-Litellm-Tags"}},
		{local, []string{"-Remote-User", "-X-Loci-User", "-X-Forwarded-For"}, []string{"Remote-User", "Remote-Email", "X-Loci-User", "X-Forwarded-For"}, []string{"Remote-User"}},
		{"https://oai.helicone.ai/v1", nil, []string{"Helicone-User-Id", "X-Portkey-Metadata"}, []string{"Helicone-User-Id"}},
		{"https://api.portkey.ai/v1", nil, []string{"Helicone-User-Id", "X-Portkey-Metadata"}, []string{"X-Portkey-Metadata"}},
		{"https://nothelicone.ai/v1", nil, []string{"Helicone-User-Id"}, nil},
		{"https://gateway.ai.cloudflare.com/v1/a/b/openai", nil, []string{"Cf-Aig-Metadata", "Cf-Access-Client-Id"}, []string{"Cf-Aig-Metadata"}},
	} {
		if got := names(tt.at, tt.set, tt.sent...); !slices.Equal(got, tt.want) {
			t.Errorf("%s, %q: of %q goes on %q, want %q", tt.at, tt.set, tt.sent, got, tt.want)
		}
	}
}

func TestWhoseKeyGoesUpstream(t *testing.T) {
	client := http.Header{"Authorization": {"Bearer client"}, "Api-Key": {"client"}, "X-Api-Key": {"client"}}
	srv, got := upstream(t, nil)
	for _, tt := range []struct {
		name, key string
		header    http.Header
		want      http.Header
	}{
		{"the client's without one of ours", "", client, client},
		{"ours in its place", "ours", client, http.Header{"Authorization": {"Bearer ours"}}},
		{"ours where there was none", "ours", nil, http.Header{"Authorization": {"Bearer ours"}}},
		{"none at all", "", nil, http.Header{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			send(t, forwarder(t, srv.URL, tt.key), http.MethodGet, "models", tt.header, nil)
			if diff := cmp.Diff(tt.want, (<-got).header); diff != "" {
				t.Errorf("headers that arrived (-want +got):\n%s", diff)
			}
		})
	}
	azure, err := newEndpoint(Options{BaseURL: "https://me.openai.azure.com/openai/v1", Key: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	azure.setKey(h)
	if h.Get("Api-Key") != "ours" {
		t.Errorf("Azure gets %v, want its own header too", h)
	}
	anthropic, err := newEndpoint(Options{BaseURL: "https://api.anthropic.com/v1", Key: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	own, compatible := http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"client"}}, http.Header{}
	anthropic.setKey(own)
	anthropic.setKey(compatible)
	if own.Get("X-Api-Key") != "ours" || own.Get("Authorization") != "" || compatible.Get("Authorization") != "Bearer ours" {
		t.Errorf("Anthropic gets %v in its own dialect and %v in OpenAI's", own, compatible)
	}
}

func TestAnswersComeBackAsTheyAre(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"choices":[]}`))
	_ = z.Close()
	for _, tt := range []struct {
		name, acceptEncoding string
		answer               http.HandlerFunc
		status               int
		header               map[string]string
		body                 string
	}{
		{"compressed", "gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		}, 200, map[string]string{"Content-Encoding": "gzip", "Content-Length": fmt.Sprint(zipped.Len())}, zipped.String()},
		{"rate limits", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("X-Ratelimit-Remaining-Tokens", "0")
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down"}}`)
		}, 429, map[string]string{"Retry-After": "7", "X-Ratelimit-Remaining-Tokens": "0"}, `{"error":{"message":"slow down"}}`},
		{"a page", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			_, _ = io.WriteString(w, "<html>Bad gateway</html>")
		}, 502, map[string]string{"Content-Type": "text/html"}, "<html>Bad gateway</html>"},
		{"a redirect", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://elsewhere.test/")
			w.WriteHeader(307)
		}, 307, map[string]string{"Location": "http://elsewhere.test/"}, ""},
		{"hop by hop", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.Header().Set("Keep-Alive", "5")
		}, 200, map[string]string{"Connection": "", "X-Hop": "", "Keep-Alive": ""}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, got := upstream(t, tt.answer)
			header := http.Header{}
			if tt.acceptEncoding != "" {
				header.Set("Accept-Encoding", tt.acceptEncoding)
			}
			resp, body := send(t, forwarder(t, srv.URL, ""), http.MethodPost, "chat/completions", header, strings.NewReader("{}"))
			if sent := (<-got).header.Get("Accept-Encoding"); sent != tt.acceptEncoding {
				t.Errorf("Accept-Encoding %q went upstream, want %q", sent, tt.acceptEncoding)
			}
			if resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("answer %d %q, want %d %q", resp.StatusCode, body, tt.status, tt.body)
			}
			for name, want := range tt.header {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestStreamsAreNotHeldBack(t *testing.T) {
	next := make(chan struct{})
	srv, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next // go on only when the client has seen it
		}
	})
	resp, err := forwarder(t, srv.URL, "").Do(t.Context(), http.MethodPost, "chat/completions", nil, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		got, err := lines.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); err != nil || got != want {
			t.Fatalf("event %d: %q, %v; want %q", i, got, err, want)
		}
		_, _ = lines.ReadString('\n')
		next <- struct{}{}
	}
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Errorf("the stream ends with %v, want its end", err)
	}
}

func TestBodiesAreStreamed(t *testing.T) {
	srv, got := upstream(t, nil)
	f := forwarder(t, srv.URL, "")
	send(t, f, http.MethodPost, "files", http.Header{"Content-Length": {"5"}}, io.LimitReader(strings.NewReader("hello world"), 5))
	if a := <-got; a.body != "hello" || a.length != 5 || len(a.encoding) != 0 {
		t.Errorf("a body of known length arrived as %+v", a)
	}
	send(t, f, http.MethodPost, "files", nil, io.LimitReader(strings.NewReader("hello world"), 5))
	if a := <-got; a.body != "hello" || a.length != -1 || len(a.encoding) != 1 {
		t.Errorf("a body of unknown length arrived as %+v, want it chunked", a)
	}
	send(t, f, http.MethodDelete, "files/1", nil, http.NoBody)
	if a := <-got; a.body != "" || a.length != 0 {
		t.Errorf("no body arrived as %+v", a)
	}
}

func TestAnswerCutOffIsSeen(t *testing.T) {
	srv, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := forwarder(t, srv.URL, "").Do(t.Context(), http.MethodPost, "chat/completions", nil, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil || string(got) != "data: half" {
		t.Errorf("read %q, %v; want what came and an error", got, err)
	}
}

// TestClientThatLeavesFreesTheUpstream: a slow upstream sees the client's cancellation.
func TestClientThatLeavesFreesTheUpstream(t *testing.T) {
	upstreamDone := make(chan struct{})
	srv, got := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(upstreamDone)
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-got
		leave()
	}()
	if _, err := forwarder(t, srv.URL, "").Do(ctx, http.MethodPost, "chat/completions", nil, strings.NewReader("{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	<-upstreamDone
}

// TestPostIsNotSentTwice: an upstream that read a request and closed the connection may have acted
// on it.
func TestPostIsNotSentTwice(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var requests atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			// The first request on a connection is answered; the second is read and dropped.
			for i := range 2 {
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, r.Body)
				requests.Add(1)
				if i == 0 {
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}
			conn.Close()
		}
	}()
	f := forwarder(t, "http://"+listener.Addr().String(), "")
	send(t, f, http.MethodPost, "chat/completions", nil, bytes.NewReader([]byte("{}")))
	resp, err := f.Do(t.Context(), http.MethodPost, "chat/completions", nil, bytes.NewReader([]byte("{}")))
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, memory.Unavailable) || requests.Load() != 2 {
		t.Errorf("error %v after %d requests; want unavailable after 2", err, requests.Load())
	}
}

func TestConnectionsAreKept(t *testing.T) {
	srv, got := upstream(t, nil)
	var opened atomic.Int32
	counting := newTransport()
	dial := counting.DialContext
	counting.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		opened.Add(1)
		return dial(ctx, network, addr)
	}
	f, err := NewForwarder(Options{BaseURL: srv.URL, Transport: counting})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 5 {
		send(t, f, http.MethodGet, "models", nil, nil)
		<-got
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections for 5 requests, want 1", opened.Load())
	}
}

func TestForwardErrors(t *testing.T) {
	f := forwarder(t, "http://127.0.0.1:1", secret)
	for _, path := range []string{"../admin", "chat/../../admin", "%2e%2e/admin", "a/%2E%2E%2Fadmin", "./x", "%zz"} {
		if _, err := f.Do(t.Context(), http.MethodGet, path, nil, nil); !errors.Is(err, memory.Invalid) {
			t.Errorf("path %q: %v, want invalid", path, err)
		}
	}
	if _, err := f.Do(t.Context(), "GET IT", "models", nil, nil); err == nil {
		t.Error("a method with a space: no error")
	}
	_, err := f.Do(t.Context(), http.MethodGet, "models?key=hidden", nil, nil)
	if !errors.Is(err, memory.Unavailable) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("nobody listens: %v; want unavailable without keys", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Do(ctx, http.MethodGet, "models", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the client is gone: %v; want the context's error", err)
	}
}

// FuzzPath: no path escapes the base URL.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"models", "chat/completions?x=1", "../x", "a/%2e%2e/b", "//host/x", "a%2Fb", "?", "#x", "a b", "%2F..%2f"} {
		f.Add(s)
	}
	at, err := newEndpoint(Options{BaseURL: "https://models.test/base/v1?api-version=1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := at.url(path)
		if err != nil {
			return
		}
		sent, err := url.Parse(u.String())
		if err != nil {
			return // no request can be made of it
		}
		if sent.Scheme != "https" || sent.Host != "models.test" || !strings.HasPrefix(pathpkg.Clean(sent.Path)+"/", "/base/v1/") {
			t.Errorf("path %q leads to %s", path, u)
		}
	})
}
