package llm

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/httpx"
)

// Forwarder forwards the requests of clients to the upstream server.
type Forwarder struct {
	server       endpoint
	transport    http.RoundTripper
	dropPatterns []string // patterns of header names; the last pattern that matches a header decides; if the pattern has the prefix -, the header is forwarded
}

// NewForwarder returns a forwarder to the server in o. It ignores the model and the timeouts in o: a
// forwarded request lasts as long as its client waits. An invalid base URL is [memory.Invalid].
func NewForwarder(o Options) (*Forwarder, error) {
	server, err := newEndpoint(o)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	f := &Forwarder{server: server, transport: o.Transport}
	for line := range strings.Lines(identityHeaders + strings.Join(o.DropHeaders, "\n")) {
		if fields := strings.Fields(normalizeHeaderName(line)); len(fields) > 0 && fields[0] != "#" && (len(fields) == 1 || !server.isSubdomainOf(fields[1])) {
			f.dropPatterns = append(f.dropPatterns, fields[0])
		}
	}
	return f, nil
}

// identityHeaders lists the patterns of headers that identify the user.
//
//go:embed identity.txt
var identityHeaders string

// normalizeHeaderName returns the name or pattern of a header in lower case, with - for _.
func normalizeHeaderName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// isDropped reports whether the header is not forwarded.
func (f *Forwarder) isDropped(name string) (dropped bool) {
	name = normalizeHeaderName(name)
	for _, pattern := range f.dropPatterns {
		pattern, keep := strings.CutPrefix(pattern, "-")
		if prefix, isPrefix := strings.CutSuffix(pattern, "*"); pattern == name || isPrefix && strings.HasPrefix(name, prefix) {
			dropped = !keep
		}
	}
	return dropped
}

// Do sends one request and returns the upstream's response unchanged except for hop-by-hop headers. The body
// is neither decompressed nor buffered; the caller closes it. path is relative to the base URL, escaped as in
// the client's request, with its query. The request has the headers that [Forwarder.forwardedHeader] returns,
// and the upstream's API key if one is configured. Redirects are not followed.
//
// A body that is not a [bytes.Reader] is streamed, with the length in the header's Content-Length. A request
// is retried only if none of its bytes was written, or if its HTTP method is idempotent.
//
// The error is [memory.Unavailable], or [memory.Invalid] for a path outside the base URL.
func (f *Forwarder) Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	u, err := f.server.url(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, f.server.unavailable("build the request: %w", err)
	}
	req.Header = f.forwardedHeader(header)
	if _, sized := body.(*bytes.Reader); !sized && body != nil {
		req.ContentLength = contentLength(header)
	}
	f.server.setKey(req.Header)
	if req.Header.Get("User-Agent") == "" {
		req.Header["User-Agent"] = []string{""} // an absent header would get the transport's default value
	}
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, f.server.unavailable("%w", withoutURL(err))
	}
	removeHopByHopHeaders(resp.Header)
	return resp, nil
}

// Close closes idle connections.
func (f *Forwarder) Close() {
	if t, ok := f.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// hopByHopHeaders are the headers that apply to one connection only (RFC 9110, 7.6.1), and Expect, which
// Loci's HTTP server has handled.
var hopByHopHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
}

// forwardedHeader returns a copy of a client's header without hop-by-hop headers, X-Loci-* headers,
// Content-Length (the body has a length), Host, cookies (browsers send cookies of the host to all its ports),
// and headers of proxies and front ends that identify the user.
func (f *Forwarder) forwardedHeader(clientHeader http.Header) http.Header {
	h := clientHeader.Clone()
	if h == nil {
		h = http.Header{}
	}
	removeHopByHopHeaders(h)
	h.Del("Content-Length")
	h.Del("Host")
	h.Del("Cookie")
	for name := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if strings.HasPrefix(canonical, "X-Loci-") || httpx.IsForwardingHeader(canonical) || f.isDropped(name) {
			delete(h, name)
		}
	}
	return h
}

func removeHopByHopHeaders(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHopHeaders {
		h.Del(name)
	}
}

// contentLength returns the value of Content-Length, or -1 if the header has no valid value.
func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// withoutURL removes the URL that net/http adds to an error: the URL's query may contain a key.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
