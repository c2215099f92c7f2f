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
	BaseURL string // usually ends in /v1; a query in the URL, such as Azure's api-version, is sent with each request
	Key     string // API key; empty means no key
	Model   string // default model of [Client.Complete]

	DropHeaders []string // patterns of headers that a [Forwarder] does not forward, in addition to the patterns in identity.txt; headers that match a pattern with the prefix - are forwarded

	Timeout      time.Duration     // maximum time without data from the server; 0 means DefaultTimeout
	RetryTimeout time.Duration     // maximum time for all attempts of a request; 0 means DefaultRetryTimeout
	MaxTries     uint              // maximum number of attempts of a request; 0 means DefaultMaxTries
	Transport    http.RoundTripper // nil creates a transport that keeps connections open
}

const (
	// DefaultTimeout is enough for a small model on a slow machine to read a long prompt.
	DefaultTimeout = 2 * time.Minute

	// DefaultRetryTimeout limits the retries of one request. After a longer outage, the job queue retries.
	DefaultRetryTimeout = time.Minute

	// DefaultMaxTries is the default maximum number of attempts of one request.
	DefaultMaxTries = 5

	// headerTimeout is the time limit for the response headers of a forwarded request. It is long, since
	// reasoning models send no data for minutes.
	headerTimeout = 15 * time.Minute
)

// endpoint is the address and API key of a model server.
type endpoint struct {
	base *url.URL // base URL, without a trailing slash in the path
	key  string
}

func newEndpoint(o Options) (endpoint, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return endpoint{}, memory.Errorf(memory.Invalid, "the model server's base URL must look like http://localhost:11434/v1")
	}
	if u.User != nil {
		return endpoint{}, memory.Errorf(memory.Invalid, "the model server's base URL must not contain a password; set the API key as a setting")
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return endpoint{u, o.Key}, nil
}

// url returns the URL of a path below the base URL. The path is escaped and may have a query. A path outside
// the base URL is [memory.Invalid].
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

// setKey replaces the API key in a request's header by the endpoint's key, if the endpoint has a key.
func (e endpoint) setKey(h http.Header) {
	if e.key == "" {
		return
	}
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		h.Del(name)
	}
	if e.isSubdomainOf("anthropic.com") && h.Get("Anthropic-Version") != "" {
		h.Set("X-Api-Key", e.key) // Anthropic's own API reads keys only from this header
		return
	}
	h.Set("Authorization", "Bearer "+e.key)
	if e.isSubdomainOf("azure.com") {
		h.Set("Api-Key", e.key) // Azure reads keys from this header, and access tokens from Authorization
	}
}

// isSubdomainOf reports whether the server's host is a subdomain of domain.
func (e endpoint) isSubdomainOf(domain string) bool {
	return strings.HasSuffix(e.base.Hostname(), "."+domain)
}

// unavailable returns a [memory.Unavailable] error that names the server's host.
func (e endpoint) unavailable(format string, args ...any) error {
	return memory.Errorf(memory.Unavailable, "model server %s: "+format, append([]any{e.base.Host}, args...)...)
}

// newTransport returns a transport that does not decompress responses, since a [Forwarder] must not, and
// keeps enough idle connections for many clients.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   128,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}
