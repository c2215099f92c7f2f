package loci

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// apiName is the name of this package in traces, where other requests have the name of an HTTP API.
const apiName = "go"

var programAuthor = memory.Author{Kind: memory.ByPerson, Name: "program"}

func userNamed(name string) memory.Owner { return memory.User(memory.DefaultNamespace, name) }

// Recall returns the memories that answer a user's question, best first.
func (l *Loci) Recall(ctx context.Context, user, question string) ([]memory.Hit, error) {
	answer, err := l.parts.Engine().Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: userNamed(user)}, Text: question, API: apiName})
	return answer.Hits, err
}

// Query is a question with filters. A zero filter matches all memories.
type Query struct {
	Text         string
	TopK         int           // maximum number of hits; 0 uses the setting recall.top_k
	Threshold    *float64      // minimum score of a hit; nil uses the setting recall.threshold
	Kinds        []memory.Kind // nil means all kinds
	Category     string        // category of facts
	Tag          string        // tag of facts
	Project      string        // only memories of this project and memories without a project
	Agent        string
	Conversation string    // only turns of this conversation, and facts learned from it
	At           memory.At // searches memory as it was at another time; the zero value means now
}

func (q Query) toQuestion(user string) retrieve.Question {
	out := retrieve.Question{
		Scope: memory.Scope{Owner: userNamed(user), Project: q.Project, Agent: q.Agent}, Text: q.Text,
		ScoreThreshold: q.Threshold, Kinds: q.Kinds, Category: q.Category, Tag: q.Tag, Conversation: q.Conversation, At: q.At, API: apiName,
	}
	if q.TopK > 0 {
		out.TopK = &q.TopK
	}
	return out
}

// Search is like Recall, but with filters.
func (l *Loci) Search(ctx context.Context, user string, q Query) ([]memory.Hit, error) {
	answer, err := l.parts.Engine().Retrieve.Recall(ctx, q.toQuestion(user))
	return answer.Hits, err
}

// Block returns the text that Loci adds to the prompt of a chat, and the memories in the text. The text
// is empty without memories or if memory is paused.
func (l *Loci) Block(ctx context.Context, user string, q Query) (string, []memory.Hit, error) {
	answer, err := l.parts.Engine().Exchange.RecallBlock(ctx, q.toQuestion(user))
	return answer.Block, answer.Hits, err
}

// Message is a message of a conversation.
type Message struct {
	Role    memory.Role
	Content string
	At      time.Time // time of the message; the zero value means now
}

// Record stores messages of a conversation, from which Loci learns in the background, and returns the
// conversation's id. If conversation is empty, Record creates a conversation.
func (l *Loci) Record(ctx context.Context, user, conversation string, messages ...Message) (string, error) {
	req := exchange.IngestRequest{Conversation: conversation, Learn: true}
	for _, m := range messages {
		req.Messages = append(req.Messages, exchange.Message{Role: m.Role, Content: m.Content, At: m.At})
	}
	stored, err := l.parts.Engine().Exchange.Ingest(ctx, userNamed(user), req)
	return stored.Conversation, err
}

// Remember stores a fact and returns it. If an equal fact exists, Remember returns that fact.
func (l *Loci) Remember(ctx context.Context, user, content string) (memory.Fact, error) {
	f, _, err := l.parts.Engine().Curate.Remember(ctx, userNamed(user), curate.FactInput{Content: content}, programAuthor)
	return f, err
}

// List returns a page of a user's memories. If the query names no kinds, List returns only facts.
func (l *Loci) List(ctx context.Context, user string, q memory.Query) (memory.Page, error) {
	return l.parts.Engine().List(ctx, userNamed(user), q)
}

// Get returns a memory by its id, or [memory.NotFound].
func (l *Loci) Get(ctx context.Context, user, id string) (memory.Memory, error) {
	return l.parts.Engine().Get(ctx, userNamed(user), id)
}

// Edit is an edit of a fact. A nil field means no change.
type Edit struct {
	Content   *string
	Category  *string
	Tags      *[]string
	Core      *memory.Core
	ExpiresAt *time.Time
}

// Edit changes a fact. Facts that the new content contradicts are superseded.
func (l *Loci) Edit(ctx context.Context, user, id string, e Edit) (memory.Fact, error) {
	change := curate.FactEdit{Content: e.Content, Category: e.Category, Tags: e.Tags, Core: e.Core, ExpiresAt: e.ExpiresAt}
	return l.parts.Engine().Curate.EditFact(ctx, userNamed(user), id, change, programAuthor)
}

// Forget excludes memories from searches. Pass the receipt's run to [Loci.Undo] to restore them.
func (l *Loci) Forget(ctx context.Context, user string, ids ...string) (memory.Receipt, error) {
	return l.parts.Engine().Curate.Forget(ctx, userNamed(user), ids, "forgotten by a program", programAuthor)
}

// Undo reverts all changes of a run; receipts and changes contain the id of their run. Undo returns
// [memory.Conflict] if later changes affect the same memories.
func (l *Loci) Undo(ctx context.Context, user, run string) (memory.Receipt, error) {
	undone, err := l.parts.Engine().Curate.Undo(ctx, userNamed(user), curate.UndoRequest{RunID: run}, programAuthor)
	return undone.Receipt, err
}
