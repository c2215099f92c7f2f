package chatapi

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// Dialect is one way of talking with a model over HTTP: how a request is read and
// where memory goes in it, how an answer and its stream are read, and how Loci
// itself answers in it. What an API does beside that is the same for all. Answers that
// Loci makes are written here in OpenAI's older dialects alone; package translate brings
// chat completions into the others.
type Dialect struct {
	Path     string // of its endpoint
	AnswerID string // what the ids of its answers begin with
	Named    bool   // whether a request may name the answer that it goes on from
	Flat     bool   // a request is one text: a block has no place by which a later one could put it back

	RequestID string // header by which its clients know a request, besides X-Request-Id

	// Decode reads a request; it promises what the function [Decode] does.
	Decode func(body []byte) (*Chat, error)

	// EncodeAnswer writes an answer that says a.Text; nil: see [Dialect].
	EncodeAnswer func(a Answer, created time.Time) []byte

	// EncodePiece writes the events by which a stream adds text to the answer, as
	// its n-th piece, from 0; nil: see [Dialect].
	EncodePiece func(a Answer, created time.Time, text string, n int) []byte

	// EncodeEnd writes the events that end a stream; nil: see [Dialect].
	EncodeEnd func(a Answer, created time.Time) []byte

	// EncodeEmpty writes the data of an event that says nothing, to which fields may be added;
	// nil: the dialect has none.
	EncodeEmpty func(a Answer, created time.Time) []byte

	// EncodeError writes what clients read where a request of that id went wrong.
	EncodeError func(status int, code, message, request string) []byte

	read func(root gjson.Result, a *Answer) error // what an answer says that is not streamed
	hear func(s *Stream, event gjson.Result)      // takes one event's data
	ends func(event []byte) bool                  // whether an event, or one of which this is the front, ends a stream
}

// Dialects are all there are.
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

// NewStream returns what reads along with a stream of the dialect.
func (d *Dialect) NewStream() *Stream { return &Stream{hear: d.hear} }

// NewGate returns the gate of a stream of the dialect.
func (d *Dialect) NewGate() *Gate { return &Gate{ends: d.ends} }

// endsChunks reports whether an event is the one that ends a stream of chunks.
func endsChunks(event []byte) bool {
	data, _ := eventData(event)
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// kindOf returns what an event of a typed stream is, by its name or, where that is
// missing or says nothing, by its data's type. Of a long event the front will do.
func kindOf(event []byte) string {
	if name := eventName(event); name != "" && name != "message" {
		return name
	}
	data, _ := eventData(event)
	return gjson.GetBytes(data, "type").Str
}
