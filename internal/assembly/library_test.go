package assembly

import (
	"context"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// What the library does, by the engine.

// Message is one message of a conversation.
type Message struct {
	Role    memory.Role
	Content string
	At      time.Time // zero: now
}

// Recall returns what memory has to a user's question, best first.
func (l *Loci) Recall(ctx context.Context, user, question string) ([]memory.Hit, error) {
	found, err := l.engine.Retrieve.Recall(ctx, retrieve.Question{Scope: memory.Scope{Owner: userNamed(user)}, Text: question, API: "go"})
	return found.Hits, err
}

// Record keeps messages of a conversation, "" for a new one, and learns from them
// in the background. It returns the conversation's id.
func (l *Loci) Record(ctx context.Context, user, conversation string, messages ...Message) (string, error) {
	talk := exchange.IngestRequest{Conversation: conversation, Learn: true}
	for _, m := range messages {
		talk.Messages = append(talk.Messages, exchange.Message{Role: m.Role, Content: m.Content, At: m.At})
	}
	kept, err := l.engine.Exchange.Ingest(ctx, userNamed(user), talk)
	return kept.Conversation, err
}

// Remember writes a fact down and returns it; an equal one that stands already is
// returned instead.
func (l *Loci) Remember(ctx context.Context, user, content string) (memory.Fact, error) {
	f, _, err := l.engine.Curate.Remember(ctx, userNamed(user), curate.FactInput{Content: content}, byProgram)
	return f, err
}

// Forget takes memories out of recall by their ids. The receipt's run undoes it.
func (l *Loci) Forget(ctx context.Context, user string, ids ...string) (memory.Receipt, error) {
	return l.engine.Curate.Forget(ctx, userNamed(user), ids, "forgotten by a program", byProgram)
}

var byProgram = memory.Author{Kind: memory.ByPerson, Name: "program"}

func (l *Loci) Doctor(ctx context.Context, confirm bool) (client.Checkup, error) {
	return l.doctor.Examine(ctx, confirm)
}
