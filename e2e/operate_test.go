package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// certify writes a certificate of 127.0.0.1 with that serial number, and its key.
func certify(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, is, is, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestServerTakesANewCertificate serves HTTP/2 over TLS, and reads its certificate again when it is
// told to: one that is broken leaves the old one.
func TestServerTakesANewCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, 1)
	l := serve(t, t.TempDir(), "LOCI_TLS_CERT="+cert, "LOCI_TLS_KEY="+key)
	serial := func() int64 {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get(l.url + "/health/ready")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
			t.Fatalf("%s %s", res.Proto, res.Status)
		}
		return res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); !strings.HasPrefix(l.url, "https://") || n != 1 {
		t.Fatalf("%s has the certificate %d", l.url, n)
	}
	other, _ := certify(t, t.TempDir(), 3)
	text, _ := os.ReadFile(other)
	if err := os.WriteFile(cert, text, 0o600); err != nil { // it does not fit its key
		t.Fatal(err)
	}
	_ = l.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, l, "the log says so", patience, func() bool { return strings.Contains(l.log.String(), "private key does not match") })
	if n := serial(); n != 1 {
		t.Errorf("by a certificate that does not fit: %d", n)
	}
	certify(t, dir, 2)
	_ = l.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, l, "the new certificate", patience, func() bool { return serial() == 2 })
}

// TestStoppingServerEndsStreamsWithAnError lets requests end for as long as drain says; a stream
// that is cut says so.
func TestStoppingServerEndsStreamsWithAnError(t *testing.T) {
	for protocol, tls := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) { stopWithStreams(t, protocol, tls) })
	}
}

func stopWithStreams(t *testing.T, protocol string, encrypted bool) {
	begun, over := make(chan bool, 2), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Well,\"}}]}\n\n")
		w.(http.Flusher).Flush()
		begun <- true
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer upstream.Close()
	defer close(over)
	settings := []string{"LOCI_UPSTREAM_URL=" + upstream.URL + "/v1", "LOCI_DRAIN=1s", "LOCI_LEARN_MODEL=none"}
	if encrypted {
		cert, key := certify(t, t.TempDir(), 1)
		settings = append(settings, "LOCI_TLS_CERT="+cert, "LOCI_TLS_KEY="+key)
	}
	l := serve(t, t.TempDir(), settings...)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is its own
	defer transport.CloseIdleConnections()
	post := func(path, body string) []byte {
		res, err := (&http.Client{Transport: transport}).Post(l.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		defer res.Body.Close()
		if res.Proto != protocol {
			t.Errorf("%s: %s", path, res.Proto)
		}
		all, _ := io.ReadAll(res.Body)
		return all
	}
	var chat struct{ ID string }
	if err := json.Unmarshal(post("/api/chats", "{}"), &chat); err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{
		"/v1/chat/completions":                `{"model":"m","stream":true,"messages":[{"role":"user","content":"What now?"}]}`,
		"/api/chats/" + chat.ID + "/messages": `{"model":"m","content":"And then?"}`,
	}
	var group sync.WaitGroup
	for path, body := range streams {
		group.Go(func() {
			all := post(path, body)
			if !bytes.Contains(all, []byte("Well,")) || !bytes.Contains(all, []byte("event: error\ndata: {")) || !bytes.Contains(all, []byte("the server is stopping")) {
				t.Errorf("the stream of %s: %q", path, all)
			}
		})
	}
	for range streams {
		<-begun
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	group.Wait()
}

// TestServerTakesOverSettings reads a settings file again, and keeps what it had where that is wrong.
func TestServerTakesOverSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loci.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("api_key: server-key-1\nlog: {format: json}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	l := serveAs(t, t.TempDir(), []string{"--config", file})
	post := func(path, id string) (status int, body string, retry string) {
		r, _ := http.NewRequest(http.MethodPost, l.url+path, strings.NewReader(`{"query":"x"}`))
		r.Header.Set("X-Loci-Key", "server-key-1")
		r.Header.Set("X-Request-Id", id)
		if path == "/api/reload" {
			r.Body = http.NoBody
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text), res.Header.Get("Retry-After")
	}
	write("limits: {requests: 3}\nrecall: {top_k: 5}\n")
	if status, body, _ := post("/api/reload", "a"); status != http.StatusOK || !strings.Contains(body, `"taken":["limits.requests"]`) || !strings.Contains(body, `"at_start":["recall.top_k"]`) {
		t.Fatalf("a reload: %d %s", status, body)
	}
	for n := range 4 {
		status, body, retry := post("/api/memory/search", "search-1")
		if over := n == 3; over != (status == http.StatusTooManyRequests) || over && (!strings.Contains(body, "limits.requests is 3") || retry == "") {
			t.Errorf("request %d: %d, Retry-After %q, %s", n, status, retry, body)
		}
	}
	write("limits: {requests: 3, tokenz: 9}\n")
	_ = l.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, l, "the log says what is wrong", patience, func() bool { return strings.Contains(l.log.String(), "limits.tokenz is not a valid setting") })
	write("limits: {requests: 0}\n")
	_ = l.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, l, "no limit any more", patience, func() bool { status, _, _ := post("/api/memory/search", "search-2"); return status == http.StatusOK })
	for line := range strings.Lines(l.log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		if entry["client_request"] == "search-1" && entry["msg"] == "request" && (entry["route"] != "/api/memory/search" && entry["route"] != "refused" || entry["user"] != "default" || entry["ms"] == nil) {
			t.Errorf("the access log: %s", line)
		}
	}
	if !strings.Contains(l.log.String(), `"client_request":"search-1"`) {
		t.Error("the access log lacks a request")
	}
}
