package memtest

import (
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// Garbage is a reply that no parser accepts.
const Garbage = "\x00}{ sure! here is your \"JSON\": [,,, <|end|>"

// ScriptLine is a scripted reply of an [LLM].
type ScriptLine struct {
	Prompt   string // name of the answered prompt; empty answers any prompt
	Text     string // text of the reply
	Err      error  // if set, Complete fails with this error
	Hangs    bool   // Complete waits until the context ends instead of replying
	Reusable bool   // the line answers every matching prompt; false means only one prompt
}

// LLM is a scripted model. Each prompt is answered by the first matching line of the script, which is then
// removed. Without a matching line Complete returns [memory.Unavailable]. The zero LLM has no lines.
type LLM struct {
	mu             sync.Mutex
	remainingLines []ScriptLine
	prompts        []memory.Prompt
}

// NewLLM returns a model with a script.
func NewLLM(script ...ScriptLine) *LLM {
	return &LLM{remainingLines: slices.Clone(script)}
}

// Add appends lines to the script.
func (m *LLM) Add(lines ...ScriptLine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remainingLines = append(m.remainingLines, lines...)
}

// Complete returns the reply of the first line that matches p.
func (m *LLM) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	line, ok := m.takeLine(p)
	switch {
	case ctx.Err() != nil:
		return memory.Reply{}, ctx.Err()
	case !ok:
		return memory.Reply{}, memory.Errorf(memory.Unavailable, "the script has no line for prompt %q", p.Name)
	case line.Hangs:
		<-ctx.Done()
		return memory.Reply{}, ctx.Err()
	case line.Err != nil:
		return memory.Reply{}, line.Err
	}
	return memory.Reply{
		Text:         line.Text,
		Model:        "scripted",
		InputTokens:  (len(p.System) + len(p.User)) / 4,
		OutputTokens: len(line.Text) / 4,
	}, nil
}

func (m *LLM) takeLine(p memory.Prompt) (ScriptLine, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompts = append(m.prompts, p)
	i := slices.IndexFunc(m.remainingLines, func(l ScriptLine) bool { return l.Prompt == "" || l.Prompt == p.Name })
	if i < 0 {
		return ScriptLine{}, false
	}
	line := m.remainingLines[i]
	if !line.Reusable {
		m.remainingLines = slices.Delete(m.remainingLines, i, i+1)
	}
	return line, true
}

// Prompts returns all prompts received, in order.
func (m *LLM) Prompts() []memory.Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.prompts)
}

// UnusedLines returns the remaining lines, except reusable lines.
func (m *LLM) UnusedLines() []ScriptLine {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.remainingLines), func(l ScriptLine) bool { return l.Reusable })
}
