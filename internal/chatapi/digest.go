package chatapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Digest returns a hash of a message's role, words (regardless of white space), tool calls and, for the result
// of a call, callID. toolCalls is a raw JSON list, "" for none. A leading <think> element is ignored, because
// clients drop it when they resend the answer.
func Digest(role memory.Role, text, toolCalls, callID string) string {
	return digest(role, text, readCalls(gjson.Parse(toolCalls), gjson.Result{}), callID)
}

func digest(role memory.Role, text string, calls []call, callID string, otherParts ...string) string {
	if role == memory.RoleAssistant {
		text = withoutThinking(text)
	}
	b := make([]byte, 0, min(len(text), digestBufferSize)+128)
	b = appendField(b, string(role))
	b = appendField(b, callID)
	for _, c := range calls {
		b = appendField(b, c.name)
		b = appendField(b, canonicalJSON(c.arguments))
	}
	b = append(b, ';')
	for _, other := range otherParts {
		b = appendField(b, other)
	}
	b = append(b, ';')
	hash := sha256.New()
	for word := range strings.FieldsSeq(text) {
		if b = append(append(b, word...), ' '); len(b) > digestBufferSize {
			hash.Write(b)
			b = b[:0]
		}
	}
	hash.Write(b)
	return hex.EncodeToString(hash.Sum(b[:0])[:16])
}

// digestBufferSize is the number of bytes after which the buffered words are hashed.
const digestBufferSize = 64 << 10

// appendField appends a text with its length, so that different lists of fields yield different bytes.
func appendField(b []byte, text string) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	return append(append(b, ':'), text...)
}

func withoutThinking(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<think>")
	if !ok {
		return text
	}
	if _, answer, ok := strings.Cut(rest, "</think>"); ok {
		return answer
	}
	return text
}

type call struct {
	id        string
	name      string
	arguments string // JSON as written by the model
}

// readCalls reads a list of tool calls or, if it is empty, function, the value of the older function_call field.
func readCalls(list, function gjson.Result) []call {
	var out []call
	if list.IsArray() {
		list.ForEach(func(_, v gjson.Result) bool {
			out = append(out, readCall(v))
			return true
		})
	}
	if len(out) == 0 && function.IsObject() {
		out = append(out, readFunction(function))
	}
	return out
}

func readCall(v gjson.Result) call {
	fields := members(v)
	function := fieldOf(fields, "function")
	if !function.Exists() {
		function = fieldOf(fields, "custom")
	}
	c := readFunction(function)
	c.id = stringField(fields, "id")
	return c
}

func readFunction(v gjson.Result) call {
	fields := members(v)
	arguments := fieldOf(fields, "arguments")
	if !arguments.Exists() {
		arguments = fieldOf(fields, "input")
	}
	c := call{name: stringField(fields, "name"), arguments: stringOf(arguments)}
	if arguments.Type != gjson.String {
		c.arguments = arguments.Raw // some servers send an object
	}
	return c
}

// canonicalJSON rewrites JSON in a canonical form: no white space, sorted keys, plain escapes, and unchanged
// numbers. It trims text that is not JSON.
func canonicalJSON(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return strings.TrimSpace(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return strings.TrimSpace(text)
	}
	return string(out)
}

// encodeCalls encodes calls in the format of a chat completion, or returns "" if there are none.
func encodeCalls(calls []call) string {
	if len(calls) == 0 {
		return ""
	}
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type toolCall struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var out []toolCall
	for _, c := range calls {
		out = append(out, toolCall{c.id, "function", function{c.name, c.arguments}})
	}
	return string(mustEncode(out))
}
