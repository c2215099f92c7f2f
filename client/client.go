// Package client is a typed Go client of Loci's REST API. Its types also define the JSON of the API: the
// server encodes them and the CLI decodes them. The package contains no memory logic.
package client

import (
	"bytes"
	"cmp"
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

// Client sends requests to one Loci server. It is safe for concurrent use.
type Client struct {
	base string
	opts Options
}

// Options apply to each request.
type Options struct {
	Key  string       // API key of Loci; empty means no key
	User string       // name of the user; empty means the user of the key, or the server's default user
	At   memory.At    // time as of which requests without their own time read memory; zero means the present
	HTTP *http.Client // nil uses http.DefaultClient
}

// New returns a client of the server at base, e.g. http://127.0.0.1:7077.
func New(base string, opts Options) *Client {
	if opts.HTTP == nil {
		opts.HTTP = http.DefaultClient
	}
	return &Client{base: strings.TrimRight(base, "/"), opts: opts}
}

// Add stores a fact. created is false if an equal fact exists.
func (c *Client) Add(ctx context.Context, in AddMemory) (m Written, created bool, err error) {
	status, err := c.do(ctx, http.MethodPost, "/api/memory", in, &m)
	return m, status == http.StatusCreated, err
}

// AddMessages stores messages and learns from them.
func (c *Client) AddMessages(ctx context.Context, in AddMessages) (out Added, err error) {
	return c.AddMessagesOnce(ctx, "", in)
}

// AddMessagesOnce is AddMessages with an idempotency key. If the key was used before, no message is stored.
// An empty key means no key.
func (c *Client) AddMessagesOnce(ctx context.Context, key string, in AddMessages) (Added, error) {
	return call[Added](ctx, c, http.MethodPost, "/api/memory/add", in, "Idempotency-Key", key)
}

// Search returns the memories that answer a question best.
func (c *Client) Search(ctx context.Context, in SearchRequest) (SearchAnswer, error) {
	return post[SearchAnswer](ctx, c, "/api/memory/search", in)
}

// List returns a page of memories.
func (c *Client) List(ctx context.Context, q ListQuery) (Memories, error) {
	return get[Memories](ctx, c, "/api/memory"+queryString(q))
}

// Get returns one memory.
func (c *Client) Get(ctx context.Context, id string) (Memory, error) {
	return get[Memory](ctx, c, "/api/memory/"+url.PathEscape(id))
}

// Edit changes a fact.
func (c *Client) Edit(ctx context.Context, id string, in EditMemory) (Written, error) {
	return call[Written](ctx, c, http.MethodPatch, "/api/memory/"+url.PathEscape(id), in)
}

// Delete forgets one memory.
func (c *Client) Delete(ctx context.Context, id string) (Receipt, error) {
	return remove[Receipt](ctx, c, "/api/memory/"+url.PathEscape(id))
}

// Erase removes a memory's text and all copies of it permanently. It cannot be undone. To preview the removed
// memories, call Forget with Erase and DryRun.
func (c *Client) Erase(ctx context.Context, id string) (Receipt, error) {
	return remove[Receipt](ctx, c, "/api/memory/"+url.PathEscape(id)+"?erase=true")
}

// Forget forgets the selected memories, or with DryRun only returns them.
func (c *Client) Forget(ctx context.Context, in ForgetRequest) (Forgotten, error) {
	return post[Forgotten](ctx, c, "/api/memory/forget", in)
}

// History returns the changes of one memory, newest first.
func (c *Client) History(ctx context.Context, id string) (Changes, error) {
	return get[Changes](ctx, c, "/api/memory/"+url.PathEscape(id)+"/history")
}

// Changes returns a page of the journal.
func (c *Client) Changes(ctx context.Context, q ChangesQuery) (Changes, error) {
	return get[Changes](ctx, c, "/api/changes"+queryString(q))
}

// Undo reverts changes, or with DryRun only returns the changes that would revert them.
func (c *Client) Undo(ctx context.Context, in UndoRequest) (Undone, error) {
	return post[Undone](ctx, c, "/api/changes/undo", in)
}

// Review returns a page of facts that await approval.
func (c *Client) Review(ctx context.Context, q ReviewQuery) (Review, error) {
	return get[Review](ctx, c, "/api/review"+queryString(q))
}

// Judge approves or rejects pending facts.
func (c *Client) Judge(ctx context.Context, in ReviewRequest) (Reviewed, error) {
	return post[Reviewed](ctx, c, "/api/review", in)
}

// Trace returns the trace of a request.
func (c *Client) Trace(ctx context.Context, id string) (memory.Trace, error) {
	return get[memory.Trace](ctx, c, "/api/traces/"+url.PathEscape(id))
}

// Jobs returns unfinished jobs.
func (c *Client) Jobs(ctx context.Context) (Jobs, error) {
	return get[Jobs](ctx, c, "/api/jobs")
}

// RetryJob queues a parked job again.
func (c *Client) RetryJob(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodPost, "/api/jobs/"+url.PathEscape(id)+"/retry", nil, nil)
	return err
}

