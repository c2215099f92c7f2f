package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// maxShownExchanges is the number of a conversation's exchanges that the playground shows; /conversations shows
// all.
const exchangesAtOnce = 20

// playgroundView is a chat with the memories that it used and the facts learned from it.
type playgroundView struct {
	Here         string
	Conversation string   // id of the conversation; "" for a new conversation
	Begun        bool     // the conversation has messages
	Known        bool     // the conversation exists, with or without messages
	Documents    []chosen // documents attached to the conversation
	Temporary    bool
	History      string // messages of a temporary chat as JSON, stored only in the page
	Exchanges    []playExchange
	Earlier      int // number of exchanges before the first shown exchange
	Talks        []talk
	Models       []string
	Model        string
	Unlisted     string // reason why the upstream's models are not listed
	Draft        string // message that could not be sent
	Wrong        string // reason why the message could not be sent
}

// chatChoice is a conversation in the menu.
type talk struct{ ID, Title string }

func (p *Page) talkOf(c memory.Conversation) talk {
	return talk{c.ID, cmp.Or(clip(60, c.Title), "Untitled, "+c.UpdatedAt.In(p.Zone).Format("2 Jan 15:04"))}
}

// playExchange is a question with its answers.
type playExchange struct {
	Asked   *memory.Turn // nil if an answer follows no question
	Answers []memory.Turn
	Trace   string // id of the trace; "" if unknown
	Given   []row  // memories that the answer used
	Learned []learned
}

// learnedFact is a fact learned from an exchange, and the change that an undo reverts.
type learned struct {
	client.Memory
	Change string // id of the change; "" if nothing can be undone
}

func (p *Page) playground(r *http.Request, v visit) (any, error) {
	view := playgroundView{
		Here: here(r), Conversation: r.FormValue("conversation"), Model: r.FormValue("model"), Temporary: r.FormValue("temporary") != "",
	}
	if p.engine.Paused(r.Context(), v.owner) == core.PauseMemory {
		view.Temporary = true // otherwise the page would claim that the chat is stored
	}
	if err := p.fillPlayground(r, v, &view); err != nil {
		return nil, err
	}
	return view, nil
}

// loadPlayground reads the view's conversation, and the conversations and models to choose from.
func (p *Page) fillPlayground(r *http.Request, v visit, view *playgroundView) error {
	view.Models, view.Unlisted = p.models(r)
	if view.Model == "" {
		view.Model = view.Models[0]
	}
	if !slices.Contains(view.Models, view.Model) {
		view.Models = append(view.Models, view.Model)
	}
	page, err := p.engine.Store.Conversations(r.Context(), v.owner, memory.ConversationQuery{Limit: conversationsAtOnce})
	if err != nil {
		return err
	}
	for _, c := range page.Conversations {
		if c.MessageCount == 0 && len(c.Contexts) == 0 && c.ID != view.Conversation {
			continue
		}
		view.Talks = append(view.Talks, p.talkOf(c))
	}
	if view.Temporary || view.Conversation == "" {
		return nil
	}
	turns, err := p.engine.Store.Turns(r.Context(), v.owner, memory.TurnQuery{Conversation: view.Conversation})
	if err != nil {
		return err
	}
	chat, err := p.engine.Chats.Chat(r.Context(), v.owner, view.Conversation)
	if err != nil && !errors.Is(err, memory.NotFound) {
		return err
	}
	view.Known = err == nil
	if view.Documents, err = p.documentsOf(r, v, chat, false); err != nil {
		return err
	}
	view.Begun = len(turns) > 0
	view.Exchanges = exchangesOf(turns)
	if n := len(view.Exchanges) - exchangesAtOnce; n > 0 {
		view.Earlier, view.Exchanges = n, view.Exchanges[n:]
	}
	return p.fillExchanges(r, v, view, turns)
}

// groupExchanges groups turns by question. Turns whose text was erased are omitted.
func exchangesOf(turns []memory.Turn) []playExchange {
	var out []playExchange
	for _, t := range turns {
		if t.Content == "" || t.Role != memory.RoleUser && t.Role != memory.RoleAssistant {
			continue
		}
		if t.Role == memory.RoleUser {
			out = append(out, playExchange{Asked: &t})
			continue
		}
		if len(out) == 0 {
			out = append(out, playExchange{})
		}
		last := &out[len(out)-1]
		last.Answers = append(last.Answers, t)
	}
	return out
}

