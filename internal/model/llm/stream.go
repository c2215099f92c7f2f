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
	// tokenBytes is more than a token has in nearly every text.
	tokenBytes = 5

	// maxStream bounds the events of one reply, in bytes: some 16,000 tokens, thoughts included.
	maxStream = 4 << 20
)

// readStream returns a streamed completion, or an error in it, as an answer in one piece. It calls
// progress with each event, and ends a reply of more than limit tokens; 0: any number.
func readStream(from io.Reader, limit int, progress func()) ([]byte, error) {
	all := completion{Choices: make([]choice, 1)}
	said := &all.Choices[0].Message
	size, done := 0, false
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxStream)
	for !done && size < maxStream && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a comment that keeps the connection open, or the name of an event
		}
		progress()
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			return json.Marshal(all)
		}
		var part struct {
			completion
			Error *json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(data, &part); err != nil {
			return nil, fmt.Errorf("an event of it cannot be read: %w", err)
		}
		if part.Error != nil {
			return data, nil
		}
		size += len(data)
		if part.Model != "" {
			all.Model = part.Model
		}
		if part.Usage.Output > 0 {
			all.Usage = part.Usage
		}
		for _, c := range part.Choices[:min(1, len(part.Choices))] {
			said.Content += c.Delta.Content
			said.Refusal += c.Delta.Refusal
			all.Choices[0].Finish += c.Finish
		}
		done = limit > 0 && len(said.Content) > limit*tokenBytes && !strings.HasPrefix(string(said.Content), "<think>")
	}
	if !done && size < maxStream && all.Choices[0].Finish == "" {
		return nil, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	}
	return json.Marshal(all)
}
