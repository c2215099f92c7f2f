// Package client is a typed Go client of Loci's REST API, and the one place where
// that API's JSON is defined: the server encodes these types and the CLI decodes
// them. It holds no logic of memory.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Client talks to one Loci server. It is safe for concurrent use.
type Client struct {
	base string
	opts Options
}

// Options are what a client sends with each request.
type Options struct {
	Key  string       // Loci's key; "" for none
	User string       // whose memory; "" leaves it to the server
	At   memory.At    // the time that reads are of; zero: the present. What names a time itself is of that as well
	HTTP *http.Client // nil: http.DefaultClient
}

// New returns a client of the server at base, e.g. http://127.0.0.1:7077.
func New(base string, opts Options) *Client {
	if opts.HTTP == nil {
		opts.HTTP = http.DefaultClient
	}
	return &Client{base: strings.TrimRight(base, "/"), opts: opts}
}

// Add writes a fact down. created is false when an equal one stood there already.
func (c *Client) Add(ctx context.Context, in AddMemory) (m Written, created bool, err error) {
	status, err := c.do(ctx, http.MethodPost, "/api/memory", in, &m)
	return m, status == http.StatusCreated, err
}

// AddMessages keeps talk and learns from it.
func (c *Client) AddMessages(ctx context.Context, in AddMessages) (out Added, err error) {
	return c.AddMessagesOnce(ctx, "", in)
}

// AddMessagesOnce is AddMessages for what may be sent twice: the second time with the same
// key stores nothing. An empty key is none.
func (c *Client) AddMessagesOnce(ctx context.Context, key string, in AddMessages) (Added, error) {
	return call[Added](ctx, c, http.MethodPost, "/api/memory/add", in, "Idempotency-Key", key)
}

// usualHits is how many hits most searches ask for at most.
const usualHits = 10

// Search asks memory a question.
func (c *Client) Search(ctx context.Context, in SearchRequest) (out SearchAnswer, err error) {
	out.Hits = make([]Hit, 0, usualHits) // an answer is read into it without growing
	_, err = c.do(ctx, http.MethodPost, "/api/memory/search", in, &out)
	return out, err
}

// List returns a page of memories.
func (c *Client) List(ctx context.Context, q ListQuery) (Memories, error) {
	return call[Memories](ctx, c, http.MethodGet, "/api/memory"+queryString(q), nil)
}

// Get returns one memory.
func (c *Client) Get(ctx context.Context, id string) (Memory, error) {
	return call[Memory](ctx, c, http.MethodGet, "/api/memory/"+url.PathEscape(id), nil)
}

// Edit changes a fact.
func (c *Client) Edit(ctx context.Context, id string, in EditMemory) (Written, error) {
	return call[Written](ctx, c, http.MethodPatch, "/api/memory/"+url.PathEscape(id), in)
}

// Delete forgets one memory.
func (c *Client) Delete(ctx context.Context, id string) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodDelete, "/api/memory/"+url.PathEscape(id), nil)
}

// Erase removes the words of one memory for good, with all that says the same. It
// cannot be undone; Forget with Erase and DryRun says what would go.
func (c *Client) Erase(ctx context.Context, id string) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodDelete, "/api/memory/"+url.PathEscape(id)+"?erase=true", nil)
}

// Forget forgets what a query finds, or says what that would be.
func (c *Client) Forget(ctx context.Context, in ForgetRequest) (Forgotten, error) {
	return call[Forgotten](ctx, c, http.MethodPost, "/api/memory/forget", in)
}

// History returns one memory's changes, newest first.
func (c *Client) History(ctx context.Context, id string) (Changes, error) {
	return call[Changes](ctx, c, http.MethodGet, "/api/memory/"+url.PathEscape(id)+"/history", nil)
}

// Changes returns a page of the journal.
func (c *Client) Changes(ctx context.Context, q ChangesQuery) (Changes, error) {
	return call[Changes](ctx, c, http.MethodGet, "/api/changes"+queryString(q), nil)
}

// Undo takes changes back, or says what that would change.
func (c *Client) Undo(ctx context.Context, in UndoRequest) (Undone, error) {
	return call[Undone](ctx, c, http.MethodPost, "/api/changes/undo", in)
}

// Review returns a page of what waits for a person.
func (c *Client) Review(ctx context.Context, q ReviewQuery) (Review, error) {
	return call[Review](ctx, c, http.MethodGet, "/api/review"+queryString(q), nil)
}

