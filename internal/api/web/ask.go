package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/chats"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/memory"
)

// Upstream sends a request on and returns the answer, as the proxy's does.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// question is what the playground's form asks.
type question struct {
	model, words string
	chat         string          // "": a new one
	temporary    bool            // nothing of it is kept, and memory is not read
	history      []chats.Message // of a temporary chat
}

// questionOf reads the form of the playground.
func (p *Page) questionOf(r *http.Request) (q question, err error) {
	q = question{
		model: r.PostFormValue("model"), words: strings.TrimSpace(r.PostFormValue("content")),
		chat: r.PostFormValue("conversation"), temporary: r.PostFormValue("temporary") != "",
	}
	switch {
	case q.words == "":
		return q, memory.Errorf(memory.Invalid, "nothing was typed")
	case q.model == "":
		return q, memory.Errorf(memory.Invalid, "choose a model")
	case p.Talker == nil:
		q.model = responder.Name
	}
	if q.temporary {
		q.history, err = decode(r.PostFormValue("history"))
	}
	return q, err
}

// maxHistory is how many messages of a temporary chat its page may send back.
const maxHistory = 200

// decode reads the messages of a temporary chat.
func decode(history string) (out []chats.Message, err error) {
	if history == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(history), &out)
	for _, m := range out {
		if m.Role != memory.RoleUser && m.Role != memory.RoleAssistant {
			err = memory.Invalid
		}
	}
	if err != nil || len(out) > maxHistory {
		return nil, memory.Errorf(memory.Invalid, "what was said so far cannot be read")
	}
	return out, nil
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(data)
}

// headerChat tells the script which chat it speaks in.
const headerChat = "X-Loci-Chat"

// answer lets a model answer, and returns what it said. A new chat begins then.
func (p *Page) answer(r *http.Request, v visit, q *question, to *pieces) (string, error) {
	if q.temporary {
		said := append(q.history, chats.Message{Role: memory.RoleUser, Content: q.words})
		if q.model != responder.Name {
			a, err := p.Talker(r.Context(), q.model, said, to.heard)
			return a.Text, err
		}
		text := responder.Respond(q.words, nil, responder.Outlook{Unkept: "This chat is temporary"})
		to.heard(text)
		return text, nil
	}
	if q.chat == "" {
		made, err := p.engine.Chats.NewChat(r.Context(), v.owner, "", chats.ChatEdit{})
		if err != nil {
			return "", err
		}
		q.chat = made.ID
	}
	to.Header().Set(headerChat, q.chat)
	said, err := p.engine.Chats.Say(r.Context(), chats.SayRequest{Owner: v.owner, Chat: q.chat, Content: q.words, Model: q.model}, p.Talker,
		chats.Listener{Recalled: func(retrieve.Prepared) { to.begin() }, Heard: to.heard, Ended: func() { to.End(r.Context()) }})
	if said.Answer == nil {
		return "", err
	}
	return said.Answer.Content, err
}

// pieces writes an answer for a script, each piece as it comes: lines of JSON.
type pieces struct {
	httpx.Patient
	script bool // or nothing is written
	begun  bool
}

// piece is one line: a part of the answer, or why there is no more of it.
type piece struct {
	Said  string `json:"said,omitempty"`
	Wrong string `json:"wrong,omitempty"`
}

func (o *pieces) heard(said string) {
	if o.script {
		o.begin()
		o.Send(encode(piece{Said: said}) + "\n")
	}
}

// begin sends the headers, which name the chat.
func (o *pieces) begin() {
	if !o.script || o.begun {
		return
	}
	o.begun = true
	o.Header().Set("Content-Type", "application/x-ndjson")
	o.Header().Set("X-Accel-Buffering", "no") // or a proxy in between would keep it all until the end
	_ = http.NewResponseController(o.ResponseWriter).Flush()
}

const (
	// modelsWait is how long a page waits for the list of the upstream's models, and maxModels how much of it is read.
	modelsWait = 3 * time.Second
	maxModels  = 8 << 20
)

// models lists what can be talked to, Loci's own model last, and says why the upstream's are not
// among them.
func (p *Page) models(r *http.Request) (names []string, unlisted string) {
	own := []string{responder.Name}
	if p.Upstream == nil {
		return own, ""
	}
	ctx, cancel := context.WithTimeout(r.Context(), modelsWait)
	defer cancel()
	resp, err := p.Upstream.Do(ctx, http.MethodGet, "/models", http.Header{}, nil)
	if err != nil {
		return own, "the upstream did not answer: " + llm.Trouble(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxModels))
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(body, &list) != nil {
		return own, cmp.Or(clip(400, chatapi.ErrorMessage(body)), "the upstream answered with status "+resp.Status)
	}
	for _, m := range list.Data {
		if m.ID != "" && m.ID != responder.Name {
			names = append(names, m.ID)
		}
	}
	return append(names, own...), ""
}
