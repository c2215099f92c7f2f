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
const maxShownExchanges = 20

// playgroundView is a chat with the memories that it used and the facts learned from it.
type playgroundView struct {
	Here           string          // path and query of this view
	Conversation   string          // id of the conversation; "" for a new conversation
	HasMessages    bool            // the conversation has messages
	Exists         bool            // the conversation exists, with or without messages
	Documents      []contextChoice // documents attached to the conversation
	Temporary      bool
	History        string // messages of a temporary chat as JSON, stored only in the page
	Exchanges      []playgroundExchange
	Earlier        int // number of exchanges before the first shown exchange
	Chats          []chatChoice
	Models         []string
	Model          string
	UnlistedReason string // reason why the upstream's models are not listed
	Draft          string // message that could not be sent
	Error          string // reason why the message could not be sent
}

// chatChoice is a conversation in the menu.
type chatChoice struct{ ID, Title string }

func (p *Page) chatChoiceOf(c memory.Conversation) chatChoice {
	return chatChoice{c.ID, cmp.Or(clip(60, c.Title), "Untitled, "+c.UpdatedAt.In(p.Zone).Format("2 Jan 15:04"))}
}

// playgroundExchange is a question with its answers.
type playgroundExchange struct {
	Question     *memory.Turn // nil if an answer follows no question
	Answers      []memory.Turn
	Trace        string // id of the trace; "" if unknown
	UsedMemories []row  // memories that the answer used
	Learned      []learnedFact
}

// learnedFact is a fact learned from an exchange, and the change that an undo reverts.
type learnedFact struct {
	client.Memory
	Change string // id of the change; "" if nothing can be undone
}

func (p *Page) playgroundView(r *http.Request, v visit) (any, error) {
	view := playgroundView{
		Here: viewURL(r), Conversation: r.FormValue("conversation"), Model: r.FormValue("model"), Temporary: r.FormValue("temporary") != "",
	}
	if p.engine.CurrentPause(r.Context(), v.owner) == core.PauseMemory {
		view.Temporary = true // otherwise the page would claim that the chat is stored
	}
	if err := p.loadPlayground(r, v, &view); err != nil {
		return nil, err
	}
	return view, nil
}

