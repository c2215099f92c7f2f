package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOperationsGuideSignsPeopleInBehindCaddy starts the guide's Caddyfile with another program that
// signs people in: the header names the user to Loci, and nobody else's does.
func TestOperationsGuideSignsPeopleInBehindCaddy(t *testing.T) {
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("caddy is not installed")
	}
	guide, err := os.ReadFile("../docs/guide/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```\n(\\{\n\tlocal_certs.*?)```").FindSubmatch(guide)
	if found == nil {
		t.Fatal("the guide has no Caddyfile")
	}
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, ok := r.BasicAuth()
		if !ok || r.URL.Path != "/verify" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Forwarded-User", user)
		if user == "root" {
			w.Header().Set("X-Forwarded-Groups", "staff, operators")
		}
	}))
	defer door.Close()
	l := serve(t, t.TempDir(), "LOCI_API_KEY=server-key-1", "LOCI_USERS=multi", "LOCI_HOSTS=localhost", "LOCI_PROXIES=127.0.0.1",
		"LOCI_SSO_HEADER=X-Forwarded-User,X-Forwarded-Groups", "LOCI_SSO_ADMINS=group:operators")
	listen := freePort(t)
	text := strings.NewReplacer("127.0.0.1:9091", strings.TrimPrefix(door.URL, "http://"), "127.0.0.1:7077", strings.TrimPrefix(l.url, "http://"),
		"localhost:8443", fmt.Sprintf("localhost:%d", listen), "local_certs", "local_certs\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects").Replace(string(found[1]))
	dir := t.TempDir()
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out)
		}
	}()
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func(user, path string, header ...string) (int, string) {
		r, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("https://localhost:%d%s", listen, path), nil)
		if user != "" {
			r.SetBasicAuth(user, "x")
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		res, err := client.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(body)
	}
	eventually(t, l, "caddy", patience, func() bool { status, _ := ask("ana", "/health/live"); return status == http.StatusNoContent })
	if status, _ := ask("", "/", "X-Forwarded-User", "root"); status != http.StatusUnauthorized {
		t.Errorf("a stranger who names a user: %d", status)
	}
	if status, body := ask("ana", "/settings"); status != http.StatusOK || !strings.Contains(body, ">ana<") || strings.Contains(body, "Configuration of this server") {
		t.Errorf("ana: %d %s", status, body)
	}
	if status, body := ask("ana", "/settings", "X-Forwarded-Groups", "operators"); status != http.StatusOK || strings.Contains(body, "Configuration of this server") {
		t.Errorf("ana who says that she is an operator: %d", status)
	}
	if status, body := ask("root", "/settings"); status != http.StatusOK || !strings.Contains(body, "Configuration of this server") {
		t.Errorf("root: %d %s", status, body)
	}
	if _, body := l.request(t, http.MethodGet, "/settings", nil, http.Header{"X-Forwarded-For": {"203.0.113.9"}}); !strings.Contains(string(body), "Sign in to Loci") {
		t.Errorf("without a name: %s", body)
	}
}

// freePort returns a port that nobody listened at a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // somebody else listens there next
	return l.Addr().(*net.TCPAddr).Port
}
