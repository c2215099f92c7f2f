package web

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

const (
	// exchangesAtOnce is how many questions and answers the playground shows of a
	// conversation; all of it stands under /conversations.
	exchangesAtOnce = 20

	// Of what was said before, so many messages and bytes go along with a question.
	sentMessages = 40
	sentBytes    = 64 << 10
)

// playgroundView is a chat with what memory gave and took.
type playgroundView struct {
	Here         string
	Conversation string   // its id, also of one that does not exist yet
	Begun        bool     // something was said in it
	Known        bool     // it is there, begun or not
	Documents    []chosen // attached to it
	Temporary    bool
	History      string // of a temporary chat, which is nowhere else: its messages as JSON
	Exchanges    []playExchange
	Earlier      int // exchanges before those shown
	Talks        []talk
	Models       []string
	Model        string
	Unlisted     string // why there is no list of the upstream's models
	Draft        string // what could not be sent
	Wrong        string // why
}

// talk is a conversation to choose.
type talk struct{ ID, Title string }

func (p *Page) talkOf(c memory.Conversation) talk {
	return talk{c.ID, cmp.Or(clip(60, c.Title), "Untitled, "+c.UpdatedAt.In(p.Zone).Format("2 Jan 15:04"))}
}

// exchange is a question and what came of it.
type playExchange struct {
	Asked   *memory.Turn // nil where an answer follows no question
	Answers []memory.Turn
	Trace   string // "" where it is not known any more
	Given   []row  // what memory gave
	Learned []learned
}

// learned is a fact that an exchange taught, and the change to take back for it.
type learned struct {
	client.Memory
	Change string // "" for none
}

func (p *Page) playground(r *http.Request, v visit) (any, error) {
	view := playgroundView{
		Here: here(r), Conversation: r.FormValue("conversation"), Model: r.FormValue("model"), Temporary: r.FormValue("temporary") != "",
	}
	if p.engine.Paused(r.Context(), v.owner) == core.PauseMemory {
		view.Temporary = true // or the page would be the only one to think that it is kept
	}
	if err := p.fillPlayground(r, v, &view); err != nil {
		return nil, err
	}
	if view.Conversation == "" {
		view.Conversation = newConversation()
	}
	return view, nil
}

// newConversation returns an id for a chat of the page's.
func newConversation() string { return "page-" + strings.ToLower(rand.Text()[:16]) }

// fillPlayground reads what there is of the view's conversation, and what can be
// chosen.
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

// exchangesOf groups turns by what was asked. Those without words left them nowhere.
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

// fillExchanges adds what memory gave to each answer, and what it learned.
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

// fillGiven adds what a trace says was given, each as it is now.
func (p *Page) fillGiven(r *http.Request, v visit, x *playExchange, t memory.Trace, back string) error {
	rows, err := p.hitRows(r, v, t.Hits, back)
	for i := range rows {
		rows[i].Editing = rows[i].Lives() && r.FormValue("edit") == rows[i].ID
		rows[i].EditAt = back + "&edit=" + url.QueryEscape(rows[i].ID)
	}
	x.Trace, x.Given = t.ID, append(x.Given, rows...)
	return err
}

// Forgettable reports whether a memory can be taken out of recall.
func (r row) Forgettable() bool {
	return r.Home == "" && (r.Status.Live() || r.Kind == memory.KindTurn && r.Status == memory.Active)
}

// playgroundAt is the address of a conversation in the playground.
func (p *Page) playgroundAt(conversation, model string) string {
	return "/playground?" + url.Values{"conversation": {conversation}, "model": {model}}.Encode()
}

// sent returns what of a conversation goes along with the next question: the end of
// it, from the last turn on that is gone or not kept as it was said, since what would
// not be known again could be taken for an edit.
func (p *Page) sent(r *http.Request, v visit, conversation string) ([]client.CompletionMessage, error) {
	turns, err := p.engine.Store.Turns(r.Context(), v.owner, memory.TurnQuery{
		Conversation: conversation, Statuses: []memory.Status{memory.Active, memory.Retired}, Last: sentMessages,
	})
	if err != nil {
		return nil, err
	}
	from, size := len(turns), 0
	for i, t := range slices.Backward(turns) {
		parent := ""
		if i > 0 {
			parent = turns[i-1].Chain
		}
		talks := t.Role == memory.RoleUser || t.Role == memory.RoleAssistant
		if size += len(t.Content); !talks || t.Status != memory.Active || size > sentBytes || i == 0 && t.Index > 0 ||
			thread.Chain(parent, chatapi.Digest(t.Role, t.Content, "", "")) != t.Chain {
			break
		}
		from = i
	}
	var out []client.CompletionMessage
	for _, t := range turns[from:] {
		if len(out) > 0 || t.Role == memory.RoleUser {
			out = append(out, client.CompletionMessage{Role: t.Role, Content: t.Content})
		}
	}
	return out, nil
}

// say sends what was typed to a model, through the same API as any client's, and
// brings back its answer: as the stream that it is to a script, otherwise as a page.
func (p *Page) say(w http.ResponseWriter, r *http.Request, v visit) error {
	q, err := p.questionOf(r, v)
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
		q.Stream = true
		p.ask(&streamed{to: w, header: http.Header{}}, r, q)
		return nil
	}
	answer, wrong := p.answer(r, q)
	if wrong == "" && !q.temporary {
		http.Redirect(w, r, p.playgroundAt(q.Conversation, q.Model), http.StatusSeeOther)
		return nil
	}
	view := playgroundView{Here: here(r), Conversation: q.Conversation, Temporary: q.temporary, Model: q.Model, Wrong: wrong}
	if err := p.fillPlayground(r, v, &view); err != nil {
		return err
	}
	said, status := q.Messages, http.StatusOK
	if wrong != "" {
		status = http.StatusBadGateway
		view.Draft, said = said[len(said)-1].Content, said[:len(said)-1]
	} else {
		said = append(said, client.CompletionMessage{Role: memory.RoleAssistant, Content: answer})
	}
	if q.temporary {
		view.remember(said)
	}
	p.render(w, r, status, "playground", p.frame(w, r, v, view))
	return nil
}

// remember shows a temporary chat, which only its page holds.
func (v *playgroundView) remember(said []client.CompletionMessage) {
	v.History = encode(said)
	var turns []memory.Turn
	for _, m := range said {
		turns = append(turns, memory.Turn{Role: m.Role, Content: m.Content})
	}
	v.Exchanges, v.Begun = exchangesOf(turns), len(turns) > 0
}

// questionOf reads the form of the playground.
func (p *Page) questionOf(r *http.Request, v visit) (question, error) {
	q := question{Model: r.PostFormValue("model"), Conversation: r.PostFormValue("conversation"), temporary: r.PostFormValue("temporary") != ""}
	words := strings.TrimSpace(r.PostFormValue("content"))
	if words == "" {
		return q, memory.Errorf(memory.Invalid, "nothing was typed")
	}
	if q.Model == "" {
		return q, memory.Errorf(memory.Invalid, "choose a model")
	}
	var err error
	switch {
	case q.temporary:
		q.Mode, q.Conversation = chatapi.ModeOff, ""
		q.Messages, err = decode(r.PostFormValue("history"))
	case q.Conversation == "":
		q.Conversation = newConversation()
	default:
		q.Messages, err = p.sent(r, v, q.Conversation)
	}
	q.Messages = append(q.Messages, client.CompletionMessage{Role: memory.RoleUser, Content: words})
	return q, err
}
