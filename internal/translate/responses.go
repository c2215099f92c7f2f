package translate

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loci-memory/loci/memory"
)

// responsesRequest is a request of the Responses API with the fields that can be translated, and some that are
// refused.
type responsesRequest struct {
	Model             string          `json:"model"`
	Instructions      string          `json:"instructions"`
	Input             json.RawMessage `json:"input"`
	MaxTokens         *float64        `json:"max_output_tokens"`
	Temperature       *float64        `json:"temperature"`
	TopP              *float64        `json:"top_p"`
	Stream            bool            `json:"stream"`
	User              string          `json:"user"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	Tools             json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	Metadata          json.RawMessage `json:"metadata"`
	Text              struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict"`
		} `json:"format"`
	} `json:"text"`

	// Requests with one of these fields are refused, because they refer to state on the server.
	PreviousResponseID string          `json:"previous_response_id"`
	Conversation       json.RawMessage `json:"conversation"`
	Prompt             json.RawMessage `json:"prompt"`
	Background         bool            `json:"background"`
}

// responseTool is a tool or a tool choice of the Responses API.
type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Tools       []responseTool  `json:"tools"` // only for a namespace
}

// toolName is a function's name and its namespace ("" for none).
type toolName struct{ namespace, name string }

// flatName returns the function's name for chat completions, which have no namespaces.
func (n toolName) flatName() string {
	if n.namespace == "" {
		return n.name
	}
	return n.namespace + "__" + n.name
}

type item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func readResponses(c *Exchange, body []byte, id string, created time.Time) error {
	var in responsesRequest
	if err := decode(body, "", &in); err != nil {
		return err
	}
	if err := in.refuseStoredState(); err != nil {
		return err
	}
	out := &c.request
	*out = chatRequest{
		Model: in.Model, Stream: in.Stream, MaxTokens: in.MaxTokens, Temperature: in.Temperature, TopP: in.TopP, User: in.User,
	}
	out.addSystem(in.Instructions)
	if err := in.addInput(out); err != nil {
		return err
	}
	names, err := in.addTools(out)
	if err != nil {
		return err
	}
	switch f := in.Text.Format; f.Type {
	case "json_schema":
		out.ResponseFormat = schemaFormat(f.Name, f.Schema, f.Strict)
	case "json_object":
		out.ResponseFormat = struct {
			Type string `json:"type"`
		}{f.Type}
	}
	c.newWriter = func() writer { return newResponsesWriter(in, names, id, created) }
	return nil
}

// refuseStoredState returns [memory.Invalid] for a request that refers to state stored on the server.
func (in responsesRequest) refuseStoredState() error {
	for field, set := range map[string]bool{
		"previous_response_id": in.PreviousResponseID != "", "conversation": !isAbsentOrNull(in.Conversation), "prompt": !isAbsentOrNull(in.Prompt), "background": in.Background,
	} {
		if set {
			return memory.Errorf(memory.Invalid, "%s: an upstream that has only chat completions does not store responses; send the whole input with each request", field)
		}
	}
	return nil
}

// addInput translates a text or a list of items. Consecutive texts and calls of the model are merged into one
// message.
func (in responsesRequest) addInput(out *chatRequest) error {
	if isAbsentOrNull(in.Input) {
		return nil
	}
	if isString(in.Input) {
		var c content
		text := ""
		err := decode(in.Input, "input", &text)
		c.addText(text)
		out.addUser(c)
		return err
	}
	var items []item
	if err := decode(in.Input, "input", &items); err != nil {
		return err
	}
	var text, images content // the model's text, and images in tool results, from the items since the last message
	var calls []chatCall
	for i, it := range items {
		where := fmt.Sprintf("input[%d]", i)
		isMessage := it.Type == "message" || it.Type == "" && it.Role != ""
		isOmitted := it.Type == "reasoning" || isProviderTool(it.Type) // reasoning, or a call of a tool that the provider ran
		if !isOmitted && it.Type != "function_call" && !(isMessage && it.Role == "assistant") {
			out.addAssistant(text, calls)
			text, calls = nil, nil
		}
		if isMessage || it.Type == "function_call" {
			out.addUser(images)
			images = nil
		}
		switch {
		case isMessage:
			c, err := partsOf(it.Content, where+".content")
			if err != nil {
				return err
			}
			switch it.Role {
			case "assistant":
				text = append(text, c...)
			case "user":
				out.addUser(c)
			case "system", "developer":
				out.addSystem(c.text())
			default:
				return memory.Errorf(memory.Invalid, "%s: unknown role %q", where, it.Role)
			}
		case it.Type == "function_call":
			calls = append(calls, newCall(it.CallID, toolName{it.Namespace, it.Name}.flatName(), it.Arguments))
		case it.Type == "function_call_output":
			c, err := partsOf(it.Output, where+".output")
			if err != nil {
				return err
			}
			images = append(images, out.addToolResult(it.CallID, c)...)
		case isOmitted:
		case it.Type == "item_reference" || it.Type == "" && it.ID != "":
			return memory.Errorf(memory.Invalid, "%s: an upstream that has only chat completions does not store items; send the item itself (many clients do with store: false)", where)
		default:
			return untranslatableError(where, "an item of type %q", it.Type)
		}
	}
	out.addAssistant(text, calls)
	out.addUser(images)
	return nil
}

