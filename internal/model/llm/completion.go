package llm

import (
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// completion contains the fields of a chat completion that Loci reads.
type completion struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   struct {
		Input  int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	} `json:"usage"`
}

// choice contains the whole Message or, in an event of a stream, the next part of it as Delta.
type choice struct {
	Message      replyMessage `json:"message"`
	Delta        replyMessage `json:"delta"`
	FinishReason string       `json:"finish_reason"`
}

type replyMessage struct {
	Content content `json:"content"`
	Refusal string  `json:"refusal"`
}

// content is the text of a message. In JSON it is a string, null, or a list of parts, whose texts are joined.
type content string

// UnmarshalJSON reads a string, null or a list of parts.
func (c *content) UnmarshalJSON(data []byte) error {
	var text *string
	if json.Unmarshal(data, &text) == nil {
		if text != nil {
			*c = content(*text)
		}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var joined strings.Builder
	for _, p := range parts {
		joined.WriteString(p.Text)
	}
	*c = content(joined.String())
	return nil
}

// answerText returns the text of the first choice without a leading <think> section.
func (g completion) answerText() string {
	text := strings.TrimSpace(string(g.Choices[0].Message.Content))
	if rest, ok := strings.CutPrefix(text, "<think>"); ok {
		if _, answer, ok := strings.Cut(rest, "</think>"); ok {
			return strings.TrimSpace(answer)
		}
	}
	return text
}

func (g completion) reply() (memory.Reply, error) {
	text := g.answerText()
	if refusal := g.Choices[0].Message.Refusal; text == "" && refusal != "" {
		return memory.Reply{}, memory.Errorf(memory.Unavailable, "model %s refused to answer", g.Model)
	}
	return memory.Reply{Text: text, Model: g.Model, InputTokens: g.Usage.Input, OutputTokens: g.Usage.Output}, nil
}
