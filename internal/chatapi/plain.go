package chatapi

import (
	"cmp"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/memory"
)

// CheckPlainText returns [memory.Invalid], with the field's name, for a request that the built-in model cannot
// answer, because it requires a tool call, several answers or another format than plain text.
func (c *Chat) CheckPlainText() error {
	root := gjson.ParseBytes(c.body)
	// Tools are allowed, because a model need not call them.
	for _, name := range []string{"tool_choice", "function_call"} {
		choice := root.Get(name)
		kind := choice.Str
		if choice.IsObject() {
			kind = cmp.Or(choice.Get("type").Str, "function")
		}
		switch kind {
		case "", "none", "auto":
		default:
			return memory.Errorf(memory.Invalid, "%s: %s cannot call tools", name, memory.RecallModel)
		}
	}
	for _, name := range []string{"n", "best_of"} {
		if root.Get(name).Num > 1 {
			return memory.Errorf(memory.Invalid, "%s: %s returns only one answer", name, memory.RecallModel)
		}
	}
	for _, name := range []string{"response_format", "text.format", "output_config.format", "output_format"} {
		if kind := root.Get(name + ".type"); kind.Exists() && kind.Str != "text" {
			return memory.Errorf(memory.Invalid, "%s: %s answers in plain text only", name, memory.RecallModel)
		}
	}
	if len(c.Messages) == 0 {
		return memory.Errorf(memory.Invalid, "messages: is empty")
	}
	for _, m := range c.Messages {
		switch m.Role {
		case memory.RoleSystem, memory.RoleUser, memory.RoleAssistant, memory.RoleTool:
		default:
			return memory.Errorf(memory.Invalid, "messages: unknown role %q", truncated(string(m.Role), 40))
		}
	}
	return nil
}
