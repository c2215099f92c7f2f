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

// answerByUpstream sends the request with memory to the upstream, and the response to the client.
func (d *Handler) answerByUpstream(w http.ResponseWriter, r *http.Request, c *call) {
	if c.usesMemory {
		c.exchange.RecordQuestion(r.Context())
	}
	resp, err := d.askUpstream(r, c)
	if err != nil {
		d.recordAnswer(r.Context(), c, chatapi.Answer{}) // before responding, because the client may retry at once
		d.writeNoAnswerError(w, r, err)
		return
	}
	defer closeBody(resp)
	c.setMemoryHeaders(w.Header())
	switch {
	case !c.usesMemory:
		relayResponse(w, resp)
	case isStream(resp):
		d.relayStream(w, r, c, resp)
	case resp.StatusCode == http.StatusOK:
		d.relayAnswer(w, r, c, resp)
	default:
		d.recordAnswer(r.Context(), c, chatapi.Answer{}) // before responding, because the client may retry at once
		relayResponse(w, resp)
	}
}

func isStream(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

// relayStream sends a stream to the client event by event. The last event waits until the turns are stored. If
// the client or the upstream disconnects earlier, the received part of the answer is recorded.
func (d *Handler) relayStream(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	sendHeaders(w, resp)
	out := flusher{w}
	decoder := newStreamDecoder(resp.Header.Get("Content-Encoding"), c.dialect)
	defer decoder.close()
	buf := make([]byte, 32<<10)
	for first := true; ; {
		n, err := resp.Body.Read(buf)
		var piece []byte
		if n > 0 {
			piece = decoder.accept(buf[:n])
		}
		out.write(piece)
		if first && n > 0 {
			d.Metrics.ObserveFirstByte(c.overhead(d.Now()))
			c.exchange.MarkAnswerStarted()
			first = false
		}
		decoder.decode()
		if calls := decoder.stream.TakeCalls(); calls != "" { // a client may execute the calls before the answer ends
			d.engine.Exchange.Blocks.Relayed.AddAnswer(c.owner, chatapi.Answer{ToolCalls: calls}, d.Now())
		}
		if !decoder.ended() && err == nil {
			continue
		}
		a := decoder.answer()
		d.recordAnswer(r.Context(), c, a)
		if decoder.ended() {
			out.write(c.hitsEvent(a, d.Now()))
		}
		out.write(decoder.withheldBytes())
		if err == nil {
			err = copyFlushing(out, resp.Body)
		}
		if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(r.Context()), httpx.ErrStopping) {
			out.write(fmt.Appendf(nil, "event: error\ndata: %s\n\n", c.dialect.EncodeError(http.StatusServiceUnavailable, "server_stopping", httpx.ErrStopping.Error(), httpx.RequestID(r.Context()))))
		}
		finishResponse(w, resp, err)
		return
	}
}

// relayAnswer sends an answer that is not streamed to the client.
func (d *Handler) relayAnswer(w http.ResponseWriter, r *http.Request, c *call, resp *http.Response) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		d.recordAnswer(r.Context(), c, chatapi.Answer{})
		d.writeUpstreamError(w, r, err, "the upstream's answer was cut off")
		return
	}
	if len(body) > maxAnswer {
		defer d.recordAnswer(r.Context(), c, chatapi.Answer{})
		sendHeaders(w, resp)
		flusher{w}.write(body)
		finishResponse(w, resp, copyFlushing(flusher{w}, resp.Body))
		return
	}
	plain, err := decodeBody(body, resp.Header.Get("Content-Encoding"))
	var a chatapi.Answer
	if err == nil {
		a, err = c.dialect.ReadAnswer(plain)
	}
	if err != nil { // an unreadable answer is forwarded unchanged
		a = chatapi.Answer{}
	}
	d.recordAnswer(r.Context(), c, a)
	if added, ok := c.withHits(plain); ok && err == nil {
		body = added
		resp.Header.Del("Content-Encoding")
	}
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	copyHeader(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	d.Metrics.ObserveFirstByte(c.overhead(d.Now()))
	_, _ = w.Write(body) // the client may have disconnected
}

func decodeBody(body []byte, encoding string) ([]byte, error) {
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
