// Package chats stores conversations with a history that Loci itself keeps, and answers messages in them.
package chats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/traces"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// ListChats returns a page of an owner's conversations, most recently used first.
func (e *Chats) ListChats(ctx context.Context, owner memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	return e.Store.Conversations(ctx, owner, q)
}

// Chat returns a conversation, or [memory.NotFound] if it was deleted.
func (e *Chats) Chat(ctx context.Context, owner memory.Owner, id string) (memory.Conversation, error) {
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{id}, Statuses: []memory.Status{memory.Active}})
	if err != nil {
		return memory.Conversation{}, err
	}
	if id == "" || len(page.Conversations) == 0 {
		return memory.Conversation{}, memory.Errorf(memory.NotFound, "there is no chat %q", core.Clip(id, 60))
	}
	return page.Conversations[0], nil
}

// Turns returns the turns on a chat's current branch.
func (e *Chats) Turns(ctx context.Context, owner memory.Owner, chatID string) ([]memory.Turn, error) {
	return e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: chatID})
}

// ChatEdit is an edit of a conversation. A nil field leaves the conversation's field unchanged.
type ChatEdit struct {
	Title          *string
	Contexts       *[]string // ids, in the order of the prompt
	Rules          *string
	IdempotencyKey string // an edit with a repeated key changes nothing
}

// NewChat creates an empty conversation.
func (e *Chats) NewChat(ctx context.Context, owner memory.Owner, project string, edit ChatEdit) (memory.Conversation, error) {
	ctx = memory.ForWrite(ctx)
	next := memory.Conversation{ID: core.NewID(), Owner: owner, Project: project, Status: memory.Active, CreatedAt: e.Time(), UpdatedAt: e.Time()}
	if edit.IdempotencyKey != "" {
		next.ID = core.DerivedID(owner, "chat", edit.IdempotencyKey)
		if existing, err := e.Chat(ctx, owner, next.ID); err == nil {
			return existing, nil
		}
	}
	state := next.State()
	if err := e.ApplyChatEdit(ctx, owner, &state, edit); err != nil {
		return memory.Conversation{}, err
	}
	next.Title, next.Contexts, next.Rules = state.Title, state.Contexts, state.Rules
	if _, err := e.Store.Append(ctx, owner, memory.Batch{Conversation: next}); err != nil {
		return memory.Conversation{}, err
	}
	return e.Chat(ctx, owner, next.ID)
}

// EditChat applies a person's edit to a conversation, in a run that can be undone. All attached contexts
// must exist. Concurrent changes of other fields are retained.
func (e *Chats) EditChat(ctx context.Context, owner memory.Owner, id string, edit ChatEdit, author memory.Author) (memory.Conversation, error) {
	ctx = memory.ForWrite(ctx)
	run := memory.Run{ID: core.NewID(), Kind: "manual", Author: author}
	if edit.IdempotencyKey != "" {
		run.ID = core.IDForKey(owner, "chat "+id+" "+edit.IdempotencyKey)
	}
	err := core.RetryOnConflict(ctx, func() error {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return err
		}
		chat, err := e.Chat(ctx, owner, id)
		if err != nil {
			return err
		}
		if run.Base = 0; chat.Version == 0 { // a conversation that was never edited has no version, so the run is checked against the owner's version
			run.Base = memory.RunBase(version)
		}
		state := chat.State()
		if err := e.ApplyChatEdit(ctx, owner, &state, edit); err != nil {
			return err
		}
		if state.Title == chat.Title && state.Rules == chat.Rules && slices.Equal(state.Contexts, chat.Contexts) {
			return nil
		}
		_, err = e.Store.Apply(ctx, owner, run, memory.Change{
			Action: memory.ActionUpdate, After: memory.State{Conversation: &state}, Base: chat.Version, Reason: "edited by hand",
		})
		return err
	})
	if err != nil {
		return memory.Conversation{}, err
	}
	return e.Chat(ctx, owner, id)
}

// MaxAttached bounds the contexts that are attached to a conversation.
const MaxAttached = 50

