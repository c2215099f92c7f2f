package client

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci/memory"
)

// Completion is a chat that its client keeps, as /v1/chat/completions takes it.
type Completion struct {
	Model    string              `json:"model"`
	Messages []CompletionMessage `json:"messages"`
}

// CompletionMessage is one message of it.
type CompletionMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// temporary names a chat that leaves nothing in memory, not even that it was.
const temporary = "local:client"

// CompleteUnnoted lets a model answer a chat without memory: none is read, and nothing of
// the chat is kept. heard is called with each piece of the answer, which is returned as
// far as it came.
func (c *Client) CompleteUnnoted(ctx context.Context, in Completion, heard func(string)) (answer string, err error) {
	body := struct {
		Completion
		Stream bool   `json:"stream"`
		Mode   string `json:"memory_mode"`
	}{in, true, "off"}
	ended := false
	err = c.stream(ctx, "/v1/chat/completions", body, func(_ string, data []byte) error {
		if string(data) == "[DONE]" {
			ended = true
			return nil
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return memory.Errorf(memory.Unavailable, "the upstream's answer cannot be read")
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			heard(chunk.Choices[0].Delta.Content)
			answer += chunk.Choices[0].Delta.Content
		}
		return nil
	}, "X-OpenWebUI-Chat-Id", temporary)
	if err == nil && !ended {
		err = memory.Errorf(memory.Unavailable, "the reply was cut off")
	}
	return answer, err
}
