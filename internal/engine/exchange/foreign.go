package exchange

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// maxRecognizedTurns bounds the stored turns that are read to recognize relayed text.
const maxRecognizedTurns = 100

// markForeignText marks text that the person did not write in the messages since the last answer: text that
// Loci relayed, and lines that recur in the person's conversations. It skips lookups that do not finish in
// time.
func (x *Exchange) markForeignText(ctx context.Context) error {
	chat, owner, relayed := x.Incoming.Chat, x.Incoming.Owner, &x.exchanges.Blocks.Relayed
	err := relayed.AddStoredTurns(owner, x.exchanges.Time(), func() ([]memory.Memory, error) {
		page, err := x.exchanges.Store.List(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindTurn}, Limit: maxRecognizedTurns})
		return page.Memories, err
	})
	for i := range slices.Backward(chat.Messages) {
		m := &chat.Messages[i]
		if m.Role == memory.RoleAssistant {
			break
		}
		if m.Role != memory.RoleUser || m.Foreign != "" {
			continue
		}
		if m.Foreign = relayed.PartsOf(owner, m.Text); m.Foreign == "" && err == nil {
			m.Foreign, err = x.recurringLines(ctx, m.Text)
		}
	}
	relayed.AddRequest(owner, chat, x.exchanges.Time())
	return err
}

// A line is boilerplate if it recurs verbatim in at least minConversations conversations, with different
// text around it.
const (
	minLineBytes     = 40 // minimum length of a line in bytes
	minConversations = 3
	maxLines         = 16 // maximum number of checked lines of a message
)

// recurringLines returns the ranges of a message's boilerplate lines.
func (x *Exchange) recurringLines(ctx context.Context, message string) (boilerplate memory.Ranges, err error) {
	offset, checked := 0, 0
	for line := range strings.Lines(message) {
		body := strings.TrimSpace(line)
		start := offset + strings.Index(line, body)
		offset += len(line)
		if len(body) < minLineBytes || len(body) == len(strings.TrimSpace(message)) || checked >= maxLines {
			continue
		}
		checked++
		similar, err := core.FindMemories(ctx, x.exchanges.Core, memory.Search{
			Scopes: []memory.Scope{{Owner: x.Incoming.Owner}}, Text: body, WordsOnly: true, Limit: 2 * minConversations,
		})
		if err != nil {
			return "", err
		}
		textByConversation := map[string]string{x.namedConversation(): message}
		for _, m := range similar {
			t := m.Turn
			if t == nil || t.Role != memory.RoleUser || !strings.Contains("\n"+t.Content+"\n", "\n"+body+"\n") || strings.TrimSpace(t.Content) == body {
				continue
			}
			if !slices.Contains(slices.Collect(maps.Values(textByConversation)), t.Content) {
				textByConversation[t.Conversation] = t.Content
			}
		}
		if len(textByConversation) >= minConversations {
			boilerplate = boilerplate.With(start, start+len(body))
		}
	}
	return boilerplate, nil
}
