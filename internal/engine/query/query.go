package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/model/responder"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

// Request is a query in a session (POST /query of design 2).
type Request struct {
	Owner     memory.Owner // "": anonymous, without memory
	Session   string       // id of the conversation; "": a new conversation
	Text      string
	UseMemory bool
	TopK      int // number of similar messages; 0: the setting
	Images    []string
	Location  string
	Model     string // for the [Writer]
	Once      string // the client's idempotency key, the same for a retry; "": none
}

// Answer is the answer to a query, with the steps that produced it.
type Answer struct {
	Session    string
	Response   string
	Model      string
	Around     Around
	Cited      []memory.Hit // similar messages in the writer's prompt
	Intent     Intent
	Agents     []string // agents in order of their work
	NeedMemory bool
	Reason     string // why memory was read or not
	Trace      string // id of the trace; "" if memory was not read

	contexts, rules string // documents and rules of the session, for the writer
}

// Writer completes a prompt with a model that accepts images, passed as URLs. Without a Writer, package
// responder answers.
type Writer func(ctx context.Context, p memory.Prompt, images ...string) (memory.Reply, error)

// The names of the agents in answers.
const (
	agentMemory      = "MemoryAgent"      // reads memory
	agentCoordinator = "CoordinatorAgent" // chooses the route by the intent
	AgentVision      = "VisionAgent"      // describes images
	agentWriter      = "WriterAgent"      // writes the answer
	agentRecall      = "RecallAgent"      // answers from memory without a model
)

// Query answers a query of a session: it reads memory, calls a model to describe images and to write the
// answer, and records question and answer like a chat. Only a failure of the writer is an error.
func (e *Querier) Query(ctx context.Context, q Request, write Writer) (Answer, error) {
	out := Answer{Session: cmp.Or(q.Session, core.IDFor(q.Owner, exchange.Suffixed(q.Once, "session"))), Intent: e.Intent(ctx, q)}
	out.NeedMemory, out.Reason = e.needs(ctx, q, out.Intent)
	if out.NeedMemory {
		out.Around = e.Around(ctx, q, out.Session)
		out.Agents, out.Trace = append(out.Agents, agentMemory), out.Around.trace
	}
	out.Agents = append(out.Agents, agentCoordinator)
	x, err := e.openQuery(ctx, q, out.Session)
	if err != nil {
		return out, err
	}
	var outlook responder.Outlook
	if x != nil {
		if out.NeedMemory {
			out.contexts, out.rules = x.Attachments()
		}
		if write == nil {
			outlook = x.Outlook(ctx)
		}
		x.RecordQuestion(ctx)
	}
	reply, err := e.answerQuery(ctx, q, &out, write, outlook)
	if x != nil {
		a := chatapi.Answer{Role: memory.RoleAssistant, Text: reply.Text, Model: reply.Model}
		a.Digest = chatapi.Digest(a.Role, a.Text, "", "")
		x.RecordAnswer(ctx, a) // Loci learns from the question even after an empty answer
	}
	out.Response, out.Model = reply.Text, reply.Model
	return out, err
}

// needsMemory reports whether memory is read for a query, and why.
func (e *Querier) needs(ctx context.Context, q Request, intent Intent) (need bool, why string) {
	switch {
	case !q.UseMemory:
		return false, "use_memory is false"
	case q.Owner == "":
		return false, "no user is named, so there is no memory to read"
	}
	switch e.Paused(ctx, q.Owner) {
	case core.PauseMemory:
		return false, "memory is paused"
	case core.PauseUnknown:
		return false, "the store did not report whether memory is paused"
	}
	switch {
	case intent == IntentMemory || intent == IntentSummary:
		return true, "the query asks about earlier messages"
	}
	return true, "use_memory is true"
}

// openQuery opens an exchange for a query as a chat of one message. For an anonymous query it returns nil.
func (e *Querier) openQuery(ctx context.Context, q Request, session string) (*exchange.Exchange, error) {
	if q.Owner == "" {
		return nil, nil
	}
	chat, err := chatapi.Decode(oneMessage(q.Text))
	if err != nil {
		return nil, err
	}
	return e.Exchange.Open(ctx, exchange.Incoming{Owner: q.Owner, Chat: chat, Extras: chatapi.Extras{ID: session}, Once: q.Once}), nil
}

// answerQuery describes the images, fills the prompt and calls the writer. Without a writer the built-in
// model answers, using the outlook.
func (e *Querier) answerQuery(ctx context.Context, q Request, out *Answer, write Writer, outlook responder.Outlook) (memory.Reply, error) {
	if write == nil {
		out.Agents = append(out.Agents, agentRecall)
		out.Cited = out.Around.Similar
		return memory.Reply{Text: responder.Respond(q.Text, out.Around.repeatable(), outlook), Model: responder.Name}, nil
	}
	images := ""
	if len(q.Images) > 0 {
		seen, err := e.describe(ctx, q, write)
		switch {
		case err != nil && ctx.Err() != nil:
			return memory.Reply{}, err
		case err != nil: // answer without the images, with a note
			e.Log.Warn("images were not described", "err", err)
			images = "(There are images that could not be read.)"
		default:
			images, out.Agents = seen, append(out.Agents, AgentVision)
		}
	}
	fill := out.Around.Assemble()
	fill.Query, fill.Images, fill.Location = q.Text, images, oneLine(q.Location)
	fill.Contexts, fill.Rules = out.contexts, out.rules
	out.Cited = out.Around.Similar[:min(writtenSimilar, len(out.Around.Similar))]
	ask, err := e.Prompts.For(q.Model).Fill(fill)
	if err != nil {
		return memory.Reply{}, fmt.Errorf("fill the prompt: %w", err)
	}
	out.Agents = append(out.Agents, agentWriter)
	reply, err := write(ctx, ask)
	if err != nil {
		return memory.Reply{}, fmt.Errorf("write the answer: %w", err)
	}
	return reply, nil
}

