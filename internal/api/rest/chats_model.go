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

// Upstream sends a request on and returns the answer, as the proxy's does.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// maxAnswer bounds what is read of an answer that comes in one piece.
const maxAnswer = 8 << 20

// Talker lets an upstream answer a chat, with the client's own key where Loci has none
// for it. What the upstream says of its failures is passed on where tells is true: it may hold what is
// nobody's business.
func Talker(u Upstream, client http.Header, tells bool) chats.Talker {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if key := client.Values("Authorization"); len(key) > 0 {
		header["Authorization"] = key
	}
	return func(ctx context.Context, model string, chat []chats.Message, heard func(string)) (chatapi.Answer, error) {
		body, err := json.Marshal(map[string]any{"model": model, "messages": chat, "stream": true})
		if err != nil {
			return chatapi.Answer{}, fmt.Errorf("encode the chat: %w", err)
		}
		resp, err := u.Do(ctx, http.MethodPost, "/chat/completions", header.Clone(), bytes.NewReader(body))
		if err != nil {
			return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream did not answer: %s", llm.Trouble(err))
		}
		defer func() { _ = resp.Body.Close() }() // read or given up on
		if resp.StatusCode != http.StatusOK {
			said := ""
			if tells {
				body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // what there is of it is told
				said = chatapi.ErrorMessage(body)
			}
			return chatapi.Answer{}, refused(resp.StatusCode, said)
		}
		if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/event-stream" {
			return readStream(resp.Body, heard)
		}
		return readWhole(resp.Body, heard)
	}
}

// refused tells an upstream's status by what the engine can do about it.
func refused(status int, said string) error {
	code := memory.Unavailable
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		code = memory.Invalid
	case http.StatusRequestEntityTooLarge:
		code = memory.TooLarge
	}
	if said != "" {
		said = ": " + httpx.Brief(said, 400)
	}
	return memory.Errorf(code, "the upstream answered with status %d%s", status, said)
}

// readStream hears an answer as it comes. What was said before it failed is returned
// with the error.
func readStream(body io.Reader, heard func(string)) (chatapi.Answer, error) {
	s := chatapi.Completions.NewStream()
	said := 0
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		_, _ = s.Write(buf[:n]) // never fails
		if text := s.Text(); len(text) > said {
			heard(text[said:])
			said = len(text)
		}
		if err == nil {
			continue
		}
		if s.Empty() && !s.Done() {
			return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
		}
		a := s.Answer()
		if len(a.Text) > said { // a refusal, or an event that lacked its empty line
			heard(a.Text[said:])
		}
		if !errors.Is(err, io.EOF) || !s.Done() {
			return a, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off")
		}
		return a, nil
	}
}

func readWhole(body io.Reader, heard func(string)) (chatapi.Answer, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer was cut off: %s", llm.Trouble(err))
	}
	a, err := chatapi.Completions.ReadAnswer(data)
	if err != nil || a.Text == "" {
		return chatapi.Answer{}, memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
	}
	heard(a.Text)
	return a, nil
}
