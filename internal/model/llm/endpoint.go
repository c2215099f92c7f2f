package llm

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Options says where a model server is and how to speak to it.
type Options struct {
	BaseURL string // ends in /v1 as a rule; a query, such as Azure's api-version, is kept
	Key     string // "" sends none
	Model   string // the default of [Client.Complete]

	DropHeaders []string // beside those of identity.txt a [Forwarder] does not pass these on; with - before it one is

	Timeout   time.Duration     // how long a server may be silent; 0: DefaultTimeout
	Patience  time.Duration     // of all attempts together; 0: DefaultPatience
	Tries     uint              // attempts of one question at most; 0: DefaultTries
	Transport http.RoundTripper // nil: one of its own, which keeps connections
}

const (
	// DefaultTimeout lets a small model on a slow machine read its prompt.
	DefaultTimeout = 2 * time.Minute

	// DefaultPatience bounds the retries of one question. What takes longer is a
	// job's to try again.
	DefaultPatience = time.Minute

	// DefaultTries bounds the attempts of one question.
	DefaultTries = 5

	// headerTime is how long a forwarded request may go without any answer: models
	// that think say nothing for minutes.
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
		return endpoint{}, memory.Errorf(memory.Invalid, "the model server's base URL must hold no password; give its key as a setting")
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return endpoint{u, o.Key}, nil
}

// url returns the address of what stands at path (escaped, with or without a
// query) under the base. A path that climbs out of the base is refused.
func (e endpoint) url(path string) (*url.URL, error) {
	path, query, _ := strings.Cut(path, "?")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, memory.Errorf(memory.Invalid, "%q is not a valid path: %v", path, err)
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == ".." || segment == "." {
			return nil, memory.Errorf(memory.Invalid, "the path %q leaves the model server's API", path)
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

// sign puts the key on a request, in the place of whatever key it had; without a
// key the request keeps its own.
func (e endpoint) sign(h http.Header) {
	if e.key == "" {
		return
	}
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		h.Del(name)
	}
	if e.under("anthropic.com") && h.Get("Anthropic-Version") != "" {
		h.Set("X-Api-Key", e.key) // its own API takes keys here alone
		return
	}
	h.Set("Authorization", "Bearer "+e.key)
	if e.under("azure.com") {
		h.Set("Api-Key", e.key) // Azure takes its keys here, and tokens as bearers
	}
}

// under reports whether the server's name lies in a domain.
func (e endpoint) under(domain string) bool { return strings.HasSuffix(e.base.Hostname(), "."+domain) }

// unavailable tells what went wrong with the server, without its key.
func (e endpoint) unavailable(format string, args ...any) error {
	return memory.Errorf(memory.Unavailable, "model server %s: "+format, append([]any{e.base.Host}, args...)...)
}

// newTransport returns a transport as the proxy needs it: nothing is decompressed
// on the way, and enough connections stay open for all clients of one upstream.
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
