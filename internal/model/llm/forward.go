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

// Forwarder passes a client's requests on to the upstream.
type Forwarder struct {
	at        endpoint
	transport http.RoundTripper
	dropped   []string // patterns of headers; one with - before it keeps, and the last that fits counts
}

// NewForwarder returns a forwarder to o's server; o's model and times are not
// used, since a forwarded request is as long as its client waits.
// [memory.Invalid] for a base URL that is none.
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

// identityHeaders are the patterns of headers that say who asks.
//
//go:embed identity.txt
var identityHeaders string

// plainName is a header's name, or a pattern, as patterns are compared.
func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// drops reports whether a header does not go on.
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

// Do sends one request and returns the upstream's answer as it came: status,
// headers but for the hop-by-hop ones, and body, neither decompressed nor
// buffered. The caller closes it. path is what follows the base URL, escaped as
// the client wrote it, with its query. Of the header is sent what
// [Forwarder.header] leaves, with the upstream's key in place of the client's where
// one is configured. Redirects are answers like any other.
//
// A body that is no [bytes.Reader] is streamed; its length is taken from
// Content-Length. A request is sent again only while nothing of it had been
// written, or where HTTP says that twice equals once.
//
// The error is [memory.Unavailable], or [memory.Invalid] for a path that leaves
// the base URL.
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
		req.Header["User-Agent"] = []string{""} // else the transport makes one up
	}
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, f.at.unavailable("%w", bare(err))
	}
	dropHopByHop(resp.Header)
	return resp, nil
}

// Close gives back idle connections.
func (f *Forwarder) Close() {
	if t, ok := f.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// hopByHop are the headers that are about one connection (RFC 9110, 7.6.1), and
// Expect, which was settled with the client before its body was read.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
}

// header returns a copy of a client's header without what ends at Loci: what is about the
// connection, X-Loci-*, the length (which the body tells), cookies, which a browser sends to
// every server of this machine's name, and what proxies and front ends say of who asks.
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

// contentLength returns what the header says, -1 for unknown.
func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// bare strips the URL that net/http puts around an error: its query may hold a
// key.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