// partsOf reads a content, which is a string or a list of parts. path names the content in errors.
func partsOf(raw json.RawMessage, path string) (c content, err error) {
	if isAbsentOrNull(raw) {
		return nil, nil
	}
	if isString(raw) {
		text := ""
		err := decode(raw, path, &text)
		c.addText(text)
		return c, err
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
		Image   string `json:"image_url"`
		Detail  string `json:"detail"`
	}
	if err := decode(raw, path, &parts); err != nil {
		return nil, err
	}
	for i, p := range parts {
		switch {
		case p.Type == "input_text" || p.Type == "output_text" || p.Type == "text":
			c.addText(p.Text)
		case p.Type == "refusal":
			c.addText(p.Refusal)
		case p.Type == "input_image" && p.Image != "":
			c.addImage(p.Image, p.Detail)
		case p.Type == "input_image":
			return nil, untranslatableError(fmt.Sprintf("%s[%d]", path, i), "an image without image_url")
		default:
			return nil, untranslatableError(fmt.Sprintf("%s[%d]", path, i), "a part of type %q", p.Type)
		}
	}
	return c, nil
}

// addTools translates the tools and the tool choice. It returns the names of the functions that are in
// namespaces, by [toolName.flatName].
func (in responsesRequest) addTools(out *chatRequest) (map[string]toolName, error) {
	var tools []responseTool
	if !isAbsentOrNull(in.Tools) {
		if err := decode(in.Tools, "tools", &tools); err != nil {
			return nil, err
		}
	}
	names := map[string]toolName{}
	if err := out.addTools(tools, "", "tools", names); err != nil {
		return nil, err
	}
	if len(out.Tools) > 0 {
		out.ParallelToolCalls = in.ParallelToolCalls
	}
	return names, in.setToolChoice(out)
}

func (r *chatRequest) addTools(tools []responseTool, namespace, path string, names map[string]toolName) error {
	for i, t := range tools {
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case t.Type == "function":
			name := toolName{namespace, t.Name}
			if namespace != "" {
				names[name.flatName()] = name
			}
			r.Tools = append(r.Tools, chatTool{"function", function{name.flatName(), t.Description, t.Parameters, t.Strict}})
		case t.Type == "namespace" && namespace == "":
			if err := r.addTools(t.Tools, t.Name, at+".tools", names); err != nil {
				return err
			}
		case !isProviderTool(t.Type):
			return untranslatableError(at+".type", "a tool of type %q", t.Type)
		}
	}
	return nil
}

func (in responsesRequest) setToolChoice(out *chatRequest) error {
	if isAbsentOrNull(in.ToolChoice) {
		return nil
	}
	var choice responseTool
	if isString(in.ToolChoice) {
		mode := ""
		err := decode(in.ToolChoice, "tool_choice", &mode)
		if len(out.Tools) > 0 {
			out.ToolChoice = mode
		}
		return err
	}
	if err := decode(in.ToolChoice, "tool_choice", &choice); err != nil {
		return err
	}
	if choice.Type != "function" {
		return untranslatableError("tool_choice", "a choice of type %q", choice.Type)
	}
	return out.requireTool(choice.Name)
}
