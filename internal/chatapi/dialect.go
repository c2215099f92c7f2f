package chatapi

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// Dialect describes a chat API: how to read its requests, answers and streams, and how to encode Loci's own
// answers. Package translate writes the answers of [Messages] and [Responses], which have no EncodeAnswer,
// EncodePiece, EncodeEnd and EncodeEmptyEvent.
type Dialect struct {
	Path           string // HTTP path of the endpoint
	AnswerIDPrefix string // prefix of the ids of answers
	CanContinue    bool   // a request can name the earlier answer that it continues
	SingleText     bool   // a request has one text instead of messages, so blocks of earlier requests cannot be inserted again

	RequestIDHeader string // header with the client's request id, in addition to X-Request-Id

	// Decode reads a request (see [Decode]). It sets Chat.blockEdits if completionsEdits does not fit.
	Decode func(body []byte) (*Chat, error)

	// EncodeAnswer encodes a complete answer with the text a.Text.
	EncodeAnswer func(a Answer, created time.Time) []byte

	// EncodePiece encodes the events that add text to a streamed answer. index counts the pieces from 0.
	EncodePiece func(a Answer, created time.Time, text string, index int) []byte

	// EncodeEnd encodes the events that end a stream.
	EncodeEnd func(a Answer, created time.Time) []byte

	// EncodeEmptyEvent encodes the data of an event without content, to which Loci's own fields can be added.
	EncodeEmptyEvent func(a Answer, created time.Time) []byte

	// EncodeError encodes the body of an error response; requestID is the id of the request.
	EncodeError func(status int, code, message, requestID string) []byte

	readAnswer  func(root gjson.Result, a *Answer) error // reads a complete answer
	readEvent   func(s *Stream, event gjson.Result)      // reads the data of one event
	isLastEvent func(event []byte) bool                  // reports whether an event ends a stream; needs only the first bytes of a long event
}

// Dialects lists all dialects.
var Dialects = []*Dialect{Completions, Messages, Responses, Legacy}

// Completions is the dialect of OpenAI's chat completions.
var Completions = &Dialect{
	Path: "/v1/chat/completions", AnswerIDPrefix: "chatcmpl-",
	Decode:       Decode,
	EncodeAnswer: EncodeAnswer,
	EncodePiece: func(a Answer, created time.Time, text string, n int) []byte {
		return EncodeChunk(a, created, text, n == 0)
	},
	EncodeEnd:        EncodeEnd,
	EncodeEmptyEvent: func(a Answer, created time.Time) []byte { return mustEncode(emptyChunk(a, created)) },
	EncodeError:      encodeOpenAIError,
	readAnswer:       readCompletion, readEvent: (*Stream).readChunk, isLastEvent: isChunksEnd,
}

// NewStream returns a [Stream] for the dialect.
func (d *Dialect) NewStream() *Stream { return &Stream{readEvent: d.readEvent} }

// NewGate returns a [Gate] for a stream of the dialect.
func (d *Dialect) NewGate() *Gate { return &Gate{isLastEvent: d.isLastEvent} }

// isChunksEnd reports whether an event ends a stream of chat completion chunks.
func isChunksEnd(event []byte) bool {
	data, _ := eventData(event)
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// eventType returns the type of an event from its name or, if the name is missing or "message", from its
// data. It needs only the first bytes of a long event.
func eventType(event []byte) string {
	if name := eventName(event); name != "" && name != "message" {
		return name
	}
	data, _ := eventData(event)
	return gjson.GetBytes(data, "type").Str
}