// ApplyChatEdit applies an edit to a chat's state.
func (e *Chats) ApplyChatEdit(ctx context.Context, owner memory.Owner, state *memory.ConversationState, edit ChatEdit) (err error) {
	if edit.Title != nil {
		if state.Title, err = e.Curate.CheckLine("title", *edit.Title); err != nil {
			return err
		}
	}
	if edit.Rules != nil {
		if state.Rules = strings.TrimSpace(*edit.Rules); !utf8.ValidString(state.Rules) {
			return memory.Errorf(memory.Invalid, "rules: is not valid UTF-8")
		}
		if len(state.Rules) > e.Opts.MaxTextBytes {
			return memory.Errorf(memory.TooLarge, "rules: has %d bytes, more than the %d of limits.text", len(state.Rules), e.Opts.MaxTextBytes)
		}
	}
	if edit.Contexts == nil {
		return nil
	}
	ids := make([]string, 0, len(*edit.Contexts))
	for _, id := range *edit.Contexts {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > MaxAttached {
		return memory.Errorf(memory.Invalid, "contexts: %d exceed the limit of %d", len(ids), MaxAttached)
	}
	contexts, err := e.ContextsByID(ctx, owner, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		exists := slices.ContainsFunc(contexts, func(c memory.Context) bool { return c.ID == id })
		if !exists && !slices.Contains(state.Contexts, id) { // a context that is attached already may have been deleted
			return memory.Errorf(memory.Invalid, "contexts: there is no context %q", core.Clip(id, 60))
		}
	}
	state.Contexts = ids
	return nil
}

// DeleteChat deletes a conversation in one run that can be undone: its turns and summaries are retired, and
// a reply in progress ends. With withFacts it also retires facts that were learned only from the
// conversation and that no person decided on.
func (e *Chats) DeleteChat(ctx context.Context, owner memory.Owner, id string, withFacts bool, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	reopen, err := e.ReplyLocks.endReplies(ctx, owner, id, memory.Errorf(memory.Gone, "the chat was deleted"))
	if err != nil {
		return memory.Receipt{}, err
	}
	defer reopen()
	var receipt memory.Receipt
	err = core.RetryOnConflict(ctx, func() error {
		receipt, err = e.tryDeleteChat(ctx, owner, id, withFacts, author)
		return err
	})
	return receipt, err
}

// tryDeleteChat deletes a conversation with the turns and summaries that it reads. It returns a Conflict
// after a concurrent write, which may have added a turn or a summary.
func (e *Chats) tryDeleteChat(ctx context.Context, owner memory.Owner, id string, withFacts bool, author memory.Author) (memory.Receipt, error) {
	version, err := e.Version(ctx, owner)
	if err != nil {
		return memory.Receipt{}, err
	}
	chat, err := e.Chat(ctx, owner, id)
	if err != nil {
		return memory.Receipt{}, err
	}
	const reason = "the chat was deleted"
	state := chat.State()
	state.Status = memory.Retired
	changes := []memory.Change{{Action: memory.ActionRetire, After: memory.State{Conversation: &state}, Reason: reason}}
	turns, err := e.Turns(ctx, owner, id)
	if err != nil {
		return memory.Receipt{}, fmt.Errorf("read turns: %w", err)
	}
	var removed []memory.Memory
	turnIDs := map[string]bool{}
	for _, t := range turns {
		turnIDs[t.ID] = true
		changes = append(changes, memory.Change{
			Action: memory.ActionRetire, After: memory.State{Turn: &memory.TurnState{ID: t.ID, Status: memory.Retired}}, Reason: reason,
		})
	}
	summaries, err := e.Summaries(ctx, owner, id)
	if err != nil {
		return memory.Receipt{}, err
	}
	for _, s := range summaries {
		removed = append(removed, memory.Memory{Summary: &s})
	}
	if withFacts {
		q := memory.Query{Conversation: id, Statuses: []memory.Status{memory.Active, memory.Pending}}
		err := e.EachMemory(ctx, owner, q, func(m memory.Memory) {
			if m.Link == nil && m.Fact != nil && curate.LearnedOnlyFrom(*m.Fact, turnIDs) && m.Fact.Source == memory.Extracted && m.Fact.Trust != memory.TrustPerson {
				removed = append(removed, m)
			}
		})
		if err != nil {
			return memory.Receipt{}, fmt.Errorf("list the learned facts: %w", err)
		}
	}
	changes = append(changes, learn.Forget(removed, e.Time(), reason, author)...)
	run := memory.Run{ID: core.NewID(), Kind: "forget", Author: author, Base: memory.RunBase(version)}
	return e.Store.Apply(ctx, owner, run, firstChangePerTarget(changes)...)
}

// firstChangePerTarget returns only the first change of each target.
func firstChangePerTarget(changes []memory.Change) []memory.Change {
	seen := map[string]bool{}
	return slices.DeleteFunc(changes, func(c memory.Change) bool {
		target := c.After.Target()
		isDuplicate := seen[target]
		seen[target] = true
		return isDuplicate
	})
}

// Chats stores Loci's own conversations and replies to messages in them.
type Chats struct {
	*core.Core
	Traces   *traces.Keeper
	Exchange *exchange.Exchanges
	Curate   *curate.Curator

	ReplyLocks replyLocks // admits one reply at a time to each chat
}