func (e *Querier) describe(ctx context.Context, q Request, write Writer) (string, error) {
	ask, err := e.Prompts.For(q.Model).Fill(prompt.Describe{Query: q.Text})
	if err != nil {
		return "", fmt.Errorf("fill the prompt: %w", err)
	}
	reply, err := write(ctx, ask, q.Images...)
	if err != nil {
		return "", fmt.Errorf("describe images: %w", err)
	}
	return strings.TrimSpace(reply.Text), nil
}

// RelatedMemory is the memory related to a query (memory_context of design 2).
type Around struct {
	Similar   []memory.Hit          // turns, most similar first
	Recent    []memory.Turn         // turns of the session, oldest first
	Summaries []memory.Summary      // the session's summaries first, then the newest others of the user
	Profile   []memory.ProfileEntry // most recently written first
	Dims      int                   // dimensions of the query's embedding; 0: no embedding

	trace string
}

// Bounds of the memory related to a query ("Complete Memory Bundle" of design 2).
const (
	recentPairs   = 6
	nearSummaries = 3
	nearEntries   = 8
)

// ReadRelated reads the memory related to a query, within the deadline of a chat's recall. It reads the
// parts concurrently; the trace names failed parts.
func (e *Querier) Around(ctx context.Context, q Request, session string) Around {
	started := e.Now()
	defer e.Idle.Begin()()
	ctx, cancel := context.WithTimeout(ctx, e.Retrieve.Deadline())
	defer cancel()
	a := Around{trace: core.NewID()}
	r := &retrieve.Pipeline{Source: retrieve.Source{E: e.Retrieve, Now: memory.Time(started), Q: retrieve.Question{
		Scope: memory.Scope{Owner: q.Owner}, Text: q.Text, In: session, Door: "query",
	}}}
	parts := []struct {
		name string
		read func() error
	}{
		{"search", func() (err error) { a.Dims, err = r.Similar(ctx, cmp.Or(q.TopK, e.Opts.Most(true))); return err }},
		{"recent", func() (err error) { a.Recent, err = e.recentTurns(ctx, q.Owner, session, 2*recentPairs); return err }},
		{"summaries", func() (err error) { a.Summaries, err = e.nearSummaries(ctx, q.Owner, session); return err }},
		{"profile", func() (err error) { a.Profile, err = e.latestEntries(ctx, q.Owner); return err }},
	}
	errs := make([]error, len(parts))
	var reading sync.WaitGroup
	for i, part := range parts {
		reading.Go(func() { errs[i] = core.Guarded(e.Core, part.read) })
	}
	reading.Wait()
	for i, err := range errs {
		if err != nil {
			r.Skip(parts[i].name, err)
		}
	}
	a.Similar = r.Hits
	took := e.Now().Sub(started)
	e.Metrics.Recalled(took, r.Degraded...)
	r.Trace(a.trace, "", took)
	return a
}

// recentTurns returns a session's last turns that have content, oldest first.
func (e *Querier) recentTurns(ctx context.Context, owner memory.Owner, session string, most int) ([]memory.Turn, error) {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: session, Last: most})
	if err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	return slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return t.Content == "" || t.Role != memory.RoleUser && t.Role != memory.RoleAssistant
	}), nil
}

// relatedSummaries returns the session's summaries, then the newest of the user's other summaries.
func (e *Querier) nearSummaries(ctx context.Context, owner memory.Owner, session string) ([]memory.Summary, error) {
	own, err := e.Summaries(ctx, owner, session)
	if err != nil {
		return nil, fmt.Errorf("read the session's summary: %w", err)
	}
	page, err := e.Store.List(ctx, owner, memory.Query{Kinds: []memory.Kind{memory.KindSummary}, Limit: nearSummaries + len(own)})
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	for _, m := range page.Memories {
		if m.Summary != nil && m.Summary.Scope.Conversation != session {
			own = append(own, *m.Summary)
		}
	}
	return own[:min(nearSummaries, len(own))], nil
}

// latestEntries returns the most recently written profile entries.
func (e *Querier) latestEntries(ctx context.Context, owner memory.Owner) ([]memory.ProfileEntry, error) {
	entries, err := e.Entries(ctx, owner, memory.At{})
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	slices.SortStableFunc(entries, func(a, b memory.ProfileEntry) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return entries[:min(nearEntries, len(entries))], nil
}

// quotableHits returns the hits that an answer without a model may quote: turns and profile entries.
func (a Around) repeatable() []memory.Hit {
	hits := slices.Clone(a.Similar)
	for _, p := range a.Profile {
		f := memory.Fact{Content: p.Key + ": " + p.Value, ObservedAt: p.UpdatedAt, CreatedAt: p.UpdatedAt, Status: memory.Active}
		hits = append(hits, memory.Hit{Memory: memory.Memory{Fact: &f}})
	}
	return hits
}
