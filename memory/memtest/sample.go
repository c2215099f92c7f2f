package memtest

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/memory"
)

// Ana and Ben are users with separate memories; Team is a pool.
var (
	Ana  = memory.User(memory.DefaultNamespace, "ana")
	Ben  = memory.User(memory.DefaultNamespace, "ben")
	Team = memory.Pool(memory.DefaultNamespace, "team")
)

// Hash returns the hash of a sample fact's content.
func Hash(content string) string {
	words := strings.Join(strings.Fields(strings.ToLower(content)), " ")
	sum := sha256.Sum256([]byte(words))
	return fmt.Sprintf("%x", sum[:8])
}

// Fact returns an active fact of owner, observed at [Epoch]. Its id depends only on owner and content.
func Fact(owner memory.Owner, content string) memory.Fact {
	return memory.Fact{
		ID:         ID("fact " + string(owner) + " " + content),
		Scope:      memory.Scope{Owner: owner},
		Content:    content,
		Confidence: 1,
		Status:     memory.Active,
		Source:     memory.Manual,
		Trust:      memory.TrustPerson,
		ObservedAt: Epoch,
		CreatedAt:  Epoch,
		UpdatedAt:  Epoch,
		Hash:       Hash(content),
	}
}

// Conversation returns a conversation of owner with this id.
func Conversation(owner memory.Owner, id string) memory.Conversation {
	return memory.Conversation{ID: id, Owner: owner, Status: memory.Active, CreatedAt: Epoch, UpdatedAt: Epoch}
}

// Turn returns the active turn at an index of a conversation with only one path.
func Turn(owner memory.Owner, conversation string, index int, role memory.Role, content string) memory.Turn {
	return memory.Turn{
		ID:           turnID(owner, conversation, index),
		Owner:        owner,
		Conversation: conversation,
		Index:        index,
		Parent:       parentID(owner, conversation, index),
		Chain:        fmt.Sprintf("chain %s %d", conversation, index),
		Role:         role,
		Content:      content,
		Status:       memory.Active,
		CreatedAt:    Epoch,
	}
}

func turnID(owner memory.Owner, conversation string, index int) string {
	return ID(fmt.Sprintf("turn %s %s %d", owner, conversation, index))
}

func parentID(owner memory.Owner, conversation string, index int) string {
	if index == 0 {
		return ""
	}
	return turnID(owner, conversation, index-1)
}

// Batch returns a batch of alternating user and assistant turns of a conversation. firstIndex is the index
// of the first turn.
func Batch(owner memory.Owner, conversation string, firstIndex int, contents ...string) memory.Batch {
	b := memory.Batch{Conversation: Conversation(owner, conversation)}
	for i, c := range contents {
		role := memory.RoleUser
		if (firstIndex+i)%2 == 1 {
			role = memory.RoleAssistant
		}
		b.Turns = append(b.Turns, Turn(owner, conversation, firstIndex+i, role, c))
	}
	return b
}

// Summary returns an active summary of a conversation.
func Summary(owner memory.Owner, conversation, text string) memory.Summary {
	return memory.Summary{
		ID:           ID("summary " + string(owner) + " " + conversation + " " + text),
		Scope:        memory.Scope{Owner: owner, Conversation: conversation},
		Text:         text,
		MessageCount: 2,
		Model:        "rule_based",
		Status:       memory.Active,
		CreatedAt:    Epoch,
	}
}

// Profile returns an active profile entry.
func Profile(owner memory.Owner, key, value string) memory.ProfileEntry {
	return memory.ProfileEntry{Owner: owner, Key: key, Value: value, Tokens: len(value)/4 + 1, Status: memory.Active, UpdatedAt: Epoch}
}

// Context returns an active context.
func Context(owner memory.Owner, title, content string) memory.Context {
	return memory.Context{
		ID: ID("context " + string(owner) + " " + title), Owner: owner, Title: title, Content: content,
		Status: memory.Active, CreatedAt: Epoch, UpdatedAt: Epoch,
	}
}

// Relation returns an active relation between two facts.
func Relation(owner memory.Owner, fromID, toID string, kind memory.RelationKind) memory.Relation {
	return memory.Relation{Owner: owner, From: fromID, To: toID, Kind: kind, Status: memory.Active, CreatedAt: Epoch}
}

// Link returns an active link that makes fact visible to owner.
func Link(owner memory.Owner, fact memory.Fact) memory.Link {
	return memory.Link{Owner: owner, Fact: fact, HomeVersion: fact.Version, Status: memory.Active, CreatedAt: Epoch}
}

// Job returns a job of owner, due immediately.
func Job(owner memory.Owner, kind memory.JobKind, name string) memory.Job {
	return memory.Job{ID: ID("job " + string(owner) + " " + name), Owner: owner, Kind: kind}
}

// Vector returns a memory's vector, embedded by the zero [Embedder].
func Vector(id, content string) memory.Vector {
	return memory.Vector{Memory: id, Model: new(Embedder).Fingerprint(), Values: Embed(content)}
}

// Person is the author of manual changes.
var Person = memory.Author{Kind: memory.ByPerson, Name: "ana"}

// Run returns a run of [Person] with this id.
func Run(id string) memory.Run {
	return memory.Run{ID: id, Kind: "manual", Author: Person}
}

// Add returns the change that adds a fact.
func Add(f memory.Fact) memory.Change { return Change(memory.ActionAdd, f) }

// Retire returns the change that retires a fact.
func Retire(f memory.Fact) memory.Change {
	f.Status = memory.Retired
	return Change(memory.ActionRetire, f)
}

// Change returns a change by [Person] that gives the target newState: a Fact, Link, ProfileEntry,
// Relation, Summary, TurnState, Context or ConversationState.
func Change[T memory.Fact | memory.Link | memory.ProfileEntry | memory.Relation | memory.Summary | memory.TurnState | memory.Context | memory.ConversationState](action memory.Action, newState T) memory.Change {
	c := memory.Change{Action: action, Author: Person}
	switch state := any(&newState).(type) {
	case *memory.Fact:
		c.After.Fact = state
	case *memory.Link:
		c.After.Link = state
	case *memory.ProfileEntry:
		c.After.Profile = state
	case *memory.Relation:
		c.After.Relation = state
	case *memory.Summary:
		c.After.Summary = state
	case *memory.TurnState:
		c.After.Turn = state
	case *memory.Context:
		c.After.Context = state
	case *memory.ConversationState:
		c.After.Conversation = state
	}
	return c
}

// TurnChange returns a change of a turn's status by [Person].
func TurnChange(action memory.Action, turnID string, status memory.Status) memory.Change {
	return Change(action, memory.TurnState{ID: turnID, Status: status})
}
