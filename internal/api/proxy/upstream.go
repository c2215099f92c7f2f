package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// maxAnswer is the maximum size in bytes of a recorded answer that is not streamed. Longer answers are only
// forwarded.
const maxAnswer = 16 << 20

// answerByUpstream forwards the request and sends the response to the client.
func (d *Handler) answerByUpstream(w http.ResponseWriter, r *http.Request, c *call) {
	if c.memory {
		c.exchange.RecordQuestion(r.Context())
	}
	resp, err := d.ask(r, c)
	if err != nil {
		d.record(r.Context(), c, chatapi.Answer{}) // before the response, because the client may retry at once
		d.refuseUpstream(w, r, err)
		return
	}
	defer closeBody(resp)
	c.nameTrace(w.Header())
	switch {
	case !c.memory:
		pass(w, resp)
	case isStream(resp):
		d.passStream(w, r, c, resp)
	case resp.StatusCode == http.StatusOK:
		d.passAnswer(w, r, c, resp)
	default:
		d.record(r.Context(), c, chatapi.Answer{}) // before the response, because the client may retry at once
		pass(w, resp)
	}
}

func isStream(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// relayStream sends a stream to the client event by event. The last event waits until the turns are stored. If
// the client or the upstream disconnects earlier, the received part of the answer is recorded.
func (d *Handler) passStream(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	begin(w, resp)
	out := flusher{w}
	heard := listen(resp.Header.Get("Content-Encoding"), c.dialect)
	defer heard.stop()
	buf := make([]byte, 32<<10)
	for first := true; ; {
		n, err := resp.Body.Read(buf)
		var piece []byte
		if n > 0 {
			piece = heard.pass(buf[:n])
		}
		out.write(piece)
		if first && n > 0 {
			d.Metrics.FirstByte(c.overhead(d.Now()))
			c.exchange.Answered()
			first = false
		}
		heard.hear()
		if calls := heard.stream.Calls(); calls != "" { // a client may execute the calls before the answer ends
			d.engine.Exchange.Blocks.Passed.Answered(c.owner, chatapi.Answer{ToolCalls: calls}, d.Now())
		}
		if !heard.ended() && err == nil {
			continue
		}
		a := heard.answer()
		d.record(r.Context(), c, a)
		if heard.ended() {
			out.write(c.hitsEvent(a, d.Now()))
		}
		out.write(heard.held())
		if err == nil {
			err = copyFlushing(out, resp.Body)
		}
		if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(r.Context()), httpx.ErrStopping) {
			out.write(fmt.Appendf(nil, "event: error\ndata: %s\n\n", c.dialect.EncodeError(http.StatusServiceUnavailable, "server_stopping", httpx.ErrStopping.Error(), httpx.RequestID(r.Context()))))
		}
		finish(w, resp, err)
		return
	}
}

// relayAnswer sends an answer that is not streamed to the client.
func (d *Handler) passAnswer(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		d.record(r.Context(), c, chatapi.Answer{})
		d.tellUpstream(w, r, err, "the upstream's answer was cut off")
		return
	}
	if len(body) > maxAnswer {
		defer d.record(r.Context(), c, chatapi.Answer{})
		begin(w, resp)
		flusher{w}.write(body)
		finish(w, resp, copyFlushing(flusher{w}, resp.Body))
		return
	}
	plain, err := decoded(body, resp.Header.Get("Content-Encoding"))
	var a chatapi.Answer
	if err == nil {
		a, err = c.dialect.ReadAnswer(plain)
	}
	if err != nil { // an unreadable answer is forwarded unchanged
		a = chatapi.Answer{}
	}
	d.record(r.Context(), c, a)
	if added, ok := c.withHits(plain); ok && err == nil {
		body = added
		resp.Header.Del("Content-Encoding")
	}
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	d.Metrics.FirstByte(c.overhead(d.Now()))
	_, _ = w.Write(body) // the client may have disconnected
}

// decodeBody returns a decompressed body.
func decoded(body []byte, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(z, maxAnswer)) // a truncated body is invalid JSON, so decoding it fails later
	}
	return nil, memory.Errorf(memory.Invalid, "unsupported encoding %q", encoding)
}
