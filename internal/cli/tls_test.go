package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/loci-memory/loci/internal/config"
)

// TestACMEGetsACertificate asks Pebble, the small ACME server of Let's Encrypt, which proves that
// the name is this server's by the challenge TLS-ALPN-01.
func TestACMEGetsACertificate(t *testing.T) {
	pebble, err := exec.LookPath("pebble")
	names, err2 := exec.LookPath("pebble-challtestsrv")
	if err != nil || err2 != nil {
		t.Skip("pebble and pebble-challtestsrv are not installed")
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t)(err)
	api, manage, dns, dnsManage := freeAddr(t), freeAddr(t), freeAddr(t), freeAddr(t)
	roots := apiCertificate(t, dir)
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": manage, "certificate": filepath.Join(dir, "cert.pem"), "privateKey": filepath.Join(dir, "key.pem"),
		"httpPort": 1, "tlsPort": listener.Addr().(*net.TCPAddr).Port,
	}})
	noError(t)(err)
	noError(t)(os.WriteFile(filepath.Join(dir, "pebble.json"), text, 0o600))
	start(t, exec.Command(names, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", dns, "-management", dnsManage, "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""))
	start(t, exec.Command(pebble, "-config", filepath.Join(dir, "pebble.json"), "-dnsserver", dns))
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := trusting.Get("https://" + api + "/dir")
		if err == nil {
			noError(t)(resp.Body.Close())
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	cert := &certificate{acmeClient: &acme.Client{DirectoryURL: "https://" + api + "/dir", HTTPClient: trusting}}
	set, err := config.Load(config.Sources{Flags: map[string]string{"data": filepath.Join(dir, "data"), "tls.acme": "loci.example.com"}})
	noError(t)(err)
	encrypted, err := cert.withTLS(listener, set)
	noError(t)(err)
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { _ = server.Serve(encrypted) }()
	t.Cleanup(func() { _ = server.Close() })

	issued := func(name string) (*x509.Certificate, error) {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // what it is is looked at
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
			t.Errorf("%s speaks %q", name, p)
		}
		return conn.ConnectionState().PeerCertificates[0], nil
	}
	first, err := issued("loci.example.com")
	if err != nil || first.VerifyHostname("loci.example.com") != nil || !strings.Contains(first.Issuer.CommonName, "Pebble") {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := issued("loci.example.com")
	if err != nil || again.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	if _, err := issued("other.example.com"); err == nil {
		t.Error("another name has a certificate")
	}
	if kept, _ := os.ReadDir(filepath.Join(dir, "data", "acme")); len(kept) < 2 { // the account and the certificate
		t.Errorf("kept %v", kept)
	}
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	noError(t)(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t)(err)
	defer l.Close()
	return l.Addr().String()
}

// apiCertificate makes the certificate of a server on this machine, as cert.pem and key.pem.
func apiCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t)(err)
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	noError(t)(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	noError(t)(err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	noError(t)(os.WriteFile(filepath.Join(dir, "cert.pem"), text, 0o600))
	noError(t)(os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatal(fmt.Errorf("no certificate"))
	}
	return roots
}
