package query

import (
	"time"

	"github.com/loci-memory/loci/internal/engine/query"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
)

// response is the body of the response to POST /query. Its fields are those of the profile "platform".
type response struct {
	Response      string        `json:"response"`
	Citations     []citation    `json:"citations"`
	MemoryContext memoryContext `json:"memory_context"`
	Intent        query.Intent  `json:"intent"`
	AgentsUsed    []string      `json:"agents_used"`
	NeedMemory    bool          `json:"need_memory"`
	MemoryReason  string        `json:"memory_reason"`
	SessionID     string        `json:"session_id"`
	Model         string        `json:"model"`
}

// citation is a message that the answer uses.
type citation struct {
	ID         string      `json:"id"`
	SessionID  string      `json:"session_id"`
	Role       memory.Role `json:"role"`
	Content    string      `json:"content"`
	Similarity float64     `json:"similarity"`
	Timestamp  time.Time   `json:"timestamp"`
}

// memoryContext contains the memories found for the query. It is empty if memory was not searched.
type memoryContext struct {
	Context        []similarMessage `json:"context"`
	RecentMessages []message        `json:"recent_messages"`
	Summaries      []summary        `json:"summaries"`
	Memories       []profileEntry   `json:"memories"`
	EmbeddingDim   int              `json:"query_embedding_dim"`
}

type similarMessage struct {
	Role       memory.Role `json:"role"`
	Content    string      `json:"content"`
	Similarity float64     `json:"similarity"`
	Timestamp  time.Time   `json:"timestamp"`
	SessionID  string      `json:"session_id"`
}

type message struct {
	Role      memory.Role `json:"role"`
	Content   string      `json:"content"`
	Timestamp time.Time   `json:"timestamp"`
}

type summary struct {
	SessionID    string    `json:"session_id"`
	Summary      string    `json:"summary"`
	MessageCount int       `json:"message_count"`
	Model        string    `json:"model"`
	Timestamp    time.Time `json:"timestamp"`
}

type profileEntry struct {
	Key        string    `json:"key"`
	Value      string    `json:"value"`
	UpdatedAt  time.Time `json:"updated_at"`
	TokenCount int       `json:"tokenCount"`
}

func responseOf(a query.Answer) response {
	out := response{
		Response: a.Response, Citations: []citation{}, Intent: a.Intent, AgentsUsed: a.Agents,
		NeedMemory: a.NeedsMemory, MemoryReason: a.Reason, SessionID: a.SessionID, Model: a.Model,
		MemoryContext: memoryContext{Context: []similarMessage{}, RecentMessages: []message{}, Summaries: []summary{}, Memories: []profileEntry{}, EmbeddingDim: a.Related.EmbeddingDims},
	}
	for _, h := range a.Cited {
		t := h.Memory.Turn
		out.Citations = append(out.Citations, citation{t.ID, t.Conversation, t.Role, t.Content, retrieve.Similarity(h), t.CreatedAt})
	}
	c := &out.MemoryContext
	for _, h := range a.Related.SimilarTurns {
		t := h.Memory.Turn
		c.Context = append(c.Context, similarMessage{t.Role, t.Content, retrieve.Similarity(h), t.CreatedAt, t.Conversation})
	}
	for _, t := range a.Related.RecentTurns {
		c.RecentMessages = append(c.RecentMessages, message{t.Role, t.Content, t.CreatedAt})
	}
	for _, s := range a.Related.Summaries {
		c.Summaries = append(c.Summaries, summary{s.Scope.Conversation, s.Text, s.MessageCount, s.Model, s.CreatedAt})
	}
	for _, p := range a.Related.ProfileEntries {
		c.Memories = append(c.Memories, profileEntry{p.Key, p.Value, p.UpdatedAt, p.Tokens})
	}
	return out
}
