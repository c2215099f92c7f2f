package chats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// SayRequest is what a user says in a chat that Loci keeps.
type SayRequest struct {
	Owner   memory.Owner
	Chat    string
	Content string
	Again   bool   // the last message is answered once more; Content is not used
	Model   string // [responder.Name]: the built-in one, which needs no Talker
	Rules   string // for this reply, after the chat's
}

// Message is one message of a chat, as a model is asked it.
type Message struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// Talker lets a model answer a chat, and calls heard with each piece of the answer as
// it comes. Where it fails midway it returns what was said so far beside the error.
// [memory.Invalid] and [memory.TooLarge] say that the model cannot take the request
// as it is.
type Talker func(ctx context.Context, model string, chat []Message, heard func(piece string)) (chatapi.Answer, error)

// Listener is told of a reply as it comes. Until Recalled and Heard return nobody else is
// let into the chat. They may not be nil.
type Listener struct {
	Recalled func(retrieve.Prepared) // once, before the first piece
	Heard    func(piece string)      // each as soon as it is there

	// Ended says beside them that the reply ends before its time, since the chat is
	// deleted or the client is gone: they are to return, whoever does not take what they
	// pass on. nil: they never wait for anybody.
	Ended func()
}

// hurry lets Ended be called once the context ends. When let returns it was, or never
// will be.
func (l Listener) hurry(ctx context.Context) (let func()) {
	if l.Ended == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(done); l.Ended() })
	return func() {
		if !stop() {
			<-done
		}
	}
}

// Said is what became of a [SayRequest].
type Said struct {
	Question *memory.Turn // as it is kept; nil where it is not
	Answer   *memory.Turn // so too, with what was said of it
	Model    string
}

// What goes along with a message of what was said before it: so many turns and bytes
// at most, the last.
const (
	SentTurns = 100
	sentBytes = 96 << 10
)

// Say takes what a user says in a chat, lets a model answer with what is attached and
// remembered, and keeps both, to be learned from. It is an exchange as any client's,
// but for what Loci knows itself: what was said before. A chat has one reply at a time;
// who comes meanwhile waits.
//
// Errors before Recalled was called have written nothing: [memory.NotFound] for no such
// chat, [memory.Conflict] where there is nothing to say again. After it what was said
// so far is kept, the user's message in any case. Where the client hangs up or the chat
// is deleted the error is the context's cause.
func (e *Chats) Say(ctx context.Context, s SayRequest, ask Talker, to Listener) (Said, error) {
	var err error
	if s.Rules != "" {
		if s.Rules, err = e.CheckText("rules", s.Rules); err != nil {
			return Said{}, err
		}
	}
	if !s.Again {
		if s.Content, err = e.CheckText("content", s.Content); err != nil {
			return Said{}, err
		}
	}
	ctx, leave, err := e.Talks.enter(ctx, s.Owner, s.Chat)
	if err != nil {
		return Said{}, err
	}
	defer leave()
	defer to.hurry(ctx)()
	c, err := e.openTalking(ctx, s)
	if err != nil {
		return Said{}, err
	}
	messages, err := c.prepare(ctx)
	if err != nil {
		return Said{}, err
	}
	outlook := responder.Outlook{}
	if s.Model == responder.Name {
		outlook = c.x.Outlook(ctx)
	}
	c.x.RecordQuestion(ctx)
	to.Recalled(c.x.Prepared)
	var a chatapi.Answer
	if s.Model == responder.Name {
		a = c.answerLocally(outlook, to.Heard)
	} else {
		a, err = c.ask(ctx, ask, messages, to.Heard)
	}
	if ended := context.Cause(ctx); ended != nil {
		err = ended
	}
	said := c.keep(ctx, a)
	said.Model = cmp.Or(a.Model, s.Model)
	return said, err
}

// saying is a [SayRequest] on its way.
type saying struct {
	SayRequest
	e    *Chats
	conv memory.Conversation
	path []memory.Turn // what was said before, and what is to be answered as the last
	x    *exchange.Exchange
}

