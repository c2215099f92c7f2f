package chatapi

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// Answer is an upstream's answer. If the upstream sent several choices, it is the first choice.
type Answer struct {
	Role         memory.Role
	Text         string // text of the answer, or the refusal if there is no text
	ToolCalls    string // raw JSON list of tool calls; "" means none
	FinishReason string
	ID           string
	Model        string
	InputTokens  int
	OutputTokens int
	ReportUsage  bool     // the answer's stream must report its token counts (see [Chat.ReportUsage])
	Digest       string   // [Digest] of the answer as a message that a client resends
	ItemIDs      []string // ids of the answer's messages and calls, by which later requests may refer to them
}

// Empty reports whether the answer has no text and no calls.
func (a Answer) Empty() bool { return a.Text == "" && a.ToolCalls == "" }

// ReadAnswer reads a complete answer, not a stream. For any other body, such as an error, it returns
// [memory.Invalid].
func (d *Dialect) ReadAnswer(body []byte) (Answer, error) {
	if err := validateBody(body); err != nil {
		return Answer{}, err
	}
	root, a := gjson.ParseBytes(body), Answer{Role: memory.RoleAssistant}
	if err := d.readAnswer(root, &a); err != nil {
		return Answer{}, err
	}
	a.readMetadata(root)
	a.Digest = Digest(a.Role, a.Text, a.ToolCalls, "")
	return a, nil
}

// readCompletion reads the content of a chat completion into a.
func readCompletion(root gjson.Result, a *Answer) error {
	choice := firstChoice(root)
	message := choice.Get("message")
	if !message.IsObject() {
		return memory.Errorf(memory.Invalid, "choices[0].message is missing")
	}
	a.Text = contentText(message.Get("content"))
	if role := stringOf(message.Get("role")); role != "" {
		a.Role = readRole(role)
	}
	if a.Text == "" {
		a.Text = stringOf(message.Get("refusal"))
	}
	if calls := message.Get("tool_calls"); calls.IsArray() && calls.Get("#").Int() > 0 {
		a.ToolCalls = strings.Clone(calls.Raw)
	} else if call := message.Get("function_call"); call.IsObject() {
		a.ToolCalls = `[{"type":"function","function":` + call.Raw + `}]`
	}
	a.FinishReason = stringOf(choice.Get("finish_reason"))
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

// readMetadata reads the id, model and token counts of an answer, if they exist.
func (a *Answer) readMetadata(root gjson.Result) {
	if s := stringOf(root.Get("id")); s != "" {
		a.ID = s
	}
	if s := stringOf(root.Get("model")); s != "" {
		a.Model = s
	}
	usage := root.Get("usage")
	for _, name := range []string{"prompt_tokens", "input_tokens"} {
		if n := usage.Get(name).Int(); n > 0 { // some gateways also write the token counts of another dialect, as 0
			a.InputTokens = int(n)
		}
	}
	for _, name := range []string{"completion_tokens", "output_tokens"} {
		if n := usage.Get(name).Int(); n > 0 {
			a.OutputTokens = int(n)
		}
	}
}
