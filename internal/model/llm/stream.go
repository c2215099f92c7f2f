package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	// tokenBytes is more than a token has in nearly every text.
	tokenBytes = 5

	// maxThoughts bounds what a model thinks and says in one reply, in bytes.
	maxThoughts = 128 << 10
)

// event is what is read of one event of a streamed completion.
type event struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content   content `json:"content"`
			Refusal   string  `json:"refusal"`
			Reasoning string  `json:"reasoning"`
			Thinking  string  `json:"reasoning_content"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func isStream(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "text/event-stream"
}

// readStream returns a streamed completion as the body and status of an answer in one piece. It calls
// progress with each event, and ends a reply of more than limit tokens; 0: any number.
func readStream(from io.Reader, limit int, progress func()) (body []byte, status int, err error) {
	var said, refusal strings.Builder
	var model string
	var usage json.RawMessage
	thought, finished, done := 0, false, false
	lines := bufio.NewScanner(io.LimitReader(from, maxAnswer))
	lines.Buffer(nil, maxAnswer)
	for !done && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // a comment that keeps the connection open, or the name of an event
		}
		progress()
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			done = true
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, 0, fmt.Errorf("an event of it cannot be read: %w", err)
		}
		if e.Error != nil && string(e.Error) != "null" {
			return bytes.Clone(data), errorStatus(e.Error), nil
		}
		if e.Model != "" {
			model = e.Model
		}
		if len(e.Usage) > 0 && string(e.Usage) != "null" {
			usage = e.Usage
		}
		if len(e.Choices) == 0 {
			continue
		}
		delta := e.Choices[0].Delta
		said.WriteString(string(delta.Content))
		refusal.WriteString(delta.Refusal)
		thought += len(delta.Reasoning) + len(delta.Thinking)
		finished = finished || e.Choices[0].Finish != ""
		done = limit > 0 && len(aloud(said.String())) > limit*tokenBytes || thought+said.Len() > maxThoughts
	}
	switch {
	case lines.Err() != nil:
		return nil, 0, lines.Err()
	case !done && !finished:
		return nil, 0, io.ErrUnexpectedEOF
	}
	message := map[string]string{"content": said.String(), "refusal": refusal.String()}
	body, err = json.Marshal(map[string]any{"model": model, "choices": []any{map[string]any{"message": message}}, "usage": usage})
	return body, http.StatusOK, err
}

// errorStatus returns the status that an error in a stream stands for.
func errorStatus(raw json.RawMessage) int {
	var is struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(raw, &is) == nil && is.Code >= 400 && is.Code < 600 {
		return is.Code
	}
	return http.StatusOK // judged as an error that comes with it
}
