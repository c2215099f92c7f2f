package chatapi

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// Dialect is a model API over HTTP. It reads a request and places memory in it, reads an answer or its stream,
// and encodes Loci's own answers. All other code is common to all APIs. Only OpenAI's older dialects encode
// Loci's answers here; package translate converts chat completions to the others.
type Dialect struct {
	Path     string // path of its endpoint
	AnswerID string // prefix of its answers' ids
	Named    bool   // a request can name the answer that it continues
	Flat     bool   // a request is a single text, in which a later request cannot restore a block

	RequestID string // header with the client's request id, in addition to X-Request-Id

	// Decode reads a request; see the function [Decode].
	Decode func(body []byte) (*Chat, error)

	// EncodeAnswer encodes an answer with the text a.Text. It may be nil: see [Dialect].
	EncodeAnswer func(a Answer, created time.Time) []byte

	// EncodePiece encodes the events that add text to a streamed answer as its n-th piece, counted from 0; nil:
	// see [Dialect].
	EncodePiece func(a Answer, created time.Time, text string, n int) []byte

	// EncodeEnd encodes the events that end a stream; nil: see [Dialect].
	EncodeEnd func(a Answer, created time.Time) []byte

	// EncodeEmpty encodes the data of an event without content, to which fields can be added; nil: the dialect
	// has no such event.
	EncodeEmpty func(a Answer, created time.Time) []byte

	// EncodeError encodes an error for clients. It contains the request's id.
	EncodeError func(status int, code, message, request string) []byte

	read func(root gjson.Result, a *Answer) error // reads a whole answer
	hear func(s *Stream, event gjson.Result)      // reads one event's data
	ends func(event []byte) bool                  // reports whether an event, given at least its beginning, ends a stream
}

// Dialects lists all dialects.
var Dialects = []*Dialect{Completions, Messages, Responses, Legacy}

// Completions is the dialect of OpenAI's chat completions.
var Completions = &Dialect{
	Path: "/v1/chat/completions", AnswerID: "chatcmpl-",
	Decode:       Decode,
	EncodeAnswer: EncodeAnswer,
	EncodePiece: func(a Answer, created time.Time, text string, n int) []byte {
		return EncodeChunk(a, created, text, n == 0)
	},
	EncodeEnd:   EncodeEnd,
	EncodeEmpty: func(a Answer, created time.Time) []byte { return mustEncode(emptyChunk(a, created)) },
	EncodeError: encodeError,
	read:        readAnswer, hear: (*Stream).hearChunk, ends: endsChunks,
}

// NewStream returns a reader of a stream of the dialect.
func (d *Dialect) NewStream() *Stream { return &Stream{hear: d.hear} }

// NewGate returns a [Gate] for the dialect's stream.
func (d *Dialect) NewGate() *Gate { return &Gate{ends: d.ends} }

// endsChunks reports whether an event ends a stream of chunks.
func endsChunks(event []byte) bool {
	data, _ := eventData(event)
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// kindOf returns the type of an event from its name or, if the name is missing or "message", from its data. The
// beginning of a long event suffices.
func kindOf(event []byte) string {
	if name := eventName(event); name != "" && name != "message" {
		return name
	}
	data, _ := eventData(event)
	return gjson.GetBytes(data, "type").Str
}
