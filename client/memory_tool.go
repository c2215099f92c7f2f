package client

import (
	"context"
)

// MemoryToolInput is a model's input to Anthropic's memory tool (memory_20250818).
type MemoryToolInput struct {
	_          struct{} `json:"-" additionalProperties:"true"`
	Command    string   `json:"command" doc:"view, create, str_replace, insert, delete or rename."`
	Path       string   `json:"path,omitempty" doc:"For all commands except rename."`
	ViewRange  []int    `json:"view_range,omitempty" doc:"For view: first and last line; -1 means the end."`
	FileText   string   `json:"file_text,omitempty" doc:"For create."`
	OldStr     string   `json:"old_str,omitempty" doc:"For str_replace."`
	NewStr     string   `json:"new_str,omitempty" doc:"For str_replace."`
	InsertLine int      `json:"insert_line,omitempty" doc:"For insert: the line after which the text is inserted."`
	InsertText string   `json:"insert_text,omitempty" doc:"For insert."`
	OldPath    string   `json:"old_path,omitempty" doc:"For rename."`
	NewPath    string   `json:"new_path,omitempty" doc:"For rename."`
}

// MemoryToolResult is the result of a command of the memory tool.
type MemoryToolResult struct {
	Content string `json:"content" doc:"The text for the model."`
	IsError bool   `json:"is_error" doc:"Whether the command failed. If it failed, content is the reason."`
}

// MemoryTool executes a command of Anthropic's memory tool.
func (c *Client) MemoryTool(ctx context.Context, in MemoryToolInput) (MemoryToolResult, error) {
	return post[MemoryToolResult](ctx, c, "/api/memory/tool", in)
}
