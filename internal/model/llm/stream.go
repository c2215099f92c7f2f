package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// A reply may be as long as its request or, if the request is shorter, minReplyLimit bytes.
	minReplyLimit = 8 << 10

	// maxStream is the maximum total size in bytes of a reply's events: some 16,000 tokens with reasoning.
	maxStream = 4 << 20
)

// readStream returns the completion or the error in a stream, as the JSON of an unstreamed response. It calls
// onEvent for each event, and stops reading when the reply is longer than limit bytes.
func readStream(body io.Reader, limit int, onEvent func()) ([]byte, error) {
	var got struct {
		completion
		Error *json.RawMessage `json:"error"`
	}
	var message replyMessage
	size, done := 0, false
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxStream)
	for size < maxStream && (len(message.Content) <= limit || strings.HasPrefix(string(message.Content), "<think>")) && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a keep-alive comment or the name of an event
		}
		onEvent()
		size += len(data)
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			done = true
			break
		}
		got.Choices = nil
		if err := json.Unmarshal(data, &got); err != nil {
			return nil, fmt.Errorf("invalid event in the stream: %w", err)
		}
		if got.Error != nil {
			return data, nil
		}
		for _, c := range got.Choices {
			message.Content, message.Refusal = message.Content+c.Delta.Content, message.Refusal+c.Delta.Refusal
			done = done || c.FinishReason != ""
		}
	}
	if !done && size < maxStream && len(message.Content) <= limit {
		return nil, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	}
	got.Choices = []choice{{Message: message}}
	return json.Marshal(got.completion)
}
