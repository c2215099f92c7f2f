package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// Client calls a model server. It implements [memory.LLM] and is safe for concurrent use.
type Client struct {
	server       endpoint
	http         http.Client
	model        string
	timeout      time.Duration
	retryTimeout time.Duration
	maxTries     uint

	mu    sync.Mutex             // guards forms
	forms map[string]requestForm // form of request that the server accepts, by model
}

// ErrNoModel means that no model is configured: learning then uses the built-in rules at once.
var ErrNoModel = errors.New("no model is available")

// New returns a client. It returns [memory.Invalid] if the base URL is invalid.
func New(o Options) (*Client, error) {
	server, err := newEndpoint(o)
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return &Client{
		server: server,
		http: http.Client{
			Transport: o.Transport,
			// The API key must not be sent to the target of a redirect.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		model:        o.Model,
		timeout:      cmp.Or(o.Timeout, DefaultTimeout),
		retryTimeout: cmp.Or(o.RetryTimeout, DefaultRetryTimeout),
		maxTries:     cmp.Or(o.MaxTries, DefaultMaxTries),
		forms:        map[string]requestForm{},
	}, nil
}

// Complete calls the prompt's model or the default model. It retries without features that the server refuses.
func (c *Client) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	p.Model = cmp.Or(p.Model, c.model)
	if p.Model == "" {
		return memory.Reply{}, memory.Errorf(memory.Invalid, "no model is configured")
	}
	m := c.formOf(p.Model)
	for {
		got, err := c.requestCompletion(ctx, p, m)
		next, retry := m.nextForm(p, err)
		switch {
		case retry:
			m = next
		case err != nil:
			return memory.Reply{}, err
		default:
			c.rememberForm(p.Model, m)
			return got.reply()
		}
	}
}

// Models returns the ids of the models that the server lists, in the server's order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	body, err := c.call(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, c.server.unavailable("invalid list of models: %v", err)
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) formOf(model string) requestForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forms[model]
}

func (c *Client) rememberForm(model string, m requestForm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forms[model] = m
}

// requestCompletion sends one request in one form and returns the completion.
func (c *Client) requestCompletion(ctx context.Context, p memory.Prompt, m requestForm) (completion, error) {
	request, err := json.Marshal(m.buildRequest(p))
	if err != nil {
		return completion{}, memory.Errorf(memory.Invalid, "encode the request %q: %w", p.Name, err)
	}
	body, err := c.call(ctx, http.MethodPost, "chat/completions", request)
	if err != nil {
		return completion{}, fmt.Errorf("ask %s: %w", p.Model, err)
	}
	var got completion
	if err := json.Unmarshal(body, &got); err != nil {
		return completion{}, c.server.unavailable("invalid answer: %v", err)
	}
	if len(got.Choices) == 0 {
		return completion{}, c.server.unavailable("the answer contains no choices")
	}
	return got, nil
}

// apiKeyContextKey is the context key of [WithKey].
type apiKeyContextKey struct{}

// WithKey returns a context whose requests use this API key instead of the client's key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, apiKeyContextKey{}, key)
}

// maxResponseBytes is the maximum size of a response. It limits the memory that a faulty server can use.
const maxResponseBytes = 16 << 20

// send makes one attempt and returns the body of a successful response. It fails if the server sends no data
// for the time c.timeout.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (_ []byte, err error) {
	u, err := c.server.url(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silenceErr := c.server.unavailable("silent for %v: %w", c.timeout, context.DeadlineExceeded)
	silenceTimer := time.AfterFunc(c.timeout, func() { cancel(silenceErr) })
	defer silenceTimer.Stop()
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), silenceErr) {
			err = silenceErr
		}
	}()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, c.server.unavailable("build the request: %w", withoutURL(err))
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	server := c.server
	if key, ok := ctx.Value(apiKeyContextKey{}).(string); ok {
		server.key = key
	}
	server.setKey(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &failure{err: c.server.unavailable("%w", withoutURL(err)), canRetry: true}
	}
	defer func() { _ = resp.Body.Close() }() // the body was read, so the error has no effect
	var answer []byte
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		answer, err = readStream(resp.Body, max(minReplyLimit, len(body)), func() { silenceTimer.Reset(c.timeout) })
	} else {
		answer, err = io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	}
	switch {
	case err != nil:
		return nil, &failure{err: c.server.unavailable("the answer was cut off: %w", err), canRetry: true}
	case len(answer) > maxResponseBytes:
		return nil, c.server.unavailable("the answer is larger than %d bytes", maxResponseBytes)
	}
	return server.checkAnswer(resp, body, answer)
}

// checkAnswer returns the body of a response, or an error. Some servers send errors with status 200. The
// error omits a message that quotes the request, since errors are logged.
func (e endpoint) checkAnswer(resp *http.Response, request, answerBody []byte) ([]byte, error) {
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	isJSON := json.Valid(answerBody)
	_ = json.Unmarshal(answerBody, &answer) // if the JSON is not an object, the fields stay empty
	var streamError struct{ Code int }      // status of an error within a stream
	if resp.StatusCode == http.StatusOK && json.Unmarshal(answer.Error, &streamError) == nil && streamError.Code >= 400 {
		resp.StatusCode = streamError.Code
	}
	failed := resp.StatusCode < 200 || resp.StatusCode > 299
	if isJSON && !failed && (answer.Error == nil || string(answer.Error) == "null") {
		return answerBody, nil
	}
	text, status := errorMessage(answer.Error), resp.StatusCode
	switch {
	case !isJSON && !failed:
		media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		text = fmt.Sprintf("%s instead of JSON", cmp.Or(media, "something"))
	case !isJSON:
		text = http.StatusText(status)
	case text == "":
		text = cmp.Or(answer.Message, strings.Trim(string(answer.Detail), `"`), http.StatusText(status))
	}
	// A server may answer an unsupported response_format with an internal error: a retry would not help.
	structured := status == http.StatusInternalServerError && bytes.Contains(request, []byte(`"response_format":`))
	cleaned := e.cleanMessage(text)
	if quotesRequest(request, text) {
		cleaned = http.StatusText(status) + " (message hidden: it quotes the request)"
	}
	return nil, &failure{
		err:        e.unavailable("status %d: %s", status, cleaned),
		status:     status,
		text:       text,
		canRetry:   !structured && isRetryableStatus(status) || !failed,
		retryDelay: retryAfter(resp.Header, time.Now()),
	}
}

// errorMessage returns the message in an error field, which is an object or a string.
func errorMessage(errorField json.RawMessage) string {
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(errorField, &object) == nil && object.Message != "" {
		return object.Message
	}
	var text string
	if json.Unmarshal(errorField, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(errorField))
}

// cleanMessage returns a server's message as one line of at most 300 bytes, without the API key.
func (e endpoint) cleanMessage(s string) string {
	if e.key != "" {
		s = strings.ReplaceAll(s, e.key, "[key]")
	}
	s = strings.Join(strings.Fields(s), " ")
	const enough = 300
	if len(s) > enough {
		s = text.Clip(s, enough) + "…"
	}
	return s
}

// failureIn returns the [failure] that err wraps, or nil.
func failureIn(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}
