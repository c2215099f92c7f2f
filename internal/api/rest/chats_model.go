package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

// Upstream sends a request to the upstream and returns the response, like [proxy.Upstream].
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// maxAnswer is the maximum size in bytes of an answer that is not streamed.
const maxAnswer = 8 << 20

// NewChatModel returns a model that answers chats through an upstream, with the client's key if Loci has no key.
// With showErrors, the model's errors contain the upstream's error messages, which may be private.
func NewChatModel(u Upstream, clientHeader http.Header, showErrors bool) chats.ChatModel {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if key := clientHeader.Values("Authorization"); len(key) > 0 {
		header["Authorization"] = key
	}
	return func(ctx context.Context, model string, chat []chats.Message, onText func(string)) (chatapi.Answer, error) {
		body, err := json.Marshal(map[string]any{"model": model, "messages": chat, "stream": true})
		if err != nil {
			return chatapi.Answer{}, fmt.Errorf("encode the chat: %w", err)
		}
		resp, err := u.Do(ctx, http.MethodPost, "/chat/completions", header.Clone(), bytes.NewReader(body))
		if err != nil {
			return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream did not answer: %s", llm.DescribeFailure(err))
		}
		defer func() { _ = resp.Body.Close() }() // the body was only read
		if resp.StatusCode != http.StatusOK {
			message := ""
			if showErrors {
				body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // a partial message is useful too
				message = chatapi.ErrorMessage(body)
			}
			return chatapi.Answer{}, upstreamError(resp.StatusCode, message)
		}
		if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/event-stream" {
			return readStream(resp.Body, onText)
		}
		return readFullAnswer(resp.Body, onText)
	}
}

// upstreamError maps an upstream's error status to the error code that the engine acts on.
func upstreamError(status int, message string) error {
	code := memory.Unavailable
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		code = memory.Invalid
	case http.StatusRequestEntityTooLarge:
		code = memory.TooLarge
	}
	if message != "" {
		message = ": " + httpx.Truncate(message, 400)
	}
	return memory.Errorf(code, "the upstream answered with status %d%s", status, message)
}

// readStream passes each part of an answer to onText. On failure, it returns the received text with the error.
func readStream(body io.Reader, onText func(string)) (chatapi.Answer, error) {
	s := chatapi.Completions.NewStream()
	sent := 0
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		_, _ = s.Write(buf[:n]) // never fails
		if text := s.Text(); len(text) > sent {
			onText(text[sent:])
			sent = len(text)
		}
		if err == nil {
			continue
		}
		if s.Empty() && !s.Done() {
			return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
		}
		a := s.Answer()
		if len(a.Text) > sent { // text that onText did not get yet: a refusal, or an event without its final empty line
			onText(a.Text[sent:])
		}
		if !errors.Is(err, io.EOF) || !s.Done() {
			return a, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off")
		}
		return a, nil
	}
}

func readFullAnswer(body io.Reader, onText func(string)) (chatapi.Answer, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off: %s", llm.DescribeFailure(err))
	}
	a, err := chatapi.Completions.ReadAnswer(data)
	if err != nil || a.Text == "" {
		return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
	}
	onText(a.Text)
	return a, nil
}
