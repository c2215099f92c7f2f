package client

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci/memory"
)

// Completion is a chat kept by its client, as sent to /v1/chat/completions.
type Completion struct {
	Model    string              `json:"model"`
	Messages []CompletionMessage `json:"messages"`
}

// CompletionMessage is one of its messages.
type CompletionMessage struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// temporary is a chat id that leaves no trace in memory.
const temporary = "local:client"

// CompleteUnnoted lets a model answer a chat without reading or writing memory. It calls heard with
// each piece of the answer, and returns the answer, which may be incomplete.
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
