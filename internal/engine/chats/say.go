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

// SayRequest is a user's message in one of Loci's own chats.
type SayRequest struct {
	Owner   memory.Owner
	Chat    string
	Content string
	Again   bool   // answer the last message again; Content is ignored
	Model   string // [responder.Name] is the built-in model, which needs no ChatModel
	Rules   string // rules for this reply, in addition to the chat's rules
}

// Message is one message of a chat as a model receives it.
type Message struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// ChatModel answers a chat and calls onText with each piece of the answer. If it fails midway, it returns
// the partial answer with the error. [memory.Invalid] and [memory.TooLarge] mean that the model does not
// accept the request in this form.
type Talker func(ctx context.Context, model string, chat []Message, heard func(piece string)) (chatapi.Answer, error)

// Listener receives a reply piece by piece. OnRecalled and OnText are required. While they block, other
// replies wait.
type Listener struct {
	Recalled func(retrieve.Prepared) // called once, before the first piece
	Heard    func(piece string)      // called with each piece of the answer

	// OnEnd is called concurrently when the chat is deleted or the client disconnects. OnRecalled and
	// OnText must then return, even without a reader of their output. nil: they never block.
	Ended func()
}

// watchEnd calls OnEnd when ctx ends. stop waits for a running call and prevents later calls.
func (l Listener) callEnded(ctx context.Context) (let func()) {
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

// Reply is the stored result of a [SayRequest].
type Reply struct {
	Question *memory.Turn // nil: not stored
	Answer   *memory.Turn // nil: not stored; may be incomplete
	Model    string
}

// Bounds of the earlier messages that are sent to a model, the newest ones.
const (
	SentTurns = 100
	sentBytes = 96 << 10
)

// Say answers a user's message in a chat, using attached and recalled memory, and stores both messages for
// learning. Unlike in other clients' chats, Loci itself keeps the history. Each chat has one reply at a
// time; other replies wait.
//
// An error before OnRecalled is called means that nothing was written: [memory.NotFound] for an unknown
// chat, [memory.Conflict] if the chat has no message to answer again. After OnRecalled, the user's message
// and the partial answer are stored. If the client disconnects or the chat is deleted, the error is the
// context's cause.
func (e *Chats) Say(ctx context.Context, s SayRequest, ask Talker, to Listener) (Reply, error) {
	var err error
	if s.Rules != "" {
		if s.Rules, err = e.CheckText("rules", s.Rules); err != nil {
			return Reply{}, err
		}
	}
	if !s.Again {
		if s.Content, err = e.CheckText("content", s.Content); err != nil {
			return Reply{}, err
		}
	}
	ctx, leave, err := e.Talks.enter(ctx, s.Owner, s.Chat)
	if err != nil {
		return Reply{}, err
	}
	defer leave()
	defer to.callEnded(ctx)()
	c, err := e.openTalking(ctx, s)
	if err != nil {
		return Reply{}, err
	}
	messages, err := c.prepare(ctx)
	if err != nil {
		return Reply{}, err
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
	reply := c.keep(ctx, a)
	reply.Model = cmp.Or(a.Model, s.Model)
	return reply, err
}

// reply is a [SayRequest] in progress.
type reply struct {
	SayRequest
	e    *Chats
	conv memory.Conversation
	path []memory.Turn // earlier turns, followed by the message to answer
	x    *exchange.Exchange
}

// openReply reads the chat and adds the new message to its current branch.
func (e *Chats) openTalking(ctx context.Context, s SayRequest) (*reply, error) {
	conv, err := e.Chat(ctx, s.Owner, s.Chat)
	if err != nil {
		return nil, err
	}
	path, err := e.Store.Turns(ctx, s.Owner, memory.TurnQuery{Conversation: s.Chat, Last: SentTurns})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	c := &reply{SayRequest: s, e: e, conv: conv, path: path}
	if err := c.addMessage(); err != nil {
		return nil, err
	}
	chat := c.request()
	c.x = e.Exchange.Open(ctx, exchange.Incoming{
		Owner: s.Owner, Own: true, Chat: chat, Extras: chatapi.Extras{ID: s.Chat, Project: conv.Project},
		After: cmp.Or(c.path[len(c.path)-1].Parent, thread.Beginning), From: len(chat.Messages) - 1,
	})
	return c, c.placed()
}

// addMessage makes the message to answer the last turn of the branch.
func (c *reply) addMessage() error {
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
		return memory.Errorf(memory.Conflict, "this chat has no message to answer again")
	}
	c.path = c.path[:last+1]
	return nil
}

// chatRequest returns the branch as a chat request, in the form that clients send.
func (c *reply) request() *chatapi.Chat {
	body, err := json.Marshal(map[string]any{"model": c.Model, "stream": true, "messages": messagesOf(c.path)})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	chat, err := chatapi.Decode(body)
	if err != nil {
		panic(fmt.Sprintf("engine: a request of its own: %v", err))
	}
	return chat
}

// messagesOf returns the messages of users and models among turns.
func messagesOf(path []memory.Turn) []Message {
	out := make([]Message, 0, len(path))
	for _, t := range path {
		if t.Role == memory.RoleUser || t.Role == memory.RoleAssistant {
			out = append(out, Message{t.Role, t.Content})
		}
	}
	return out
}

// checkPlacement returns an error if the message cannot be answered. It is called before any write.
func (c *reply) placed() error {
	p := c.x.Placed()
	switch {
	case p.Deleted != nil:
		return memory.Errorf(memory.NotFound, "there is no chat %q", core.Clip(c.Chat, 60))
	case !c.Again:
		return nil
	case c.x.Redacts():
		return memory.Errorf(memory.Conflict, "memory is paused: messages cannot be changed now")
	case p.Err != nil:
		return fmt.Errorf("find the message to answer again: %w", p.Err)
	case p.Found() && !p.At.Retry:
		return memory.Errorf(memory.Conflict, "the last message was stored redacted, so it cannot be answered again; send it again")
	}
	return nil
}

// slashCommand matches the prefix of a message that addresses an application; recall ignores it (design 1).
var command = lazy.Compile(`^\s*/[A-Za-z][\w-]*(?:\s+|$)`)

// prepare recalls memory and returns the messages for the model.
func (c *reply) prepare(ctx context.Context) ([]Message, error) {
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
	if block := strings.TrimSpace(documents + "\n\n" + ruled); block != p.Block && !p.TextlessTrace {
		c.e.Traces.Amend(ctx, c.Owner, p.Trace, func(t *memory.Trace) { t.Block = block })
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

// mergeSameRole merges consecutive messages of one role, for example after an unanswered message, because
// some models require alternating roles.
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

// earlierMessages returns the newest earlier messages within the limits, from a user's message on.
func (c *reply) before() []Message {
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

// askModel calls the model. If the model rejects the request, it sends the messages without instructions
// and memory, as the other APIs do.
func (c *reply) ask(ctx context.Context, ask Talker, messages []Message, heard func(string)) (chatapi.Answer, error) {
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

// answerLocally streams the built-in model's answer word by word.
func (c *reply) answerLocally(o responder.Outlook, heard func(string)) chatapi.Answer {
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

// storeAnswer records the answer, and returns the stored question and answer. clientCtx is the client's
// context.
func (c *reply) keep(client context.Context, a chatapi.Answer) (s Reply) {
	place := c.x.RecordAnswer(client, a)
	if place.Turn == "" { // the answer was not stored in time
		return s
	}
	question, _ := c.x.Asked() // on an error, no answer was stored
	turns, err := c.e.Store.Turns(context.WithoutCancel(client), c.Owner, memory.TurnQuery{Conversation: c.Chat, Last: 2})
	if err != nil {
		c.e.Log.Warn("the stored turns of a chat cannot be read", "conversation", c.Chat, "err", err)
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
