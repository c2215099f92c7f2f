package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// messagesRequest is a request of the Messages API with the fields that can be translated.
type messagesRequest struct {
	Model    string          `json:"model"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	MaxTokens     *float64 `json:"max_tokens"`
	StopSequences []string `json:"stop_sequences"`
	Temperature   *float64 `json:"temperature"`
	TopP          *float64 `json:"top_p"`
	Stream        bool     `json:"stream"`
	Tools         []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		Strict      *bool           `json:"strict"`
	} `json:"tools"`
	ToolChoice *struct {
		Type            string `json:"type"`
		Name            string `json:"name"`
		DisableParallel bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	OutputConfig struct {
		Format *outputFormat `json:"format"`
	} `json:"output_config"`
	OutputFormat *outputFormat `json:"output_format"` // former name of output_config.format
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Title   string          `json:"title"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Source  json.RawMessage `json:"source"` // a string in a search result, otherwise an object
}

// billingPrefix is the beginning of a system text that Claude Code sends for Anthropic's servers. The text
// differs between requests and would defeat a server's prompt cache.
const billingPrefix = "x-anthropic-billing-header:"

func readMessages(c *Exchange, body []byte, id string, created time.Time) error {
	var in messagesRequest
	if err := decode(body, "", &in); err != nil {
		return err
	}
	out := &c.request
	*out = chatRequest{Model: in.Model, Stream: in.Stream, MaxTokens: in.MaxTokens, Stop: in.StopSequences, Temperature: in.Temperature, TopP: in.TopP}
	system, err := contentOf(in.System, "system")
	if err != nil {
		return err
	}
	system = slices.DeleteFunc(system, func(p part) bool { return strings.HasPrefix(p.Text, billingPrefix) })
	out.addSystem(system.text())
	for i, m := range in.Messages {
		if err := out.addBlocks(m.Role, m.Content, fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	if err := in.addTools(out); err != nil {
		return err
	}
	if f := cmp.Or(in.OutputConfig.Format, in.OutputFormat); f != nil && f.Type == "json_schema" {
		out.ResponseFormat = schemaFormat("output", f.Schema, new(true))
	}
	c.newWriter = func() writer { return &messagesWriter{id: id, model: in.Model} }
	return nil
}

// blocksOf reads a content, which is a string or a list of blocks. path names the content in errors.
func blocksOf(raw json.RawMessage, path string) (list []block, err error) {
	switch {
	case isAbsentOrNull(raw):
		return nil, nil
	case isString(raw):
		list = []block{{Type: "text"}}
		return list, decode(raw, path, &list[0].Text)
	}
	return list, decode(raw, path, &list)
}

// contentOf reads a content without calls. path names the content in errors.
func contentOf(raw json.RawMessage, path string) (c content, err error) {
	list, err := blocksOf(raw, path)
	for i, b := range list {
		if err == nil {
			err = c.addBlock(b, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return c, err
}

// addBlocks translates a message of the Messages API, whose tool results become separate messages before the
// user's text.
func (r *chatRequest) addBlocks(role string, raw json.RawMessage, path string) error {
	path += ".content"
	list, err := blocksOf(raw, path)
	if err != nil {
		return err
	}
	var text content
	var calls []chatCall
	for i, b := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case role == "assistant" && b.Type == "tool_use":
			calls = append(calls, newCall(b.ID, b.Name, string(b.Input)))
		case role == "assistant" && b.Type != "text": // reasoning, or a call of a tool that the provider ran
		case b.Type == "tool_result":
			result, err := contentOf(b.Content, at+".content")
			if err != nil {
				return err
			}
			text = append(text, r.addToolResult(b.CallID, result)...)
		default:
			if err := text.addBlock(b, at); err != nil {
				return err
			}
		}
	}
	switch role {
	case "assistant":
		r.addAssistant(text, calls)
	case "user":
		r.addUser(text)
	case "system":
		r.addSystem(text.text())
	default:
		return memory.Errorf(memory.Invalid, "%s: unknown role %q", path, role)
	}
	return nil
}

// addBlock adds the text or image of a block.
func (c *content) addBlock(b block, path string) error {
	var source struct {
		Type  string          `json:"type"`
		Media string          `json:"media_type"`
		Data  string          `json:"data"`
		URL   string          `json:"url"`
		Inner json.RawMessage `json:"content"`
	}
	if b.Type == "image" || b.Type == "document" {
		if err := decode(b.Source, path+".source", &source); err != nil {
			return err
		}
	}
	switch b.Type + " " + source.Type {
	case "text ":
		c.addText(b.Text)
	case "image base64":
		c.addImage("data:"+source.Media+";base64,"+source.Data, "")
	case "image url":
		c.addImage(source.URL, "")
	case "document text":
		c.addText(b.Title)
		c.addText(source.Data)
	case "search_result ", "document content":
		inner, err := contentOf(json.RawMessage(cmp.Or(string(source.Inner), string(b.Content))), path+".content")
		if err != nil {
			return err
		}
		c.addText(b.Title)
		*c = append(*c, inner...)
	default:
		return untranslatableError(path, "a block of type %q", strings.TrimSpace(b.Type+" "+source.Type))
	}
	return nil
}

// addTools translates the tools and the tool choice.
func (in messagesRequest) addTools(out *chatRequest) error {
	for i, t := range in.Tools {
		switch {
		case t.Type == "" || t.Type == "custom":
			out.Tools = append(out.Tools, chatTool{"function", function{t.Name, t.Description, t.InputSchema, t.Strict}})
		case !isProviderTool(t.Type):
			return untranslatableError(fmt.Sprintf("tools[%d].type", i), "a tool of type %q", t.Type)
		}
	}
	if in.ToolChoice != nil && in.ToolChoice.DisableParallel && len(out.Tools) > 0 {
		out.ParallelToolCalls = new(bool)
	}
	switch {
	case in.ToolChoice == nil:
		return nil
	case in.ToolChoice.Type == "tool":
		return out.requireTool(in.ToolChoice.Name)
	case len(out.Tools) == 0:
		return nil
	case in.ToolChoice.Type == "any":
		out.ToolChoice = "required"
	default:
		out.ToolChoice = in.ToolChoice.Type
	}
	return nil
}
