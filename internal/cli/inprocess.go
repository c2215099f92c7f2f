package cli

import (
	"io"
	"net/http"
	"strconv"
)

// inProcess answers requests by a handler in this process, while the answer is written.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	inner := req.Clone(req.Context())
	inner.RemoteAddr = "127.0.0.1:0" // this process is as trusted as loopback
	inner.RequestURI = req.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	from, to := io.Pipe()
	w := &pipeWriter{header: http.Header{}, to: to, begun: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if recover() != nil { // how a handler cuts its answer off
				w.WriteHeader(http.StatusInternalServerError)
				_ = to.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = to.Close() // never fails
		}()
		p.handler.ServeHTTP(w, inner)
	}()
	<-w.begun
	length, err := strconv.ParseInt(w.header.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: pipeBody{from, ended}, Request: req, ContentLength: length,
	}, nil
}

// pipeBody waits, when it is closed, for who writes it.
type pipeBody struct {
	*io.PipeReader
	ended chan struct{}
}

func (b pipeBody) Close() error {
	err := b.PipeReader.Close()
	<-b.ended
	return err
}

// pipeWriter is an answer that is read while it is written.
type pipeWriter struct {
	header http.Header
	status int
	begun  chan struct{} // closed when the status is known
	to     *io.PipeWriter
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		close(w.begun)
	}
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}
