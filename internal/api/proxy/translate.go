package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/translate"
	"github.com/loci-memory/loci/memory"
)

// isTranslated reports whether requests in a dialect are sent to the upstream as chat completions.
func (d *Handler) isTranslated(dialect *chatapi.Dialect) bool {
	_, unsupported := d.unsupportedPaths.Load(dialect.Path)
	return translate.CanTranslate(dialect) && (d.ChatOnly || unsupported)
}

// isUnsupportedPath reports whether a response means that the upstream does not support the path of the call's
// dialect. If the error names the request's model or an id, then this model or id is missing, not the path.
func isUnsupportedPath(resp *http.Response, c *call) bool {
	if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed || !translate.CanTranslate(c.dialect) {
		return false
	}
	names := []string{c.Model, c.PreviousAnswerID, c.ConversationID}
	for _, m := range c.Messages {
		names = append(names, m.ItemRefs...)
	}
	plain, err := decodeBody(peekBody(resp), resp.Header.Get("Content-Encoding"))
	message := chatapi.ErrorMessage(plain)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		return name != "" && regexp.MustCompile(`(^|\W)`+regexp.QuoteMeta(name)+`(\W|$)`).MatchString(message)
	})
}

// retryTranslated sends a request as a chat completion after the upstream responded that the path does not
// exist. On success, all later requests in the dialect are translated.
func (d *Handler) retryTranslated(r *http.Request, c *call, body []byte, notFound *http.Response) (*http.Response, error) {
	resp, err := d.sendTranslated(r, c, body)
	switch {
	case err != nil:
		closeBody(notFound)
		return nil, err
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed: // the upstream has neither path
		closeBody(resp)
		return notFound, nil
	case resp.StatusCode < http.StatusMultipleChoices:
		if _, again := d.unsupportedPaths.LoadOrStore(c.dialect.Path, true); !again {
			d.Log.Info("the upstream has only chat completions; requests are translated", "path", c.dialect.Path)
		}
	}
	closeBody(notFound)
	return resp, nil
}

// sendTranslated sends a request as a chat completion and returns the response in the request's dialect.
func (d *Handler) sendTranslated(r *http.Request, c *call, body []byte) (*http.Response, error) {
	call, err := translate.New(c.dialect, body, httpx.RequestID(r.Context()), c.arrivedAt)
	if err != nil {
		return nil, err
	}
	resp, err := d.sendChatCompletion(r, c, call.Body)
	if err == nil && resp.StatusCode == http.StatusBadRequest && bytes.Contains(peekBody(resp), []byte("max_completion_tokens")) {
		closeBody(resp)
		renamed, encodeErr := call.WithCompletionLimit()
		if encodeErr != nil {
			return nil, encodeErr
		}
		resp, err = d.sendChatCompletion(r, c, renamed)
	}
	if err != nil {
		return nil, err
	}
	resp.Header.Del("Content-Length")
	switch {
	case resp.StatusCode != http.StatusOK:
		replaceBody(resp, encodeUpstreamError(c.dialect, resp, httpx.RequestID(r.Context())))
	case isStream(resp):
		resp.Body = &translatedStream{Closer: resp.Body, source: resp.Body, stream: call.Stream(), buf: make([]byte, 16<<10)}
	default:
		defer closeBody(resp)
		whole, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return nil, memory.Errorf(memory.Unavailable, "read the upstream's answer: %w", err)
		}
		answer, err := call.Answer(whole)
		if err != nil {
			resp.StatusCode = http.StatusBadGateway
			answer = c.dialect.EncodeError(resp.StatusCode, "upstream_error", err.Error(), httpx.RequestID(r.Context()))
		}
		replaceBody(resp, answer)
	}
	return resp, nil
}

// sendChatCompletion sends a translated request, with the client's key in the header that chat completions use.
func (d *Handler) sendChatCompletion(r *http.Request, c *call, body []byte) (*http.Response, error) {
	h := r.Header.Clone()
	if key := h.Get("X-Api-Key"); key != "" && h.Get("Authorization") == "" {
		h.Set("Authorization", "Bearer "+key)
	}
	for name := range h {
		if name == "X-Api-Key" || name == "Accept-Encoding" || strings.HasPrefix(name, "Anthropic-") {
			delete(h, name)
		}
	}
	path := strings.TrimPrefix(chatapi.Completions.Path, "/v1")
	began := d.Now()
	resp, err := d.sendUpstreamAt(r, http.MethodPost, path, h, bytes.NewReader(body))
	c.recordAttempt(began, d.Now(), resp)
	return resp, err
}

// encodeUpstreamError returns the upstream's error in the format of a dialect. Both APIs of OpenAI use the same
// format.
func encodeUpstreamError(dialect *chatapi.Dialect, resp *http.Response, requestID string) []byte {
	body := peekBody(resp)
	message := chatapi.ErrorMessage(body)
	if message == "" {
		message = http.StatusText(resp.StatusCode)
	}
	if dialect == chatapi.Responses && bytes.HasPrefix(bytes.TrimSpace(body), []byte(`{"error":{`)) {
		return body
	}
	return dialect.EncodeError(resp.StatusCode, "upstream_error", message, requestID)
}

// replaceBody replaces a response's body by the JSON body.
func replaceBody(resp *http.Response, body []byte) {
	closeBody(resp)
	resp.Header.Set("Content-Type", "application/json")
	resp.Body = io.NopCloser(bytes.NewReader(body))
}

// translatedStream converts a stream of chat completions to another dialect.
type translatedStream struct {
	io.Closer
	source    io.Reader
	stream    *translate.Stream
	buf       []byte
	converted []byte // converted bytes that were not read yet
	err       error  // error that Read returns after the converted bytes
}

func (t *translatedStream) Read(p []byte) (int, error) {
	for len(t.converted) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		n, err := t.source.Read(t.buf)
		t.err = err
		if t.converted = t.stream.Write(t.buf[:n]); !errors.Is(err, io.EOF) {
			continue
		}
		rest, whole := t.stream.End()
		if t.converted = append(bytes.Clone(t.converted), rest...); !whole {
			t.err = io.ErrUnexpectedEOF
		}
	}
	n := copy(p, t.converted)
	t.converted = t.converted[n:]
	return n, nil
}
