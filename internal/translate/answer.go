package translate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// maxAnswerBytes is the maximum size in bytes of the texts and calls of an answer.
const maxAnswerBytes = 8 << 20

// answer is the part of the upstream's answer received so far. Texts and calls are in the order in which they
// began.
type answer struct {
	model        string
	blocks       []*outputBlock
	finishReason string // the upstream's finish_reason; "" while the answer is incomplete
	stopSequence string // stop sequence that ended the answer; "" if the server reports none
	usage        usage
	size         int // size of texts and calls in bytes, which maxAnswerBytes limits
}

// outputBlock is a text or a tool call of the answer.
type outputBlock struct {
	isCall   bool
	index    int
	id, name string          // only for a call
	text     strings.Builder // text or, for a call, arguments
}

type usage struct {
	InputTokens  float64 `json:"prompt_tokens"`
	OutputTokens float64 `json:"completion_tokens"`
	InputDetails struct {
		CachedTokens float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		ReasoningTokens float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// chunk is an event of a stream of chat completions, or a complete chat completion.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        delta           `json:"delta"`
	Message      delta           `json:"message"`
	FinishReason string          `json:"finish_reason"`
	StopReason   json.RawMessage `json:"stop_reason"` // in vLLM: the stop sequence, or the number of a token
}

type delta struct {
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
	Calls   []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// addChunk appends a chunk. A call without an id gets an id that contains idPrefix.
func (a *answer) addChunk(c chunk, idPrefix string) {
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = *c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		a.addDelta(choice.Delta, idPrefix)
		a.addDelta(choice.Message, idPrefix)
		if choice.FinishReason != "" {
			a.finishReason = choice.FinishReason
		}
		if isString(choice.StopReason) {
			_ = json.Unmarshal(choice.StopReason, &a.stopSequence) // decoding a JSON string cannot fail
		}
	}
}

func (a *answer) addDelta(d delta, idPrefix string) {
	if text := textOf(d.Content) + d.Refusal; text != "" {
		if n := len(a.blocks); n == 0 || a.blocks[n-1].isCall {
			a.blocks = append(a.blocks, &outputBlock{})
		}
		a.appendText(a.blocks[len(a.blocks)-1], text)
	}
	for _, c := range d.Calls {
		b := a.findOrAddCall(c.Index, c.ID)
		if b.id == "" {
			b.id = c.ID
		}
		if b.name == "" {
			b.name = c.Function.Name
		}
		arguments := c.Function.Arguments
		text := string(arguments) // some servers send an object instead of a string
		if isAbsentOrNull(arguments) {
			text = ""
		} else if isString(arguments) {
			_ = json.Unmarshal(arguments, &text) // decoding a JSON string cannot fail
		}
		a.appendText(b, text)
	}
	for i, b := range a.blocks {
		if b.isCall && b.id == "" && b.name != "" {
			b.id = fmt.Sprintf("call_%s_%d", idPrefix, i)
		}
	}
}

func (a *answer) appendText(b *outputBlock, text string) {
	a.size += len(text)
	if a.size <= maxAnswerBytes {
		b.text.WriteString(text)
	}
}

// findOrAddCall returns the call with this index and, unless id is empty, this id; or a new call. If the
// server omits the index (nil), id alone identifies the call, and an empty id refers to the last call.
func (a *answer) findOrAddCall(index *int, id string) *outputBlock {
	var last *outputBlock
	for _, b := range a.blocks {
		if !b.isCall {
			continue
		}
		last = b
		if index != nil && b.index == *index && (id == "" || id == b.id) || index == nil && id == b.id {
			return b
		}
	}
	if index == nil && id == "" && last != nil {
		return last
	}
	b := &outputBlock{isCall: true, id: id}
	if index != nil {
		b.index = *index
	}
	a.size += len(id) + 64
	a.blocks = append(a.blocks, b)
	return b
}

func (a *answer) hasCalls() bool {
	return slices.ContainsFunc(a.blocks, func(b *outputBlock) bool { return b.isCall })
}

// textOf returns the text of a content: a string or, from some servers, a list of parts.
func textOf(raw json.RawMessage) (text string) {
	if isAbsentOrNull(raw) || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []part
	_ = json.Unmarshal(raw, &parts) // a value of another type has no text
	return content(parts).text()
}

// writer encodes an answer in a dialect, either as the events of a stream or as one JSON value.
type writer interface {
	startStream(a *answer) []byte                      // begins the stream
	beginBlock(n int, b *outputBlock) []byte           // begins the n-th text or call
	addText(n int, b *outputBlock, text string) []byte // adds text to the n-th text or call
	endBlock(n int, b *outputBlock) []byte             // ends the n-th text or call
	closeStream(a *answer) []byte                      // ends the stream
	endWithError(message string) []byte                // ends the stream with an error
	completeAnswer(a *answer) any                      // returns the answer as one JSON value
	callIDPrefix() string                              // returns a text for the ids that Loci gives to calls without an id
}

// Answer converts a chat completion to the dialect of the request.
func (c *Exchange) Answer(completion []byte) ([]byte, error) {
	var in chunk
	if err := json.Unmarshal(completion, &in); err != nil || len(in.Choices) == 0 {
		return nil, memory.Errorf(memory.Unavailable, "the upstream's answer is not a chat completion")
	}
	w, a := c.newWriter(), &answer{}
	a.addChunk(in, w.callIDPrefix())
	return chatapi.Encode(w.completeAnswer(a))
}

// Stream returns a translator of a stream of chat completions to the dialect of the request.
func (c *Exchange) Stream() *Stream { return &Stream{writer: c.newWriter()} }

// Stream translates a stream of chat completions to a dialect in which each part of the answer ends before the
// next part begins. In chat completions, pieces of several calls may alternate until the stream ends, so parts
// after the first call are written at the end.
type Stream struct {
	writer
	events      chatapi.Events
	answer      answer
	output      []byte
	streamBegun bool
	streamEnded bool

	blockIndex   int  // index of the current part, which is being written
	blockBegun   bool // the beginning of the current part was written
	writtenBytes int  // number of bytes of the current part's text that were written
}

// Write takes the next piece of the upstream's stream and returns its translation, valid until the
// next call.
func (s *Stream) Write(p []byte) []byte {
	s.output = s.output[:0]
	s.events.Write(p, s.readEvent)
	return s.output
}

// End is called when the upstream's stream ends, and returns the rest of the translation. complete is false
// if the stream was truncated.
func (s *Stream) End() (rest []byte, complete bool) {
	s.output = s.output[:0]
	s.events.Flush(s.readEvent)
	if !s.streamEnded && s.answer.finishReason != "" {
		s.endStream()
	}
	return s.output, s.streamEnded
}

func (s *Stream) readEvent(data []byte) {
	var c chunk
	switch {
	case s.streamEnded:
	case strings.TrimSpace(string(data)) == "[DONE]":
		s.endStream()
	case json.Unmarshal(data, &c) != nil: // unreadable events are skipped
	case !isAbsentOrNull(c.Error):
		s.endWithMessage(chatapi.ErrorMessage(data))
	default:
		s.answer.addChunk(c, s.callIDPrefix())
		if s.answer.size > maxAnswerBytes {
			s.endWithMessage("the upstream's answer is too long")
			return
		}
		s.writeBlocks(false)
	}
}

func (s *Stream) endWithMessage(message string) {
	s.streamEnded = true
	s.output = append(s.output, s.writer.endWithError(message)...)
}

func (s *Stream) endStream() {
	s.writeBlocks(true)
	s.streamEnded = true
	s.output = append(s.output, s.closeStream(&s.answer)...)
}

// writeBlocks writes the received text. Blocks after the first tool call are written only if final is true.
func (s *Stream) writeBlocks(final bool) {
	if !s.streamBegun {
		s.streamBegun = true
		s.output = append(s.output, s.startStream(&s.answer)...)
	}
	for ; s.blockIndex < len(s.answer.blocks); s.blockIndex++ {
		b := s.answer.blocks[s.blockIndex]
		if b.isCall && b.name == "" && !final {
			return
		}
		if !s.blockBegun {
			s.blockBegun = true
			s.output = append(s.output, s.beginBlock(s.blockIndex, b)...)
		}
		if text := b.text.String()[s.writtenBytes:]; text != "" {
			s.writtenBytes += len(text)
			s.output = append(s.output, s.addText(s.blockIndex, b, text)...)
		}
		if !final && (b.isCall || s.blockIndex == len(s.answer.blocks)-1) {
			return
		}
		s.output = append(s.output, s.endBlock(s.blockIndex, b)...)
		s.blockBegun, s.writtenBytes = false, 0
	}
}
