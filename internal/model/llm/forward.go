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

// Forwarder forwards clients' requests to the upstream.
type Forwarder struct {
	at        endpoint
	transport http.RoundTripper
	dropped   []string // patterns of header names; the prefix - keeps a header, and the last matching pattern counts
}

// NewForwarder returns a forwarder to the server in o. It ignores the model and the timeouts in o, since a
// forwarded request lasts as long as its client waits. An invalid base URL is [memory.Invalid].
func NewForwarder(o Options) (*Forwarder, error) {
	at, err := newEndpoint(o)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	f := &Forwarder{at: at, transport: o.Transport}
	for line := range strings.Lines(identityHeaders + strings.Join(o.DropHeaders, "\n")) {
		if fields := strings.Fields(plainName(line)); len(fields) > 0 && fields[0] != "#" && (len(fields) == 1 || !at.under(fields[1])) {
			f.dropped = append(f.dropped, fields[0])
		}
	}
	return f, nil
}

// identityHeaders are the patterns of headers that identify the user.
//
//go:embed identity.txt
var identityHeaders string

// plainName converts a header's name, or a pattern, to the form for comparison.
func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// drops reports whether a header is not forwarded.
func (f *Forwarder) drops(name string) (drop bool) {
	name = plainName(name)
	for _, pattern := range f.dropped {
		pattern, keep := strings.CutPrefix(pattern, "-")
		if prefix, all := strings.CutSuffix(pattern, "*"); pattern == name || all && strings.HasPrefix(name, prefix) {
			drop = !keep
		}
	}
	return drop
}

// Do sends one request and returns the upstream's response unchanged: status, headers except hop-by-hop ones,
// and body. The body is neither decompressed nor buffered, and the caller closes it. path follows the base URL,
// escaped as the client wrote it, with its query. The headers are those of [Forwarder.header], with the
// upstream's key if configured. Redirects are not followed.
//
// A body that is not a [bytes.Reader] is streamed with the length in Content-Length. A request is retried only
// if no byte of it was written, or if its method is idempotent in HTTP.
//
// The error is [memory.Unavailable], or [memory.Invalid] for a path outside the base URL.
func (f *Forwarder) Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	u, err := f.at.url(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, f.at.unavailable("make a request: %w", err)
	}
	req.Header = f.header(header)
	if _, sized := body.(*bytes.Reader); !sized && body != nil {
		req.ContentLength = contentLength(header)
	}
	f.at.sign(req.Header)
	if req.Header.Get("User-Agent") == "" {
		req.Header["User-Agent"] = []string{""} // otherwise the transport sets its own
	}
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, f.at.unavailable("%w", withoutURL(err))
	}
	dropHopByHop(resp.Header)
	return resp, nil
}

// Close closes idle connections.
func (f *Forwarder) Close() {
	if t, ok := f.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// hopByHop are the headers that concern only one connection (RFC 9110, 7.6.1), and Expect, which the client's
// server has already handled.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
}

// header returns a copy of a client's header without the headers that end at Loci: hop-by-hop headers,
// X-Loci-*, the length (the body has it), cookies, which browsers send to every server of this host, and
// identity headers added by proxies and front ends.
func (f *Forwarder) header(client http.Header) http.Header {
	h := client.Clone()
	if h == nil {
		h = http.Header{}
	}
	dropHopByHop(h)
	h.Del("Content-Length")
	h.Del("Host")
	h.Del("Cookie")
	for name := range h {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if strings.HasPrefix(canonical, "X-Loci-") || httpx.IsForwarding(canonical) || f.drops(name) {
			delete(h, name)
		}
	}
	return h
}

func dropHopByHop(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// contentLength returns the header's value, -1 if it is unknown.
func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// withoutURL removes the URL that net/http adds to an error, because its query may contain a key.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
