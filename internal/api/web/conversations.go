package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const (
	// conversationsPageSize is the maximum number of conversations on a page. maxShownTurns is the maximum number
	// of turns shown of one conversation, unless the user requests all turns.
	conversationsPageSize = 30
	maxShownTurns         = 200
)

type conversationsView struct {
	Conversations []conversationEntry
	Next          string // cursor of the next page
}

// conversationEntry is a conversation in the list, with the beginning of its last message.
type conversationEntry struct {
	memory.Conversation
	Last string // beginning of the last message
}

func (p *Page) conversationsView(r *http.Request, v visit) (any, error) {
	page, err := p.engine.Store.Conversations(r.Context(), v.owner, memory.ConversationQuery{Limit: conversationsPageSize, Cursor: r.FormValue("cursor")})
	if err != nil {
		return nil, err
	}
	view := conversationsView{Next: page.Next}
	for _, c := range page.Conversations {
		if c.MessageCount == 0 && c.Title == "" && c.Rules == "" && len(c.Contexts) == 0 { // a temporary chat, of which nothing is stored
			continue
		}
		turns, err := p.engine.Store.Turns(r.Context(), v.owner, memory.TurnQuery{Conversation: c.ID, Last: 2})
		if err != nil {
			return nil, err
		}
		entry := conversationEntry{Conversation: c}
		for _, t := range slices.Backward(turns) {
			if entry.Last == "" || t.Role == memory.RoleUser {
				entry.Last = clip(160, t.Content)
			}
		}
		view.Conversations = append(view.Conversations, entry)
	}
	return view, nil
}

// transcriptView is one conversation with its turns.
type transcriptView struct {
	memory.Conversation
	Here      string // path and query of this view
	Turns     []transcriptTurn
	Earlier   int // number of turns before the first shown turn
	Abandoned int // number of turns on branches that the user left by editing or regenerating a message
	Summaries []client.Memory
	Facts     int
	Turn      string          // id of the turn that the page's address names; may be ""
	Editing   bool            // title, rules and contexts are open for editing
	Documents []contextChoice // attached contexts; while editing, also other contexts to choose from
}

func (v transcriptView) title() string {
	return clip(60, v.Head())
}

// Live reports whether the conversation was not deleted.
func (v transcriptView) Live() bool { return v.Status != memory.Retired }

// Head is the title or, if there is none, the beginning of the conversation.
func (v transcriptView) Head() string {
	if v.Title == "" && v.Earlier == 0 && len(v.Turns) > 0 {
		return clip(100, v.Turns[0].Content)
	}
	return cmp.Or(clip(120, v.Title), "Conversation")
}

// transcriptTurn is a turn with the facts learned from it.
type transcriptTurn struct {
	memory.Turn
	Learned []client.Memory
	Used    *usedMemories // memories used for an answer; nil if unknown
}

// usedMemories describes the memories used for an answer: the id of the trace and the number of hits.
type usedMemories struct {
	Trace string
	Hits  int
}

func (p *Page) transcriptView(r *http.Request, v visit) (any, error) {
	ctx, store := r.Context(), p.engine.Store
	found, err := store.Conversations(ctx, v.owner, memory.ConversationQuery{IDs: []string{v.id}})
	if err != nil {
		return nil, err
	}
	if len(found.Conversations) == 0 {
		return nil, memory.Errorf(memory.NotFound, "no such conversation: %q", clip(60, v.id))
	}
	view := transcriptView{Conversation: found.Conversations[0], Here: viewURL(r), Turn: r.FormValue("turn")}
	view.Editing = r.FormValue("edit") != "" && view.Live()
	if view.Documents, err = p.contextChoices(r, v, view.Conversation, view.Editing); err != nil {
		return nil, err
	}
	turns, err := store.Turns(ctx, v.owner, memory.TurnQuery{Conversation: v.id, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired}})
	if err != nil {
		return nil, err
	}
	learned, err := p.factsByTurn(r, v, v.id)
	if err != nil {
		return nil, err
	}
	traces, err := p.conversationTraces(ctx, v.owner, v.id, turns)
	if err != nil {
		return nil, err
	}
	var next *usedMemories // memories used for the next answer
	for _, t := range turns {
		if one, ok := traces[t.ID]; ok {
			next = &usedMemories{one.ID, len(one.Hits)}
		} else if t.Role == memory.RoleUser {
			next = nil
		}
		switch {
		case t.Status == memory.Replaced && t.ID != view.Turn:
			view.Abandoned++
		case t.Content != "":
			one := transcriptTurn{Turn: t, Learned: learned[t.ID]}
			if t.Role == memory.RoleAssistant {
				one.Used, next = next, nil
			}
			view.Turns = append(view.Turns, one)
			view.Facts += len(learned[t.ID])
		}
	}
	if n := len(view.Turns) - maxShownTurns; n > 0 && r.FormValue("all") == "" && view.Turn == "" {
		view.Turns, view.Earlier = view.Turns[n:], n
	}
	page, err := p.engine.List(ctx, v.owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Conversation: v.id})
	if err != nil {
		return nil, err
	}
	view.Summaries = memoryViews(page.Memories)
	return view, nil
}

// factsByTurn returns the facts learned from a conversation, by the id of their turn. It returns at most
// maxFacetFacts facts, the newest.
func (p *Page) factsByTurn(r *http.Request, v visit, conversation string) (map[string][]client.Memory, error) {
	page, err := p.engine.List(r.Context(), v.owner, memory.Query{
		Conversation: conversation, Limit: maxFacetFacts,
		Statuses: []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Retired, memory.Rejected},
	})
	if err != nil {
		return nil, err
	}
	out := map[string][]client.Memory{}
	for _, m := range slices.Backward(page.Memories) {
		turn := ""
		switch f := m.Fact.Provenance; {
		case f.Quote != nil:
			turn = f.Quote.Turn
		case len(f.Turns) > 0:
			turn = f.Turns[0]
		}
		out[turn] = append(out[turn], client.View(m))
	}
	return out, nil
}
