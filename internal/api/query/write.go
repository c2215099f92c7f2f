package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

// maxResponse is the maximum size of the upstream's response in bytes.
const maxResponse = 4 << 20

// upstreamWriter returns a function that sends a prompt to the upstream with its own or the client's API key.
func (d *Handler) upstreamWriter(model string, clientHeader http.Header) query.Writer {
	header := http.Header{"Content-Type": {"application/json"}}
	if key := clientHeader.Values("Authorization"); len(key) > 0 {
		header["Authorization"] = key
	}
	return func(ctx context.Context, p memory.Prompt, images ...string) (memory.Reply, error) {
		body, err := json.Marshal(chatRequest(model, p, images))
		if err != nil {
			return memory.Reply{}, fmt.Errorf("encode the prompt: %w", err)
		}
		resp, err := d.Upstream.Do(ctx, http.MethodPost, "/chat/completions", header.Clone(), bytes.NewReader(body))
		if err != nil {
			return memory.Reply{}, memory.Errorf(memory.Unavailable, "the upstream did not answer: %s", llm.DescribeFailure(err))
		}
		defer func() { _ = resp.Body.Close() }() // the body was read, so the error has no effect
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
		if err != nil {
			return memory.Reply{}, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off: %s", llm.DescribeFailure(err))
		}
		if resp.StatusCode != http.StatusOK {
			return memory.Reply{}, memory.Errorf(memory.Unavailable, "the upstream answered with status %d", resp.StatusCode)
		}
		parsed, err := chatapi.Completions.ReadAnswer(answer)
		if err != nil || parsed.Text == "" {
			return memory.Reply{}, memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
		}
		return memory.Reply{Text: parsed.Text, Model: parsed.Model, InputTokens: parsed.InputTokens, OutputTokens: parsed.OutputTokens}, nil
	}
}

type completionRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or a list of [contentPart] with images
}

type contentPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// chatRequest returns a chat completion request with a prompt, in which the images follow the user's text.
func chatRequest(model string, p memory.Prompt, images []string) completionRequest {
	c := completionRequest{Model: model, Messages: []chatMessage{{"system", p.System}, {"user", p.User}}}
	if len(images) == 0 {
		return c
	}
	parts := []contentPart{{Type: "text", Text: p.User}}
	for _, url := range images {
		parts = append(parts, contentPart{Type: "image_url", Image: &imageURL{url}})
	}
	c.Messages[1].Content = parts
	return c
}
