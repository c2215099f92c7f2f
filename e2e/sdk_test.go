package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// clientKey is what the SDK sends as its bearer.
const clientKey = "sk-of-the-client"

// sdk returns an OpenAI client that only knows the server's base URL.
func (l *loci) sdk(opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(l.url + "/v1"), option.WithAPIKey(clientKey), option.WithMaxRetries(0),
	}, opts...)...)
}

// as names the user that a client speaks for.
func as(name string) option.RequestOption { return option.WithHeader("X-Loci-User", name) }

// keyed gives each request a key, the same to the same body: without its history nothing else
// proves that a client asks again.
func keyed() option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Idempotency-Key", fmt.Sprintf("%x", sha256.Sum256(body)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		return next(r)
	})
}

// spying keeps the body of the client's latest request.
func spying(sent *[]byte) option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		*sent = body
		r.Body = io.NopCloser(bytes.NewReader(body))
		return next(r)
	})
}

// chat is a conversation as clients hold it: all of it goes with each request.
type chat struct {
	client  openai.Client
	history []openai.ChatCompletionMessageParamUnion
}

// say says something, and fails the test without an answer.
func (c *chat) say(t *testing.T, text string) *openai.ChatCompletion {
	t.Helper()
	c.history = append(c.history, openai.UserMessage(text))
	return c.send(t)
}

func (c *chat) send(t *testing.T) *openai.ChatCompletion {
	t.Helper()
	answer, err := c.try(t.Context())
	if err != nil {
		t.Fatalf("chat: %v", err)
	}
	return answer
}

// try sends the history as it is; an answer becomes part of it.
func (c *chat) try(ctx context.Context) (*openai.ChatCompletion, error) {
	answer, err := c.client.Chat.Completions.New(ctx, c.params())
	if err == nil {
		c.history = append(c.history, answer.Choices[0].Message.ToParam())
	}
	return answer, err
}

// tryStream is try with a streamed answer.
func (c *chat) tryStream(ctx context.Context) (string, error) {
	stream := c.client.Chat.Completions.NewStreaming(ctx, c.params())
	defer stream.Close()
	var answer openai.ChatCompletionAccumulator
	for stream.Next() {
		answer.AddChunk(stream.Current())
	}
	if stream.Err() != nil {
		return "", stream.Err()
	}
	c.history = append(c.history, answer.Choices[0].Message.ToParam())
	return answer.Choices[0].Message.Content, nil
}

func (c *chat) params() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "scripted", Messages: c.history}
}

// hit is one entry of the memory_hits that an answer carries.
type hit struct {
	ID, Kind, Role, Content string
	Score                   float64
	Core                    bool
}

// hitsOf reads the field that Loci adds; ok is false without it.
func hitsOf(t *testing.T, answer *openai.ChatCompletion) (hits []hit, ok bool) {
	t.Helper()
	field, ok := answer.JSON.ExtraFields["memory_hits"]
	if !ok {
		return nil, false
	}
	if err := json.Unmarshal([]byte(field.Raw()), &hits); err != nil {
		t.Fatalf("memory_hits is %s: %v", field.Raw(), err)
	}
	return hits, true
}

// message is one message of a request, with its bytes.
type message struct {
	raw           json.RawMessage
	Role, Content string
}

// isBlock tells the memory that Loci puts into a request from what the client says.
func (m message) isBlock() bool {
	return m.Role == "system" && strings.HasPrefix(m.Content, "<loci-memory>")
}

// messages reads a request's messages.
func messages(t *testing.T, body []byte) []message {
	t.Helper()
	var in struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatalf("a request that is not JSON: %v\n%s", err, body)
	}
	var out []message
	for _, raw := range in.Messages {
		var fields struct {
			Role    string
			Content json.RawMessage
		}
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatalf("a message that is none: %v\n%s", err, raw)
		}
		m := message{raw: raw, Role: fields.Role}
		_ = json.Unmarshal(fields.Content, &m.Content) // parts and null have no text
		out = append(out, m)
	}
	return out
}

// blockOf returns the bytes of the memory in a request, "" without any. Wherever
// it stands but just before the last user message, the test fails.
func blockOf(t *testing.T, body []byte) string {
	t.Helper()
	block, at, last := "", -1, -1
	for i, m := range messages(t, body) {
		if m.isBlock() {
			if at >= 0 {
				t.Errorf("two memory messages in one request:\n%s", body)
			}
			block, at = string(m.raw), i
		}
		if m.Role == "user" {
			last = i
		}
	}
	if at >= 0 && at != last-1 {
		t.Errorf("the memory is message %d, the last user message is %d; want it just before:\n%s", at, last, body)
	}
	return block
}

// withoutBlock takes the memory out of a request, and leaves every other byte.
func withoutBlock(t *testing.T, body []byte) string {
	t.Helper()
	block := blockOf(t, body)
	if block == "" {
		return string(body)
	}
	return strings.Replace(string(body), block+",", "", 1)
}