// openTalking reads the chat, and lays what is said on it.
func (e *Chats) openTalking(ctx context.Context, s SayRequest) (*saying, error) {
	conv, err := e.Chat(ctx, s.Owner, s.Chat)
	if err != nil {
		return nil, err
	}
	path, err := e.Store.Turns(ctx, s.Owner, memory.TurnQuery{Conversation: s.Chat, Last: SentTurns})
	if err != nil {
		return nil, fmt.Errorf("read what was said: %w", err)
	}
	c := &saying{SayRequest: s, e: e, conv: conv, path: path}
	if err := c.lay(); err != nil {
		return nil, err
	}
	chat := c.request()
	c.x = e.Exchange.Open(ctx, exchange.Incoming{
		Owner: s.Owner, Own: true, Chat: chat, Extras: chatapi.Extras{ID: s.Chat, Project: conv.Project},
		After: cmp.Or(c.path[len(c.path)-1].Parent, thread.Beginning), From: len(chat.Messages) - 1,
	})
	return c, c.placed()
}

// lay puts what is to be answered at the end of the path.
func (c *saying) lay() error {
	last := len(c.path) - 1
	if !c.Again {
		next := memory.Turn{Role: memory.RoleUser, Content: c.Content}
		if last >= 0 {
			next.Index, next.Parent = c.path[last].Index+1, c.path[last].ID
		}
		c.path = append(c.path, next)
		return nil
	}
	for last >= 0 && c.path[last].Role != memory.RoleUser {
		last--
	}
	if last < 0 {
		return memory.Errorf(memory.Conflict, "nothing was said in this chat that could be answered again")
	}
	c.path = c.path[:last+1]
	return nil
}

// request returns the path as a chat request that a client could have made.
func (c *saying) request() *chatapi.Chat {
	body, err := json.Marshal(map[string]any{"model": c.Model, "stream": true, "messages": messagesOf(c.path)})
	if err != nil {
		panic(err) // strings always encode
	}
	chat, err := chatapi.Decode(body)
	if err != nil {
		panic(fmt.Sprintf("engine: a request of its own: %v", err))
	}
	return chat
}

// messagesOf returns what the user and models said in turns.
func messagesOf(path []memory.Turn) []Message {
	out := make([]Message, 0, len(path))
	for _, t := range path {
		if t.Role == memory.RoleUser || t.Role == memory.RoleAssistant {
			out = append(out, Message{t.Role, t.Content})
		}
	}
	return out
}

// placed says what keeps the message from being answered: nothing is written yet.
func (c *saying) placed() error {
	p := c.x.Placed()
	switch {
	case p.Deleted != nil:
		return memory.Errorf(memory.NotFound, "there is no chat %q", core.Clip(c.Chat, 60))
	case !c.Again:
		return nil
	case c.x.Hides():
		return memory.Errorf(memory.Conflict, "memory is paused: nothing that was said is changed now")
	case p.Err != nil:
		return fmt.Errorf("find what is to be answered again: %w", p.Err)
	case p.Known() && !p.At.Retry:
		return memory.Errorf(memory.Conflict, "the last message is not kept as it was said, so it cannot be answered again; say it anew")
	}
	return nil
}

// command is what a message may begin with that is meant for an application, and is no
// part of what is asked of memory (design 1).
var command = lazy.Compile(`^\s*/[A-Za-z][\w-]*(?:\s+|$)`)

