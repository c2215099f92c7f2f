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
	Owner      memory.Owner
	Chat       string // id of the chat
	Content    string
	Regenerate bool   // answer the last message again; Content is ignored
	Model      string // [responder.Name] is the built-in model, which needs no ChatModel
	Rules      string // rules for this reply, in addition to the chat's rules
}

// Message is one message of a chat as a model receives it.
type Message struct {
	Role    memory.Role `json:"role"`
	Content string      `json:"content"`
}

// ChatModel answers a chat and calls onText with each piece of the answer. If it fails midway, it returns
// the partial answer with the error. [memory.Invalid] and [memory.TooLarge] mean that the model does not
// accept the request in this form.
type ChatModel func(ctx context.Context, model string, chat []Message, onText func(piece string)) (chatapi.Answer, error)

// ReplyListener receives a reply piece by piece. OnRecalled and OnText are required. While they block, other
// replies wait.
type ReplyListener struct {
	OnRecalled func(retrieve.PromptMemory) // called once, before the first piece
	OnText     func(piece string)          // called with each piece of the answer

	// OnEnd is called concurrently when the chat is deleted or the client disconnects. OnRecalled and
	// OnText must then return, even without a reader of their output. nil: they never block.
	OnEnd func()
}

// watchEnd calls OnEnd when ctx ends. stop waits for a running call and prevents later calls.
func (l ReplyListener) watchEnd(ctx context.Context) (stop func()) {
	if l.OnEnd == nil {
		return func() {}
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(done); l.OnEnd() })
	return func() {
		if !cancel() {
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
	MaxSentTurns = 100
	maxSentBytes = 96 << 10
)

// Say answers a user's message in a chat, using attached and recalled memory, and stores both messages for
// learning. Unlike in other clients' chats, Loci itself keeps the history. Each chat has one reply at a
// time; other replies wait.
//
// An error before OnRecalled is called means that nothing was written: [memory.NotFound] for an unknown
// chat, [memory.Conflict] if the chat has no message to answer again. After OnRecalled, the user's message
// and the partial answer are stored. If the client disconnects or the chat is deleted, the error is the
// context's cause.
func (e *Chats) Say(ctx context.Context, req SayRequest, model ChatModel, listener ReplyListener) (Reply, error) {
	var err error
	if req.Rules != "" {
		if req.Rules, err = e.CheckText("rules", req.Rules); err != nil {
			return Reply{}, err
		}
	}
	if !req.Regenerate {
		if req.Content, err = e.CheckText("content", req.Content); err != nil {
			return Reply{}, err
		}
	}
	ctx, unlock, err := e.ReplyLocks.acquire(ctx, req.Owner, req.Chat)
	if err != nil {
		return Reply{}, err
	}
	defer unlock()
	defer listener.watchEnd(ctx)()
	c, err := e.openReply(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	messages, err := c.prepareMessages(ctx)
	if err != nil {
		return Reply{}, err
	}
	effect := responder.MemoryEffect{}
	if req.Model == responder.Name {
		effect = c.exchange.PredictEffect(ctx)
	}
	c.exchange.RecordQuestion(ctx)
	listener.OnRecalled(c.exchange.PromptMemory)
	var answer chatapi.Answer
	if req.Model == responder.Name {
		answer = c.answerLocally(effect, listener.OnText)
	} else {
		answer, err = c.askModel(ctx, model, messages, listener.OnText)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	reply := c.storeAnswer(ctx, answer)
	reply.Model = cmp.Or(answer.Model, req.Model)
	return reply, err
}

// pendingReply is a [SayRequest] in progress.
type pendingReply struct {
	SayRequest
	chats        *Chats
	conversation memory.Conversation
	path         []memory.Turn // earlier turns, followed by the message to answer
	exchange     *exchange.Exchange
}

// openReply reads the chat and adds the new message to its current branch.
func (e *Chats) openReply(ctx context.Context, req SayRequest) (*pendingReply, error) {
	conv, err := e.Chat(ctx, req.Owner, req.Chat)
	if err != nil {
		return nil, err
	}
	path, err := e.Store.Turns(ctx, req.Owner, memory.TurnQuery{Conversation: req.Chat, Last: MaxSentTurns})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	c := &pendingReply{SayRequest: req, chats: e, conversation: conv, path: path}
	if err := c.addMessage(); err != nil {
		return nil, err
	}
	chat := c.chatRequest()
	c.exchange = e.Exchange.Open(ctx, exchange.Incoming{
		Owner: req.Owner, IsOwnChat: true, Chat: chat, Extras: chatapi.Extras{ID: req.Chat, Project: conv.Project},
		AfterTurnID: cmp.Or(c.path[len(c.path)-1].Parent, thread.AtBeginning), FirstMessageIndex: len(chat.Messages) - 1,
	})
	return c, c.checkPlacement()
}

// addMessage makes the message to be answered the last turn of the path.
func (c *pendingReply) addMessage() error {
	last := len(c.path) - 1
	if !c.Regenerate {
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
func (c *pendingReply) chatRequest() *chatapi.Chat {
	body, err := json.Marshal(map[string]any{"model": c.Model, "stream": true, "messages": messagesOf(c.path)})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	chat, err := chatapi.Decode(body)
	if err != nil {
		panic(fmt.Sprintf("engine: the built chat request is invalid: %v", err))
	}
	return chat
}

// messagesOf returns the messages of users and models among turns.
func messagesOf(turns []memory.Turn) []Message {
	out := make([]Message, 0, len(turns))
	for _, t := range turns {
		if t.Role == memory.RoleUser || t.Role == memory.RoleAssistant {
			out = append(out, Message{t.Role, t.Content})
		}
	}
	return out
}

// checkPlacement returns an error if the message cannot be answered. It is called before any write.
func (c *pendingReply) checkPlacement() error {
	placement := c.exchange.Placement()
	switch {
	case placement.DeletedState != nil:
		return memory.Errorf(memory.NotFound, "there is no chat %q", core.Clip(c.Chat, 60))
	case !c.Regenerate:
		return nil
	case c.exchange.RedactsTurns():
		return memory.Errorf(memory.Conflict, "memory is paused, so messages cannot be answered again now")
	case placement.Err != nil:
		return fmt.Errorf("find the message to answer again: %w", placement.Err)
	case placement.IsPlaced() && !placement.Alignment.IsRetry:
		return memory.Errorf(memory.Conflict, "the last message was stored redacted, so it cannot be answered again; send it again")
	}
	return nil
}

// slashCommand matches a message's prefix that addresses an application, as in "/ask ". Recall ignores it.
var slashCommand = lazy.Compile(`^\s*/[A-Za-z][\w-]*(?:\s+|$)`)

// prepareMessages recalls memory and returns the messages for the model.
func (c *pendingReply) prepareMessages(ctx context.Context) ([]Message, error) {
	contexts, err := c.chats.ContextsByID(ctx, c.Owner, c.conversation.Contexts)
	if err != nil {
		return nil, err
	}
	original := c.exchange.Incoming.Chat.Messages
	stripped := slices.Clone(original)
	for i, m := range stripped {
		if m.Role == memory.RoleUser {
			stripped[i].Text = slashCommand.ReplaceAllString(m.Text, "")
		}
	}
	c.exchange.Incoming.Chat.Messages = stripped
	prepared := c.exchange.Prepare(ctx)
	c.exchange.Incoming.Chat.Messages = original
	rules := strings.TrimSpace(c.conversation.Rules + "\n" + c.Rules)
	documents, withRules := recall.WithContexts("", contexts, c.chats.Opts.Recall.ContextTokens), exchange.WithRules(prepared.Block, rules)
	c.exchange.CacheBlock(withRules)
	if block := strings.TrimSpace(documents + "\n\n" + withRules); block != prepared.Block && !prepared.TextlessTrace {
		c.chats.Traces.Amend(ctx, c.Owner, prepared.TraceID, func(t *memory.Trace) { t.Block = block })
	}
	filled, err := c.chats.Prompts.ForModel(c.Model).Fill(prompt.System{
		Contexts: documents, Rules: rules, Memory: prepared.Block, Message: c.path[len(c.path)-1].Content,
	})
	if err != nil {
		return nil, fmt.Errorf("fill the prompt: %w", err)
	}
	messages := append([]Message{{memory.RoleSystem, filled.System}}, c.earlierMessages()...)
	return mergeSameRole(append(messages, Message{memory.RoleUser, filled.User})), nil
}

// mergeSameRole merges consecutive messages of one role, for example after an unanswered message, because
// some models require alternating roles.
func mergeSameRole(messages []Message) []Message {
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
func (c *pendingReply) earlierMessages() []Message {
	path := c.path[:len(c.path)-1]
	start, size := len(path), 0
	for i, t := range slices.Backward(path) {
		if size += len(t.Content); size > maxSentBytes {
			break
		}
		start = i
	}
	var out []Message
	for _, m := range messagesOf(path[start:]) {
		if m.Content != "" && (len(out) > 0 || m.Role == memory.RoleUser) {
			out = append(out, m)
		}
	}
	return out
}

// askModel calls the model. If the model rejects the request, askModel sends the messages without
// instructions and memory, as the other APIs do.
func (c *pendingReply) askModel(ctx context.Context, ask ChatModel, messages []Message, onText func(string)) (chatapi.Answer, error) {
	started := false
	forward := func(piece string) {
		if piece == "" {
			return
		}
		started = true
		onText(piece)
		c.exchange.MarkAnswerStarted()
	}
	answer, err := ask(ctx, c.Model, messages, forward)
	if !started && (errors.Is(err, memory.Invalid) || errors.Is(err, memory.TooLarge)) {
		plain := mergeSameRole(append(c.earlierMessages(), Message{memory.RoleUser, c.path[len(c.path)-1].Content}))
		c.exchange.WithdrawMemory(ctx, "the upstream refused it: "+err.Error())
		answer, err = ask(ctx, c.Model, plain, forward)
	}
	if err == nil && answer.Empty() {
		err = memory.Errorf(memory.Unavailable, "the upstream's answer has no text")
	}
	return answer, err
}

// answerLocally streams the built-in model's answer word by word.
func (c *pendingReply) answerLocally(effect responder.MemoryEffect, onText func(string)) chatapi.Answer {
	answer := chatapi.Answer{
		Role: memory.RoleAssistant, Model: responder.Name, FinishReason: "stop",
		Text: responder.Respond(c.path[len(c.path)-1].Content, c.exchange.PromptMemory.Hits, effect),
	}
	answer.Digest = chatapi.Digest(answer.Role, answer.Text, "", "")
	for word := range strings.SplitAfterSeq(answer.Text, " ") {
		onText(word)
		c.exchange.MarkAnswerStarted()
	}
	return answer
}

// storeAnswer records the answer, and returns the stored question and answer. clientCtx is the client's
// context.
func (c *pendingReply) storeAnswer(clientCtx context.Context, answer chatapi.Answer) (stored Reply) {
	point := c.exchange.RecordAnswer(clientCtx, answer)
	if point.TurnID == "" { // the answer was not stored in time
		return stored
	}
	question, _ := c.exchange.QuestionID() // after an error, no stored turn has the empty id
	turns, err := c.chats.Store.Turns(context.WithoutCancel(clientCtx), c.Owner, memory.TurnQuery{Conversation: c.Chat, Last: 2})
	if err != nil {
		c.chats.Log.Warn("the stored turns of a chat cannot be read", "conversation", c.Chat, "err", err)
	}
	for i := range turns {
		switch turns[i].ID {
		case question:
			stored.Question = &turns[i]
		case point.TurnID:
			stored.Answer = &turns[i]
		}
	}
	return stored
}
