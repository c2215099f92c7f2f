package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// maxAnswer bounds what is read of an answer that is not streamed.
const maxAnswer = 64 << 20

// answerByUpstream sends the request on and brings the answer back.
func (d *Door) answerByUpstream(w http.ResponseWriter, r *http.Request, c *call) {
	if c.memory {
		c.exchange.RecordQuestion(r.Context())
	}
	resp, err := d.ask(r, c)
	if err != nil {
		d.refuseUpstream(w, r, err)
		d.record(r, c, wire.Answer{})
		return
	}
	defer closeBody(resp)
	if c.memory {
		w.Header().Set(HeaderTrace, c.prepared.Trace)
	}
	if isStream(resp) {
		d.passStream(w, r, c, resp)
		return
	}
	d.passAnswer(w, r, c, resp)
}

// ask sends the request with memory and, if that is refused in a way that memory
// may have caused, the client's own bytes once more.
func (d *Door) ask(r *http.Request, c *call) (*http.Response, error) {
	if c.memory {
		readableEncodings(r.Header)
	}
	bare := c.Bare()
	placement := d.Placement
	if placement == wire.Tail && d.strict.has(c.Model) {
		placement = wire.User
	}
	body := c.With(c.prepared.Block, placement)
	c.sent = d.Now()
	resp, err := d.send(r, body)
	c.answered = d.Now()
	if err != nil || !refusesMemory(resp.StatusCode) || bytes.Equal(body, bare) {
		return resp, err
	}
	closeBody(resp)
	again, err := d.send(r, bare)
	if err == nil && again.StatusCode < http.StatusMultipleChoices && placement == wire.Tail {
		d.strict.add(c.Model)
	}
	c.prepared.Block = "" // what was answered had no memory
	return again, err
}

func (d *Door) send(r *http.Request, body []byte) (*http.Response, error) {
	return d.Upstream.Do(r.Context(), http.MethodPost, upstreamPath(r), r.Header, bytes.NewReader(body))
}

// refusesMemory reports whether a status may mean that the upstream could not
// take the request with a memory message in it.
func refusesMemory(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}

// readableEncodings leaves of what the client accepts only what can be read for
// recording.
func readableEncodings(h http.Header) {
	if h.Get("Accept-Encoding") == "" {
		return
	}
	readable := "identity"
	for e := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(e), ";")
		if strings.EqualFold(name, "gzip") || name == "*" {
			readable = "gzip"
		}
	}
	h.Set("Accept-Encoding", readable)
}

func isStream(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// passStream brings a stream back event by event. The event that ends it waits
// until the turns are stored; a client or an upstream that hangs up midway leaves
// what was said so far.
func (d *Door) passStream(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	out := flusher{w}
	var gate wire.Gate
	heard := newListener(resp.Header.Get("Content-Encoding"))
	first := true
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			heard.write(buf[:n])
			out.write(gate.Pass(buf[:n]))
			if first {
				d.Metrics.FirstByte(c.overhead(d.Now()))
				first = false
			}
		}
		if gate.Ended() || err != nil {
			d.record(r, c, heard.answer())
			out.write(gate.Held())
			if err == nil {
				copyFlushing(w, resp.Body)
			} else if !errors.Is(err, io.EOF) {
				panic(http.ErrAbortHandler) // the client must see that it was cut off
			}
			return
		}
	}
}

// passAnswer brings back an answer that comes in one piece.
func (d *Door) passAnswer(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	if !c.memory || resp.StatusCode != http.StatusOK {
		copyHeader(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		d.record(r, c, wire.Answer{})
		copyFlushing(w, resp.Body)
		return
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		d.record(r, c, wire.Answer{})
		d.refuseUpstream(w, r, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off or is too long"))
		return
	}
	plain, ok := decoded(body, resp.Header.Get("Content-Encoding"))
	a, err := wire.ReadAnswer(plain)
	if !ok || err != nil {
		a = wire.Answer{}
	}
	d.record(r, c, a)
	if ok && err == nil {
		if added := d.withHits(plain, c); len(added) != len(plain) {
			body = added
			resp.Header.Del("Content-Encoding")
		}
	}
	copyHeader(w.Header(), resp.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(resp.StatusCode)
	d.Metrics.FirstByte(c.overhead(d.Now()))
	_, _ = w.Write(body) // a client that is gone is no error of ours
}

// record hands the answer to the engine and waits until it is stored, or the
// engine has given up: then the chat goes on without.
func (d *Door) record(r *http.Request, c *call, a wire.Answer) {
	if c.memory {
		c.exchange.RecordAnswer(context.WithoutCancel(r.Context()), a)
	}
}

// listener accumulates what a stream says, whatever its encoding.
type listener struct {
	stream wire.Stream
	pipe   *io.PipeWriter // of a compressed stream; nil otherwise
	done   chan struct{}
}

func newListener(encoding string) *listener {
	l := &listener{}
	if !strings.EqualFold(encoding, "gzip") {
		return l
	}
	read, write := io.Pipe()
	l.pipe, l.done = write, make(chan struct{})
	go func() {
		defer close(l.done)
		if z, err := gzip.NewReader(read); err == nil {
			_, _ = io.Copy(&l.stream, z) // what can be read is kept
		}
		_, _ = io.Copy(io.Discard, read) // never block the writer
	}()
	return l
}

func (l *listener) write(p []byte) {
	if l.pipe != nil {
		_, _ = l.pipe.Write(p) // its reader takes everything
		return
	}
	_, _ = l.stream.Write(p) // never fails
}

// answer returns what was said, once nothing more comes.
func (l *listener) answer() wire.Answer {
	if l.pipe != nil {
		_ = l.pipe.Close() // its reader ends
		<-l.done
	}
	if l.stream.Empty() {
		return wire.Answer{}
	}
	return l.stream.Answer()
}

func decoded(body []byte, encoding string) ([]byte, bool) {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, true
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, false
		}
		plain, err := io.ReadAll(io.LimitReader(z, maxAnswer))
		return plain, err == nil
	}
	return nil, false
}
