package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// SayRequest is a message of the user in a chat.
type SayRequest struct {
	Content string `json:"content" doc:"The message. A leading /command is excluded from the search in memory."`
	Model   string `json:"model,omitempty" doc:"Name of the upstream model that answers, or loci/recall. Default: the setting chats.model or, if it is empty, the learning model."`
	Rules   string `json:"rules,omitempty" doc:"Rules for this reply only, in addition to the chat's rules."`
}

// RegenerateRequest asks for another answer to the last message.
type RegenerateRequest struct {
	Model string `json:"model,omitempty" doc:"The model, as for a message."`
	Rules string `json:"rules,omitempty" doc:"The rules, as for a message."`
}

// The names of the events of a reply. Their order is: one EventMemory, any number of EventDelta, and one
// EventDone or EventError.
const (
	EventMemory = "memory" // its data is a [ChatMemory]
	EventDelta  = "delta"  // its data is a [ChatDelta]
	EventDone   = "done"   // its data is a [ChatDone]
	EventError  = "error"  // its data is a [ChatError]
)

// ChatMemory is the data of an [EventMemory]: the memories found for the message.
type ChatMemory struct {
	Trace string `json:"trace,omitempty" doc:"Id of the trace for GET /api/traces/{id}; missing if memory was not searched."`
	Hits  []Hit  `json:"hits"`
}

// ChatDelta is the data of an [EventDelta]: the next part of the reply's text.
type ChatDelta struct {
	Content string `json:"content"`
}

// ChatDone is the data of an [EventDone]: the stored message and reply.
type ChatDone struct {
	Question *ChatMessage `json:"question" doc:"The stored message; null if it was not stored, for example while memory is paused."`
	Answer   *ChatMessage `json:"answer" doc:"The stored reply; null if it was not stored."`
	Model    string       `json:"model,omitempty"`
}

// ChatError is the data of an [EventError]: the reason why the reply is missing or incomplete. An incomplete
// reply is stored.
type ChatError struct {
	Problem
	Question *ChatMessage `json:"question"`
	Answer   *ChatMessage `json:"answer"`
}

// ChatListener contains the callbacks for the events of a reply. A nil callback is not called.
type ChatListener struct {
	Memory func(ChatMemory)
	Delta  func(ChatDelta)
}

// Say sends a message to a chat and calls a listener with the events of the reply.
func (c *Client) Say(ctx context.Context, chatID string, in SayRequest, listener ChatListener) (ChatDone, error) {
	return c.streamReply(ctx, "/api/chats/"+url.PathEscape(chatID)+"/messages", in, listener)
}

// Regenerate replaces the last reply in a chat with a new one.
func (c *Client) Regenerate(ctx context.Context, chatID string, in RegenerateRequest, listener ChatListener) (ChatDone, error) {
	return c.streamReply(ctx, "/api/chats/"+url.PathEscape(chatID)+"/messages/regenerate", in, listener)
}

func (c *Client) streamReply(ctx context.Context, path string, in any, listener ChatListener) (out ChatDone, err error) {
	ended := false
	err = c.stream(ctx, path, in, func(event string, data []byte) (err error) {
		switch event {
		case EventMemory:
			var m ChatMemory
			if err = json.Unmarshal(data, &m); err == nil && listener.Memory != nil {
				listener.Memory(m)
			}
		case EventDelta:
			var d ChatDelta
			if err = json.Unmarshal(data, &d); err == nil && listener.Delta != nil {
				listener.Delta(d)
			}
		case EventDone:
			ended = true
			err = json.Unmarshal(data, &out)
		case EventError:
			var e ChatError
			if err = json.Unmarshal(data, &e); err == nil {
				out = ChatDone{Question: e.Question, Answer: e.Answer}
				err = problemError(e.Status, data)
			}
		}
		return err
	})
	if err == nil && !ended {
		err = memory.Errorf(memory.Unavailable, "the reply was cut off")
	}
	return out, err
}

// stream posts a JSON request body and calls yield for each event of the response until yield returns an error.
func (c *Client) stream(ctx context.Context, path string, input any, yield func(event string, data []byte) error) error {
	body, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	resp, err := c.send(ctx, http.MethodPost, path, bytes.NewReader(body), "Content-Type", "application/json", "Accept", "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read, so the error has no effect
	return eachEvent(resp.Body, yield)
}

// eachEvent calls yield for each server-sent event in body.
func eachEvent(body io.Reader, yield func(event string, data []byte) error) error {
	lines := bufio.NewReader(body)
	event, data := "", []byte(nil)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimRight(line, "\r\n"); text != "" {
			name, value, _ := strings.Cut(text, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "event":
				event = value
			case "data":
				data = append(data, value...)
			}
		} else if len(data) > 0 {
			if err := yield(event, data); err != nil {
				return err
			}
			event, data = "", nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &memory.Error{Code: memory.Unavailable, Err: fmt.Errorf("the reply was cut off: %w", err)}
		}
	}
}

// ChatEvent is one event of a chat. Exactly one of Message, Recall and Change is set.
type ChatEvent struct {
	ID      string        `json:"id"`
	Type    string        `json:"type" enum:"prompt,recall,response,other,memory" doc:"prompt: a message of the user; recall: the memories found for a message; response: an answer of the model; other: a message of a tool or an application; memory: a change of memory."`
	At      time.Time     `json:"at" doc:"When the event was recorded."`
	Message *EventMessage `json:"message,omitempty"`
	Recall  *EventRecall  `json:"recall,omitempty"`
	Change  *Change       `json:"change,omitempty"`
}

// EventMessage is a message in an event.
type EventMessage struct {
	ChatMessage
	Status memory.Status `json:"status" doc:"replaced: the message was edited or regenerated later; retired: the message was forgotten, and its text is omitted."`
}

// EventRecall lists the memories found for a message.
type EventRecall struct {
	Trace    string   `json:"trace"`
	Memories []string `json:"memories" doc:"Ids of the memories, best first."`
}

// ChatEvents is a page of a chat's events, oldest first.
type ChatEvents struct {
	Events []ChatEvent `json:"events"`
	Next   string      `json:"next_cursor,omitempty"`
}

// EventsQuery selects a page of events.
type EventsQuery struct {
	Limit  int    `query:"limit" minimum:"0" maximum:"500" doc:"Events in a page; 0 means 50; at most 500."`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page."`
}

// Events returns a page of a chat's events.
func (c *Client) Events(ctx context.Context, chatID string, q EventsQuery) (ChatEvents, error) {
	return get[ChatEvents](ctx, c, "/api/chats/"+url.PathEscape(chatID)+"/events"+queryString(q))
}

// Chats returns a page of chats.
func (c *Client) Chats(ctx context.Context, q ChatsQuery) (Chats, error) {
	return get[Chats](ctx, c, "/api/chats"+queryString(q))
}