// Health returns the server's health.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "/health")
}

// Ready reports whether the server accepts requests. During start and stop, the error is [memory.Unavailable].
func (c *Client) Ready(ctx context.Context) (Ready, error) {
	return get[Ready](ctx, c, "/health/ready")
}

// MCP sends one message of the Model Context Protocol and returns the server's response, even with an error
// status. profile selects the tools; empty means the default tools. headers are alternating names and values.
func (c *Client) MCP(ctx context.Context, profile string, message []byte, headers ...string) (*http.Response, error) {
	path := "/mcp"
	if profile != "" {
		path += "?profile=" + url.QueryEscape(profile)
	}
	headers = append(headers, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	return c.roundTrip(ctx, http.MethodPost, path, bytes.NewReader(message), headers...)
}

// maxResponse is the maximum size of a response body in bytes.
const maxResponse = 256 << 20

// roundTrip sends a request for the client's user and returns the response, even with an error status.
// headers are alternating names and values; headers with an empty value are omitted.
func (c *Client) roundTrip(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, error) {
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
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, &memory.Error{Code: memory.Unavailable, Err: err}
	}
	return resp, nil
}

// send is like roundTrip, but returns an error if the status is 300 or more. The caller closes the body.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	resp, err := c.roundTrip(ctx, method, path, body, headers...)
	if err != nil || resp.StatusCode < 300 {
		return resp, err
	}
	data, err := readBody(resp)
	if err != nil {
		return nil, err
	}
	return nil, problemError(resp.StatusCode, data)
}

// readBody reads and closes the body of a response.
func readBody(resp *http.Response) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }() // the body was read, so the error has no effect
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, memory.Errorf(memory.Unavailable, "read the answer: %w", err)
	}
	return data, nil
}

// decode decodes the JSON body of a response into out, unless out is nil, and closes the body.
func decode(resp *http.Response, out any) error {
	data, err := readBody(resp)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", resp.Request.Method, resp.Request.URL.Path, err)
	}
	return nil
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, nil)
}

func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	return call[T](ctx, c, http.MethodPost, path, in)
}

func remove[T any](ctx context.Context, c *Client, path string) (T, error) {
	return call[T](ctx, c, http.MethodDelete, path, nil)
}

// call sends a request and returns the decoded response.
func call[T any](ctx context.Context, c *Client, method, path string, in any, headers ...string) (out T, err error) {
	_, err = c.do(ctx, method, path, in, &out, headers...)
	return out, err
}

// do sends a request and decodes the response into out. headers are as for roundTrip.
func (c *Client) do(ctx context.Context, method, path string, in, out any, headers ...string) (status int, err error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return 0, fmt.Errorf("encode request: %w", err)
		}
		body, headers = bytes.NewReader(data), append(headers, "Content-Type", "application/json")
	}
	if method == http.MethodGet && strings.HasPrefix(path, "/api/") {
		path = withTime(path, c.opts.At)
	}
	resp, err := c.send(ctx, method, path, body, headers...)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, decode(resp, out)
}

// withTime adds the parameters as_of and valid_at to a path, unless both times are zero.
func withTime(path string, at memory.At) string {
	q := queryString(struct {
		AsOf    time.Time `query:"as_of"`
		ValidAt time.Time `query:"valid_at"`
	}{at.AsOf, at.ValidAt})
	if q != "" && strings.Contains(path, "?") {
		q = "&" + q[1:]
	}
	return path + q
}

func problemError(status int, body []byte) error {
	var p Problem
	if json.Unmarshal(body, &p) != nil || p.Title == "" {
		return memory.Errorf(memory.Unavailable, "the server answered %d: %.200s", status, body)
	}
	message := cmp.Or(p.Detail, p.Title)
	if p.Code == "" { // the server itself failed: an error of the request has a code
		return errors.New(message)
	}
	return &memory.Error{Code: p.Code, Err: errors.New(message)}
}

// queryString encodes the fields of a struct under the names in their tag query. It omits zero values.
func queryString(q any) string {
	values := url.Values{}
	for f, field := range reflect.ValueOf(q).Fields() {
		if field.IsZero() {
			continue
		}
		name := f.Tag.Get("query")
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
