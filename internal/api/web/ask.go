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

// Upstream sends a request to the upstream and returns the response, like the proxy's Upstream.
type Upstream interface {
	Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error)
}

// playgroundForm is the input of the playground's form.
type playgroundForm struct {
	model, message string
	chat           string          // "" for a new chat
	temporary      bool            // nothing of the chat is stored, and memory is not read
	history        []chats.Message // earlier messages of a temporary chat
}

func (p *Page) readPlaygroundForm(r *http.Request) (form playgroundForm, err error) {
	form = playgroundForm{
		model: r.PostFormValue("model"), message: strings.TrimSpace(r.PostFormValue("content")),
		chat: r.PostFormValue("conversation"), temporary: r.PostFormValue("temporary") != "",
	}
	switch {
	case form.message == "":
		return form, memory.Errorf(memory.Invalid, "the message is empty")
	case form.model == "":
		return form, memory.Errorf(memory.Invalid, "choose a model")
	case p.ChatModel == nil:
		form.model = responder.Name
	}
	if form.temporary {
		form.history, err = decodeHistory(r.PostFormValue("history"))
	}
	return form, err
}

// maxHistory is the maximum number of messages of a temporary chat, which its page sends with each new message.
const maxHistory = 200

// decodeHistory reads the messages of a temporary chat.
func decodeHistory(history string) (out []chats.Message, err error) {
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
		return nil, memory.Errorf(memory.Invalid, "the earlier messages of this chat cannot be read")
	}
	return out, nil
}

func encodeJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(data)
}

// headerChat is the response header that names the chat to the script.
const headerChat = "X-Loci-Chat"

// answerMessage lets a model answer the message. If form.chat is "", it creates a chat and sets form.chat.
func (p *Page) answerMessage(r *http.Request, v visit, form *playgroundForm, stream *answerStream) (string, error) {
	if form.temporary {
		said := append(form.history, chats.Message{Role: memory.RoleUser, Content: form.message})
		if form.model != responder.Name {
			a, err := p.ChatModel(r.Context(), form.model, said, stream.writeText)
			return a.Text, err
		}
		text := responder.Respond(form.message, nil, responder.MemoryEffect{NotStoredReason: "This chat is temporary"})
		stream.writeText(text)
		return text, nil
	}
	if form.chat == "" {
		created, err := p.engine.Chats.NewChat(r.Context(), v.owner, "", chats.ChatEdit{})
		if err != nil {
			return "", err
		}
		form.chat = created.ID
	}
	stream.Header().Set(headerChat, form.chat)
	said, err := p.engine.Chats.Say(r.Context(), chats.SayRequest{Owner: v.owner, Chat: form.chat, Content: form.message, Model: form.model}, p.ChatModel,
		chats.ReplyListener{OnRecalled: func(retrieve.PromptMemory) { stream.sendHeaders() }, OnText: stream.writeText, OnEnd: func() { stream.Abort(r.Context()) }})
	if said.Answer == nil {
		return "", err
	}
	return said.Answer.Content, err
}

// answerStream streams an answer to the page's script as lines of JSON.
type answerStream struct {
	httpx.PieceWriter
	fromScript bool // the request came from the script; otherwise nothing is written
	started    bool // the headers were sent
}

// streamLine is one line of the stream: a part of the answer, or the reason why the answer ends early.
type streamLine struct {
	Text  string `json:"said,omitempty"`
	Error string `json:"wrong,omitempty"`
}

func (o *answerStream) writeText(text string) {
	if o.fromScript {
		o.sendHeaders()
		o.Send(encodeJSON(streamLine{Text: text}) + "\n")
	}
}

// sendHeaders sends the headers, which name the chat.
func (o *answerStream) sendHeaders() {
	if !o.fromScript || o.started {
		return
	}
	o.started = true
	o.Header().Set("Content-Type", "application/x-ndjson")
	o.Header().Set("X-Accel-Buffering", "no") // keeps proxies from buffering the answer
	_ = http.NewResponseController(o.ResponseWriter).Flush()
}

const (
	// modelsTimeout is the maximum time that a page waits for the upstream's list of models; maxModelListBytes
	// is the maximum size of this list.
	modelsTimeout     = 3 * time.Second
	maxModelListBytes = 8 << 20
)

// chatModels returns the names of the models that can answer, Loci's own model last. If the upstream's models are
// missing, unlistedReason says why.
func (p *Page) chatModels(r *http.Request) (names []string, unlistedReason string) {
	own := []string{responder.Name}
	if p.Upstream == nil {
		return own, ""
	}
	ctx, cancel := context.WithTimeout(r.Context(), modelsTimeout)
	defer cancel()
	resp, err := p.Upstream.Do(ctx, http.MethodGet, "/models", http.Header{}, nil)
	if err != nil {
		return own, "the upstream did not answer: " + llm.DescribeFailure(err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was only read
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxModelListBytes))
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
