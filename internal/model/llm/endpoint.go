package llm

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Options configure the connection to a model server.
type Options struct {
	BaseURL string // usually ends in /v1; a query, such as Azure's api-version, is kept
	Key     string // "": no key
	Model   string // default model of [Client.Complete]

	DropHeaders []string // headers that a [Forwarder] drops in addition to identity.txt; a prefix - keeps the header

	Timeout   time.Duration     // how long a server may be silent; 0: DefaultTimeout
	Patience  time.Duration     // time for all attempts together; 0: DefaultPatience
	Tries     uint              // maximum number of attempts per request; 0: DefaultTries
	Transport http.RoundTripper // nil: a new one that keeps connections open
}

const (
	// DefaultTimeout is enough for a small model on a slow machine to read its prompt.
	DefaultTimeout = 2 * time.Minute

	// DefaultPatience bounds the retries of one request. Jobs retry later if the outage is longer.
	DefaultPatience = time.Minute

	// DefaultTries bounds the attempts of one request.
	DefaultTries = 5

	// headerTime is the time within which a forwarded request's response headers must arrive: reasoning models
	// are silent for minutes.
	headerTime = 15 * time.Minute
)

// endpoint is a model server's address and key.
type endpoint struct {
	base *url.URL // without a trailing slash in its path
	key  string
}

func newEndpoint(o Options) (endpoint, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return endpoint{}, memory.Errorf(memory.Invalid, "the model server's base URL must look like http://localhost:11434/v1")
	}
	if u.User != nil {
		return endpoint{}, memory.Errorf(memory.Invalid, "the model server's base URL must not contain a password; set its key as a setting")
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return endpoint{u, o.Key}, nil
}

// url returns the address of path (escaped, with or without a query) below the base. It refuses a path outside
// the base.
func (e endpoint) url(path string) (*url.URL, error) {
	path, query, _ := strings.Cut(path, "?")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "%q is not a valid path: %v", path, err)
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == ".." || segment == "." {
			return nil, memory.Errorf(memory.Invalid, "the path %q is outside the model server's API", path)
		}
	}
	u := *e.base
	u.Path = e.base.Path + "/" + strings.TrimLeft(plain, "/")
	u.RawPath = e.base.EscapedPath() + "/" + strings.TrimLeft(path, "/")
	switch {
	case u.RawQuery == "":
		u.RawQuery = query
	case query != "":
		u.RawQuery += "&" + query
	}
	return &u, nil
}

// sign replaces a request's key by the endpoint's key. If the endpoint has none, the request keeps its own.
func (e endpoint) sign(h http.Header) {
	if e.key == "" {
		return
	}
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		h.Del(name)
	}
	if e.under("anthropic.com") && h.Get("Anthropic-Version") != "" {
		h.Set("X-Api-Key", e.key) // Anthropic's own API reads keys only here
		return
	}
	h.Set("Authorization", "Bearer "+e.key)
	if e.under("azure.com") {
		h.Set("Api-Key", e.key) // Azure reads keys here, and tokens as bearer tokens
	}
}

// under reports whether the server's host is a subdomain of a domain.
func (e endpoint) under(domain string) bool { return strings.HasSuffix(e.base.Hostname(), "."+domain) }

// unavailable describes a failure of the server, without its key.
func (e endpoint) unavailable(format string, args ...any) error {
	return memory.Errorf(memory.Unavailable, "model server %s: "+format, append([]any{e.base.Host}, args...)...)
}

// newTransport returns a transport for the proxy: without decompression, and with enough open
// connections for all clients of one upstream.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: headerTime,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   128,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}
