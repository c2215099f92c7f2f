package cli

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// certificate is a server's, which can be read again while it serves.
type certificate struct {
	now    atomic.Pointer[tls.Certificate]
	issuer *acme.Client // asked for certificates, where the settings say so; nil: Let's Encrypt
}

// read reads the files that the settings name. One that is broken, or does not fit its key, leaves
// what was there.
func (c *certificate) read(set config.TLSConfig) error {
	if set.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(set.Cert, set.Key)
	if err != nil {
		return memory.Errorf(memory.Invalid, "tls.cert %s with tls.key %s: %w", set.Cert, set.Key, err)
	}
	c.now.Store(&pair)
	return nil
}

// encrypted puts TLS on a listener as the settings say.
func (c *certificate) encrypted(l net.Listener, set config.Config) (net.Listener, error) {
	t := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
	if len(set.TLS.ACME) > 0 {
		dir, err := set.DataDir()
		if err != nil {
			return nil, err
		}
		m := autocert.Manager{Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(set.TLS.ACME...), Cache: autocert.DirCache(filepath.Join(dir, "acme")), Client: c.issuer}
		of := m.TLSConfig()
		t.GetCertificate, t.NextProtos = of.GetCertificate, of.NextProtos
	}
	return tls.NewListener(l, t), c.read(set.TLS)
}