// loadExchanges adds the memories that each answer used, and the facts learned.
func (p *Page) fillExchanges(r *http.Request, v visit, view *playgroundView, turns []memory.Turn) error {
	traces, err := p.answeredIn(r.Context(), v.owner, view.Conversation, turns)
	if err != nil {
		return err
	}
	taught, err := p.learnedIn(r, v, view.Conversation)
	if err != nil {
		return err
	}
	back := p.playgroundAt(view.Conversation, view.Model)
	for i := range view.Exchanges {
		x := &view.Exchanges[i]
		ids := make([]string, 0, len(x.Answers)+1)
		if x.Asked != nil {
			ids = append(ids, x.Asked.ID)
		}
		for _, a := range x.Answers {
			ids = append(ids, a.ID)
		}
		for _, id := range ids {
			if t, ok := traces[id]; ok {
				if err := p.fillGiven(r, v, x, t, back); err != nil {
					return err
				}
			}
			for _, m := range taught[id] {
				one := learned{Memory: m}
				if m.Status.Live() {
					page, err := p.engine.Changes(r.Context(), v.owner, memory.ChangeQuery{Fact: m.ID, Limit: 1})
					if err != nil {
						return err
					}
					if len(page.Changes) > 0 {
						one.Change = page.Changes[0].ID
					}
				}
				x.Learned = append(x.Learned, one)
			}
		}
	}
	return nil
}

// addUsedMemories adds the memories of a trace, in their current state.
func (p *Page) fillGiven(r *http.Request, v visit, x *playExchange, t memory.Trace, back string) error {
	rows, err := p.hitRows(r, v, t.Hits, back)
	for i := range rows {
		rows[i].Editing = rows[i].Lives() && r.FormValue("edit") == rows[i].ID
		rows[i].EditAt = back + "&edit=" + url.QueryEscape(rows[i].ID)
	}
	x.Trace, x.Given = t.ID, append(x.Given, rows...)
	return err
}

// Forgettable reports whether a memory can be forgotten.
func (r row) Forgettable() bool {
	return r.Home == "" && (r.Status.Live() || r.Kind == memory.KindTurn && r.Status == memory.Active)
}

// playgroundURL is the address of a conversation in the playground.
func (p *Page) playgroundAt(conversation, model string) string {
	return "/playground?" + url.Values{"conversation": {conversation}, "model": {model}}.Encode()
}

// sendMessage lets a model answer the message, in a chat that all APIs share. Scripts get the answer as a stream,
// other clients get a page.
func (p *Page) say(w http.ResponseWriter, r *http.Request, v visit) error {
	q, err := p.questionOf(r)
	if err != nil {
		return err
	}
	out := &pieces{Patient: httpx.Patient{ResponseWriter: w}, script: strings.HasPrefix(r.Header.Get("Accept"), "application/x-ndjson")}
	answer, err := p.answer(r, v, &q, out)
	if out.script {
		if err != nil && out.begun {
			out.Last(encode(piece{Wrong: httpx.Tell(r.Context(), err).Detail}) + "\n")
			err = nil
		}
		return err
	}
	if err == nil && !q.temporary {
		http.Redirect(w, r, p.playgroundAt(q.chat, q.model), http.StatusSeeOther)
		return nil
	}
	view, status := playgroundView{Here: here(r), Conversation: q.chat, Temporary: q.temporary, Model: q.model}, http.StatusOK
	if err != nil {
		problem := httpx.Tell(r.Context(), err)
		status, view.Wrong, view.Draft = problem.Status, problem.Detail, q.words
	} else {
		q.history = append(q.history, chats.Message{Role: memory.RoleUser, Content: q.words}, chats.Message{Role: memory.RoleAssistant, Content: answer})
	}
	if err := p.fillPlayground(r, v, &view); err != nil {
		return err
	}
	if q.temporary {
		view.remember(q.history)
	}
	p.render(w, r, status, "playground", p.frame(w, r, v, view))
	return nil
}

// showTemporary shows a temporary chat, which is stored only in its page.
func (v *playgroundView) remember(said []chats.Message) {
	v.History = encode(said)
	var turns []memory.Turn
	for _, m := range said {
		turns = append(turns, memory.Turn{Role: m.Role, Content: m.Content})
	}
	v.Exchanges, v.Begun = exchangesOf(turns), len(turns) > 0
}