// loadPlayground adds the conversation to the view, and the conversations and models to choose from.
func (p *Page) loadPlayground(r *http.Request, v visit, view *playgroundView) error {
	view.Models, view.UnlistedReason = p.chatModels(r)
	if view.Model == "" {
		view.Model = view.Models[0]
	}
	if !slices.Contains(view.Models, view.Model) {
		view.Models = append(view.Models, view.Model)
	}
	page, err := p.engine.Store.Conversations(r.Context(), v.owner, memory.ConversationQuery{Limit: conversationsPageSize})
	if err != nil {
		return err
	}
	for _, c := range page.Conversations {
		if c.MessageCount == 0 && len(c.Contexts) == 0 && c.ID != view.Conversation {
			continue
		}
		view.Chats = append(view.Chats, p.chatChoiceOf(c))
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
	view.Exists = err == nil
	if view.Documents, err = p.contextChoices(r, v, chat, false); err != nil {
		return err
	}
	view.HasMessages = len(turns) > 0
	view.Exchanges = groupExchanges(turns)
	if n := len(view.Exchanges) - maxShownExchanges; n > 0 {
		view.Earlier, view.Exchanges = n, view.Exchanges[n:]
	}
	return p.loadExchanges(r, v, view, turns)
}

// groupExchanges groups turns by question. Turns whose text was erased are omitted.
func groupExchanges(turns []memory.Turn) []playgroundExchange {
	var out []playgroundExchange
	for _, t := range turns {
		if t.Content == "" || t.Role != memory.RoleUser && t.Role != memory.RoleAssistant {
			continue
		}
		if t.Role == memory.RoleUser {
			out = append(out, playgroundExchange{Question: &t})
			continue
		}
		if len(out) == 0 {
			out = append(out, playgroundExchange{})
		}
		last := &out[len(out)-1]
		last.Answers = append(last.Answers, t)
	}
	return out
}

// loadExchanges adds the memories that each answer used, and the facts learned.
func (p *Page) loadExchanges(r *http.Request, v visit, view *playgroundView, turns []memory.Turn) error {
	traces, err := p.conversationTraces(r.Context(), v.owner, view.Conversation, turns)
	if err != nil {
		return err
	}
	learnedFacts, err := p.factsByTurn(r, v, view.Conversation)
	if err != nil {
		return err
	}
	back := p.playgroundURL(view.Conversation, view.Model)
	for i := range view.Exchanges {
		x := &view.Exchanges[i]
		ids := make([]string, 0, len(x.Answers)+1)
		if x.Question != nil {
			ids = append(ids, x.Question.ID)
		}
		for _, a := range x.Answers {
			ids = append(ids, a.ID)
		}
		for _, id := range ids {
			if t, ok := traces[id]; ok {
				if err := p.addUsedMemories(r, v, x, t, back); err != nil {
					return err
				}
			}
			for _, m := range learnedFacts[id] {
				one := learnedFact{Memory: m}
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
func (p *Page) addUsedMemories(r *http.Request, v visit, x *playgroundExchange, t memory.Trace, returnTo string) error {
	rows, err := p.hitRows(r, v, t.Hits, returnTo)
	for i := range rows {
		rows[i].Editing = rows[i].CanEdit() && r.FormValue("edit") == rows[i].ID
		rows[i].EditAt = returnTo + "&edit=" + url.QueryEscape(rows[i].ID)
	}
	x.Trace, x.UsedMemories = t.ID, append(x.UsedMemories, rows...)
	return err
}

// CanForget reports whether a memory can be forgotten.
func (r row) CanForget() bool {
	return r.Home == "" && (r.Status.Live() || r.Kind == memory.KindTurn && r.Status == memory.Active)
}

func (p *Page) playgroundURL(conversation, model string) string {
	return "/playground?" + url.Values{"conversation": {conversation}, "model": {model}}.Encode()
}

// sendMessage lets a model answer the message, in a chat that all APIs share. The page's script gets the answer as
// a stream, and a browser without the script gets a page.
func (p *Page) sendMessage(w http.ResponseWriter, r *http.Request, v visit) error {
	form, err := p.readPlaygroundForm(r)
	if err != nil {
		return err
	}
	out := &answerStream{PieceWriter: httpx.PieceWriter{ResponseWriter: w}, fromScript: strings.HasPrefix(r.Header.Get("Accept"), "application/x-ndjson")}
	answer, err := p.answerMessage(r, v, &form, out)
	if out.fromScript {
		if err != nil && out.started {
			out.SendLast(encodeJSON(streamLine{Error: httpx.LogProblem(r.Context(), err).Detail}) + "\n")
			err = nil
		}
		return err
	}
	if err == nil && !form.temporary {
		http.Redirect(w, r, p.playgroundURL(form.chat, form.model), http.StatusSeeOther)
		return nil
	}
	view, status := playgroundView{Here: viewURL(r), Conversation: form.chat, Temporary: form.temporary, Model: form.model}, http.StatusOK
	if err != nil {
		problem := httpx.LogProblem(r.Context(), err)
		status, view.Error, view.Draft = problem.Status, problem.Detail, form.message
	} else {
		form.history = append(form.history, chats.Message{Role: memory.RoleUser, Content: form.message}, chats.Message{Role: memory.RoleAssistant, Content: answer})
	}
	if err := p.loadPlayground(r, v, &view); err != nil {
		return err
	}
	if form.temporary {
		view.showTemporary(form.history)
	}
	p.render(w, r, status, "playground", p.newLayout(w, r, v, view))
	return nil
}

// showTemporary shows a temporary chat, which is stored only in its page.
func (v *playgroundView) showTemporary(messages []chats.Message) {
	v.History = encodeJSON(messages)
	var turns []memory.Turn
	for _, m := range messages {
		turns = append(turns, memory.Turn{Role: m.Role, Content: m.Content})
	}
	v.Exchanges, v.HasMessages = groupExchanges(turns), len(turns) > 0
}
