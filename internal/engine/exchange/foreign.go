package exchange

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// foreign looks for what is not the person's though it comes in their name.
type foreign struct {
	core         *core.Core
	owner        memory.Owner
	conversation string // that the request names, "" for none
}

// recalled is how many turns are read to know what was passed on lately.
const recalled = 100

// mark notes on the messages since the last answer what Loci passed on lately, and what recurs in the
// person's conversations as a form. What it cannot look up within the context it does not note.
func (f foreign) mark(ctx context.Context, chat *chatapi.Chat) error {
	err := f.core.Blocks.Passed.Recall(f.owner, f.core.Time(), func() ([]memory.Memory, error) {
		page, err := f.core.Store.List(ctx, f.owner, memory.Query{Kinds: []memory.Kind{memory.KindTurn}, Limit: recalled})
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
		if m.Foreign = f.core.Blocks.Passed.In(f.owner, m.Text); m.Foreign == "" && err == nil {
			m.Foreign, err = f.forms(ctx, m.Text)
		}
	}
	f.core.Blocks.Passed.Said(f.owner, chat, f.core.Time())
	return err
}

// A line is a form where it recurs, word for word, in so many conversations with other text around it.
const (
	formLine  = 40 // bytes it has at least
	formOften = 3
	formLines = 16 // of a message that are looked at, at most
)

// forms returns the lines of a message that recur.
func (f foreign) forms(ctx context.Context, message string) (foreign memory.Ranges, err error) {
	at, looked := 0, 0
	for line := range strings.Lines(message) {
		body := strings.TrimSpace(line)
		start := at + strings.Index(line, body)
		at += len(line)
		if len(body) < formLine || len(body) == len(strings.TrimSpace(message)) || looked >= formLines {
			continue
		}
		looked++
		like, err := core.Found(ctx, f.core, memory.Search{
			Scopes: []memory.Scope{{Owner: f.owner}}, Text: body, ByWords: true, Limit: 2 * formOften,
		})
		if err != nil {
			return "", err
		}
		around := map[string]string{f.conversation: message} // by conversation
		for _, m := range like {
			t := m.Turn
			if t == nil || t.Role != memory.RoleUser || !strings.Contains("\n"+t.Content+"\n", "\n"+body+"\n") || strings.TrimSpace(t.Content) == body {
				continue
			}
			if !slices.Contains(slices.Collect(maps.Values(around)), t.Content) {
				around[t.Conversation] = t.Content
			}
		}
		if len(around) >= formOften {
			foreign = foreign.With(start, start+len(body))
		}
	}
	return foreign, nil
}
