package chatapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Answer is an upstream's answer. It contains only the first choice.
type Answer struct {
	Role         memory.Role
	Text         string // or the refusal, if there is no text
	ToolCalls    string // calls as a raw JSON list, "" for none
	Finish       string
	ID           string
	Model        string
	InputTokens  int
	OutputTokens int
	Counted      bool     // a stream must report these tokens: see [Chat.Counted]
	Digest       string   // digest of the message under which a client resends the answer
	Items        []string // ids of its messages and calls, which later requests may refer to
}

// Empty reports whether the answer has no text and no calls.
func (a Answer) Empty() bool { return a.Text == "" && a.ToolCalls == "" }

// ReadAnswer reads an answer that is not streamed. Any other body, such as an error, is [memory.Invalid].
func (d *Dialect) ReadAnswer(body []byte) (Answer, error) {
	if err := check(body); err != nil {
		return Answer{}, err
	}
	root, a := gjson.ParseBytes(body), Answer{Role: memory.RoleAssistant}
	if err := d.read(root, &a); err != nil {
		return Answer{}, err
	}
	a.readFrame(root)
	a.Digest = Digest(a.Role, a.Text, a.ToolCalls, "")
	return a, nil
}

// readAnswer reads the content of a chat completion.
func readAnswer(root gjson.Result, a *Answer) error {
	choice := firstChoice(root)
	message := choice.Get("message")
	if !message.IsObject() {
		return memory.Errorf(memory.Invalid, "choices[0].message is missing")
	}
	a.Text = contentText(message.Get("content"))
	if role := str(message.Get("role")); role != "" {
		a.Role = readRole(role)
	}
	if a.Text == "" {
		a.Text = str(message.Get("refusal"))
	}
	if calls := message.Get("tool_calls"); calls.IsArray() && calls.Get("#").Int() > 0 {
		a.ToolCalls = strings.Clone(calls.Raw)
	} else if call := message.Get("function_call"); call.IsObject() {
		a.ToolCalls = `[{"type":"function","function":` + call.Raw + `}]`
	}
	a.Finish = str(choice.Get("finish_reason"))
	return nil
}

// firstChoice returns the choice with index 0, or the first choice if none has that index.
func firstChoice(root gjson.Result) gjson.Result {
	choices := root.Get("choices")
	if !choices.IsArray() {
		return gjson.Result{}
	}
	var first, zero gjson.Result
	choices.ForEach(func(_, c gjson.Result) bool {
		if !first.Exists() {
			first = c
		}
		if i := c.Get("index"); i.Type == gjson.Number && i.Num == 0 {
			zero = c
		}
		return !zero.Exists()
	})
	if zero.Exists() {
		return zero
	}
	return first
}

// readFrame reads the fields next to the answer's content, if they exist.
func (a *Answer) readFrame(root gjson.Result) {
	if s := str(root.Get("id")); s != "" {
		a.ID = s
	}
	if s := str(root.Get("model")); s != "" {
		a.Model = s
	}
	usage := root.Get("usage")
	for _, name := range []string{"prompt_tokens", "input_tokens"} {
		if n := usage.Get(name).Int(); n > 0 { // some gateways also write the other dialect's fields, with the value 0
			a.InputTokens = int(n)
		}
	}
	for _, name := range []string{"completion_tokens", "output_tokens"} {
		if n := usage.Get(name).Int(); n > 0 {
			a.OutputTokens = int(n)
		}
	}
}