// prepare recalls, and returns what the model is asked.
func (c *saying) prepare(ctx context.Context) ([]Message, error) {
	contexts, err := c.e.ContextsNamed(ctx, c.Owner, c.conv.Contexts)
	if err != nil {
		return nil, err
	}
	as := c.x.In.Chat.Messages
	asked := slices.Clone(as)
	for i, m := range asked {
		if m.Role == memory.RoleUser {
			asked[i].Text = command.ReplaceAllString(m.Text, "")
		}
	}
	c.x.In.Chat.Messages = asked
	p := c.x.Prepare(ctx)
	c.x.In.Chat.Messages = as
	rules := strings.TrimSpace(c.conv.Rules + "\n" + c.Rules)
	documents, ruled := recall.WithContexts("", contexts, c.e.Opts.Recall.Contexts), exchange.WithRules(p.Block, rules)
	c.x.Pin(ruled)
	if given := strings.TrimSpace(documents + "\n\n" + ruled); given != p.Block && !p.Untold {
		c.e.Traces.Amend(ctx, c.Owner, p.Trace, func(t *memory.Trace) { t.Block = given })
	}
	ask, err := c.e.Prompts.For(c.Model).Fill(prompt.System{
		Contexts: documents, Rules: rules, Memory: p.Block, Message: c.path[len(c.path)-1].Content,
	})
	if err != nil {
		return nil, fmt.Errorf("fill the prompt: %w", err)
	}
	messages := append([]Message{{memory.RoleSystem, ask.System}}, c.before()...)
	return joined(append(messages, Message{memory.RoleUser, ask.User})), nil
}

// joined makes one message of those of the same role that follow each other, as where
// one got no answer: some models insist on turns.
func joined(messages []Message) []Message {
	out := messages[:1]
	for _, m := range messages[1:] {
		if last := &out[len(out)-1]; last.Role == m.Role {
			last.Content += "\n\n" + m.Content
		} else {
			out = append(out, m)
		}
	}
	return out
}

// before returns what was said before and goes along: the end of it, from a message of
// the user's on.
func (c *saying) before() []Message {
	path := c.path[:len(c.path)-1]
	from, size := len(path), 0
	for i, t := range slices.Backward(path) {
		if size += len(t.Content); size > sentBytes {
			break
		}
		from = i
	}
	var out []Message
	for _, m := range messagesOf(path[from:]) {
		if m.Content != "" && (len(out) > 0 || m.Role == memory.RoleUser) {
			out = append(out, m)
		}
	}
	return out
}

// ask lets the model answer. One that cannot take the request as it is gets what was
// said alone, without instructions and memory, as in the other APIs.
func (c *saying) ask(ctx context.Context, ask Talker, messages []Message, heard func(string)) (chatapi.Answer, error) {
	begun := false
	hear := func(piece string) {
		if piece == "" {
			return
		}
		begun = true
		heard(piece)
		c.x.Answered()
	}
	a, err := ask(ctx, c.Model, messages, hear)
	if !begun && (errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge)) {
		bare := joined(append(c.before(), Message{memory.RoleUser, c.path[len(c.path)-1].Content}))
		c.x.Withdraw(ctx, "the upstream refused it: "+err.Error())
		a, err = ask(ctx, c.Model, bare, hear)
	}
	if err == nil && a.Empty() {
		err = memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
	}
	return a, err
}

// answerLocally lets the built-in model answer, word by word.
func (c *saying) answerLocally(o responder.Outlook, heard func(string)) chatapi.Answer {
	a := chatapi.Answer{
		Role: memory.RoleAssistant, Model: responder.Name, Finish: "stop",
		Text: responder.Respond(c.path[len(c.path)-1].Content, c.x.Prepared.Hits, o),
	}
	a.Digest = chatapi.Digest(a.Role, a.Text, "", "")
	for word := range strings.SplitAfterSeq(a.Text, " ") {
		heard(word)
		c.x.Answered()
	}
	return a
}

// keep records the answer, and returns both sides as they are kept. The context is the
// client's.
func (c *saying) keep(client context.Context, a chatapi.Answer) (s Said) {
	place := c.x.RecordAnswer(client, a)
	if place.Turn == "" { // it was not stored in time
		return s
	}
	question, _ := c.x.Asked() // or the answer was not stored
	turns, err := c.e.Store.Turns(context.WithoutCancel(client), c.Owner, memory.TurnQuery{Conversation: c.Chat, Last: 2})
	if err != nil {
		c.e.Log.Warn("what was kept of a chat cannot be read", "conversation", c.Chat, "err", err)
	}
	for i := range turns {
		switch turns[i].ID {
		case question:
			s.Question = &turns[i]
		case place.Turn:
			s.Answer = &turns[i]
		}
	}
	return s
}