// Judge decides on what waits.
func (c *Client) Judge(ctx context.Context, in ReviewRequest) (Reviewed, error) {
	return call[Reviewed](ctx, c, http.MethodPost, "/api/review", in)
}

// Trace returns what one request asked and was given.
func (c *Client) Trace(ctx context.Context, id string) (memory.Trace, error) {
	return call[memory.Trace](ctx, c, http.MethodGet, "/api/traces/"+url.PathEscape(id), nil)
}

// Jobs returns unfinished work.
func (c *Client) Jobs(ctx context.Context) (Jobs, error) {
	return call[Jobs](ctx, c, http.MethodGet, "/api/jobs", nil)
}

// RetryJob lets a parked job run again.
func (c *Client) RetryJob(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodPost, "/api/jobs/"+url.PathEscape(id)+"/retry", nil, nil)
	return err
}

// Health returns how the server is.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, http.MethodGet, "/health", nil)
}

// MCP sends one message of the Model Context Protocol and returns the server's answer, whatever
// its status. headers are names and values in turn.
func (c *Client) MCP(ctx context.Context, profile string, message []byte, headers ...string) (*http.Response, error) {
	path := "/mcp"
	if profile != "" {
		path += "?profile=" + url.QueryEscape(profile)
	}
	headers = append(headers, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	req, err := c.request(ctx, http.MethodPost, path, bytes.NewReader(message), headers...)
	if err != nil {
		return nil, err
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, &memory.Error{Code: memory.Unavailable, Err: err}
	}
	return resp, nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 256 << 20

// readAnswer reads a body, into one piece of memory where its length is known.
func readAnswer(resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; 0 < n && n <= maxAnswer {
		data := make([]byte, n)
		_, err := io.ReadFull(resp.Body, data)
		return data, err
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// request makes a request of whoever the client speaks for. headers are names and values in
// turn; those without a value are left out.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	headers = append(headers, "X-Loci-Key", c.opts.Key, "X-Loci-User", url.PathEscape(c.opts.User))
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req, nil
}

// call sends a request and returns its answer.
func call[T any](ctx context.Context, c *Client, method, path string, in any, headers ...string) (out T, err error) {
	_, err = c.do(ctx, method, path, in, &out, headers...)
	return out, err
}

// do sends a request and reads the answer. headers are as those of request.
func (c *Client) do(ctx context.Context, method, path string, in, out any, headers ...string) (status int, err error) {
	var body io.Reader
	media := ""
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, fmt.Errorf("encode request: %w", err)
		}
		body, media = bytes.NewReader(data), "application/json"
	}
	if method == http.MethodGet && strings.HasPrefix(path, "/api/") {
		path = then(path, c.opts.At)
	}
	req, err := c.request(ctx, method, path, body, append(headers, "Content-Type", media)...)
	if err != nil {
		return 0, err
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return 0, &memory.Error{Code: memory.Unavailable, Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // nothing is lost with a body that was read
	data, err := readAnswer(resp)
	if err != nil {
		return resp.StatusCode, memory.Errorf(memory.Unavailable, "read answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, problem(resp.StatusCode, data)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.StatusCode, fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return resp.StatusCode, nil
}

// then adds to a path the time that a read is of.
func then(path string, at memory.At) string {
	q := queryString(struct {
		AsOf    time.Time `query:"as_of"`
		ValidAt time.Time `query:"valid_at"`
	}{at.AsOf, at.ValidAt})
	if q != "" && strings.Contains(path, "?") {
		q = "&" + q[1:]
	}
	return path + q
}

func problem(status int, data []byte) error {
	var p Problem
	if json.Unmarshal(data, &p) != nil || p.Title == "" {
		return memory.Errorf(memory.Unavailable, "the server answered %d: %.200s", status, data)
	}
	message := p.Detail
	if message == "" {
		message = p.Title
	}
	if p.Code == "" { // the server's own failure: nothing in the request would mend it
		return errors.New(message)
	}
	return &memory.Error{Code: p.Code, Err: errors.New(message)}
}

// queryString encodes the fields tagged query, leaving zero ones out.
func queryString(q any) string {
	values := url.Values{}
	v := reflect.ValueOf(q)
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Tag.Get("query")
		if field.IsZero() {
			continue
		}
		switch x := field.Interface().(type) {
		case time.Time:
			values.Set(name, x.Format(time.RFC3339Nano))
		case int:
			values.Set(name, strconv.Itoa(x))
		default:
			values.Set(name, fmt.Sprint(x))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}
