package chatapi

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// Dialect is a model API over HTTP: how to read a request and place memory in it, how to read an
// answer and its stream, and how Loci itself answers. Everything else is common to all APIs. Loci's
// own answers are encoded here only in OpenAI's older dialects; package translate converts chat
// completions to the others.
type Dialect struct {
	Path     string // of its endpoint
	AnswerID string // the prefix of its answers' ids
	Named    bool   // a request may name the answer that it continues
	Flat     bool   // a request is one text, in which a later request cannot put a block back

	RequestID string // header with its clients' request id, in addition to X-Request-Id

	// Decode reads a request, with the contract of the function [Decode].
	Decode func(body []byte) (*Chat, error)

	// EncodeAnswer writes an answer with a.Text; nil: see [Dialect].
	EncodeAnswer func(a Answer, created time.Time) []byte

	// EncodePiece writes the events that add text to a streamed answer as its n-th piece, from 0;
	// nil: see [Dialect].
	EncodePiece func(a Answer, created time.Time, text string, n int) []byte

	// EncodeEnd writes the events that end a stream; nil: see [Dialect].
	EncodeEnd func(a Answer, created time.Time) []byte

	// EncodeEmpty writes the data of an event without content, to which fields may be added; nil:
	// the dialect has none.
	EncodeEmpty func(a Answer, created time.Time) []byte

	// EncodeError writes an error for clients with the request's id.
	EncodeError func(status int, code, message, request string) []byte

	read func(root gjson.Result, a *Answer) error // reads a whole answer
	hear func(s *Stream, event gjson.Result)      // reads one event's data
	ends func(event []byte) bool                  // whether an event, or one that begins so, ends a stream
}

// Dialects are all dialects.
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

// NewGate returns the gate of a stream of the dialect.
func (d *Dialect) NewGate() *Gate { return &Gate{ends: d.ends} }

// endsChunks reports whether an event ends a stream of chunks.
func endsChunks(event []byte) bool {
	data, _ := eventData(event)
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// kindOf returns the type of an event by its name or, if that is missing or "message", by its data.
// The beginning of a long event suffices.
func kindOf(event []byte) string {
	if name := eventName(event); name != "" && name != "message" {
		return name
	}
	data, _ := eventData(event)
	return gjson.GetBytes(data, "type").Str
}
