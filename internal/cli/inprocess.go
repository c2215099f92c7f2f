package cli

import (
	"bytes"
	"io"
	"net/http"
)

// inProcess answers requests by a handler in this process, whole answers only.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	inner := req.Clone(req.Context())
	inner.RemoteAddr = "127.0.0.1:0" // this process is as trusted as loopback
	inner.RequestURI = req.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(rec, inner)
	return &http.Response{
		Status:     http.StatusText(rec.status),
		StatusCode: rec.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  rec.header,
		Body:    io.NopCloser(&rec.body),
		Request: req,
	}, nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
