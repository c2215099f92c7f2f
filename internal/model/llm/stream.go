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
	// leastLimit is how many bytes any reply may have; no prompt asks for more than it has itself.
	leastLimit = 8 << 10

	// maxStream bounds the events of one reply, in bytes: some 16,000 tokens, thoughts included.
	maxStream = 4 << 20
)

// readStream returns a streamed completion, or an error in it, as an answer in one piece. It calls
// progress with each event, and ends a reply of more than limit bytes.
func readStream(from io.Reader, limit int, progress func()) ([]byte, error) {
	var got struct {
		completion
		Error *json.RawMessage `json:"error"`
	}
	var said words
	size, done := 0, false
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxStream)
	for size < maxStream && (len(said.Content) <= limit || strings.HasPrefix(string(said.Content), "<think>")) && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a comment that keeps the connection open, or the name of an event
		}
		progress()
		size += len(data)
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			done = true
			break
		}
		got.Choices = nil
		if err := json.Unmarshal(data, &got); err != nil {
			return nil, fmt.Errorf("an event of it cannot be read: %w", err)
		}
		if got.Error != nil {
			return data, nil
		}
		for _, c := range got.Choices {
			said.Content, said.Refusal = said.Content+c.Delta.Content, said.Refusal+c.Delta.Refusal
			done = done || c.Finish != ""
		}
	}
	if !done && size < maxStream && len(said.Content) <= limit {
		return nil, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	}
	got.Choices = []choice{{Message: said}}
	return json.Marshal(got.completion)
}
