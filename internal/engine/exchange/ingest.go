package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

// IngestRequest is a part of a conversation that a program submits.
type Talk struct {
	Conversation string // id; "": a new conversation
	Project      string
	Parent       *string // Ref of the message before the first one; "": the beginning; nil: the last stored message
	Messages     []Message
	Infer        bool // learn from the messages
	Wait         bool // wait until learning is done
	Idempotency  string
}

// Message is one message of an [IngestRequest].
type Message struct {
	Role    memory.Role
	Content string
	Name    string
	Ref     string
	At      time.Time // zero: now
}

// IngestResult is the result of storing an [IngestRequest].
type Kept struct {
	Conversation string
	Turns        []string
	Job          string
	Learned      []memory.Memory // set only with WaitForLearning
}

// Ingest appends messages to a conversation. The last transaction also queues the job that learns from
// them. With a repeated idempotency key it writes nothing.
func (e *Exchanges) Ingest(ctx context.Context, owner memory.Owner, talk Talk) (Kept, error) {
	ctx = memory.ForWrite(ctx)
	if len(talk.Messages) == 0 {
		return Kept{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	switch e.Paused(ctx, owner) {
	case core.PauseMemory:
		return Kept{}, memory.Errorf(memory.Conflict, "memory is paused; resume it with loci pause none or PUT /api/pause")
	case core.PauseLearning:
		talk.Infer = false
	case core.PauseUnknown:
		return Kept{}, core.ErrPauseUnknown
	}
	kept := Kept{Conversation: talk.Conversation}
	if kept.Conversation == "" && e.Retrieve.Apart() {
		kept.Conversation = retrieve.UnnamedConversation
	}
	if kept.Conversation == "" {
		kept.Conversation = core.IDFor(owner, Suffixed(talk.Idempotency, "conversation"))
	}
	if err := e.keep(ctx, owner, talk, &kept); err != nil {
		return Kept{}, err
	}
	e.Wake()
	if !talk.Wait || kept.Job == "" {
		return kept, nil
	}
	if err := e.finished(ctx, owner, kept.Job); err != nil {
		return kept, err
	}
	learned, err := e.taught(ctx, owner, kept.Turns)
	kept.Learned = learned
	return kept, err
}

// storeTurns stores the turns and the job of a request, and sets result. Turns that another server
// writes concurrently precede the remaining turns.
func (e *Exchanges) keep(ctx context.Context, owner memory.Owner, talk Talk, kept *Kept) error {
	turns, err := e.turnsOf(owner, talk)
	if err != nil {
		return err
	}
	err = e.write(ctx, owner, kept.Conversation, false, func(again bool) (writing, error) {
		return e.layTalk(ctx, owner, talk, turns, again, kept)
	})
	if err != nil {
		return fmt.Errorf("store messages: %w", err)
	}
	return nil
}

// newTurns converts a request's messages to turns without positions.
func (e *Exchanges) turnsOf(owner memory.Owner, talk Talk) ([]memory.Turn, error) {
	var turns []memory.Turn
	for i, m := range talk.Messages {
		content, err := e.CheckText(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return nil, err
		}
		t := memory.Turn{
			ID: core.NewID(), Owner: owner, Role: m.Role, Name: m.Name, Ref: m.Ref, CreatedAt: memory.Time(m.At), NoLearn: !talk.Infer,
			Content: learn.Redact(content, e.Opts.Learn.Personal), Chain: chatapi.Digest(m.Role, content, "", ""),
		}
		if talk.Idempotency != "" {
			t.ID = core.DerivedID(owner, talk.Idempotency, strconv.Itoa(i))
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = e.Time()
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// planIngest creates the batch of a request's turns. With a parent, the turns follow the parent: stored
// turns are recognized, and other turns after the parent leave the current branch. Without a parent,
// the turns are appended. resumed reports that some turns may be stored already.
func (e *Exchanges) layTalk(ctx context.Context, owner memory.Owner, talk Talk, turns []memory.Turn, resumed bool, kept *Kept) (w writing, err error) {
	stored, after := thread.Candidate{}, ""
	if talk.Parent != nil && talk.Conversation != "" {
		if stored, err = e.conversation(ctx, owner, kept.Conversation); err != nil {
			return w, err
		}
		after = turnNamed(stored.Turns, *talk.Parent)
	}
	rest, behind := turns, after != ""
	if !behind {
		if resumed || talk.Idempotency != "" {
			if rest, err = e.notStored(ctx, owner, kept.Conversation, turns); err != nil {
				return w, err
			}
		}
		if stored, after, err = e.end(ctx, owner, kept.Conversation); err != nil {
			return w, err
		}
	}
	messages := make([]chatapi.Message, len(rest))
	for i, t := range rest {
		if messages[i] = (chatapi.Message{Role: t.Role, Text: t.Content, Digest: t.Chain}); t.Role == memory.RoleSystem {
			messages[i].Role = memory.RoleTool // tool messages are also stored
		}
	}
	at := thread.Follow(stored.Turns, thread.NewRequest(messages, 0), after, 0)
	w = newWriting(memory.Conversation{
		ID: kept.Conversation, Owner: owner, Project: talk.Project, CreatedAt: turns[0].CreatedAt, UpdatedAt: e.Time(),
	}, at, false)
	w.move(at.Leave, at.Rejoin, at.Path())
	ids := at.Turns
	for _, p := range at.New {
		t := rest[p.Message]
		if t.Index, t.Chain = p.Index, p.Chain; behind {
			t.ID = "" // so that equal concurrent requests write only one turn
		}
		confides := talk.Infer && w.isOffTheRecord(t.Role, t.Content) // without learning, store verbatim
		ids[p.Message] = w.add(t, confides).ID
	}
	kept.Turns = nil
	for _, t := range turns[:len(turns)-len(rest)] {
		kept.Turns = append(kept.Turns, t.ID)
	}
	kept.Turns = append(kept.Turns, ids...)
	unchanged := len(w.Turns)+len(w.Marks) == 0
	if !unchanged {
		w.Marks = append(w.Marks, reopenDeleted(deleted(stored.Conversation))...)
	}
	if kept.Job = ""; !talk.Infer || behind && unchanged {
		return w, nil
	}
	job := lessons.LearnJob(owner, kept.Conversation, kept.Turns[len(kept.Turns)-1], e.Time(), w.moved...)
	if len(w.moved) > 0 { // each move of turns needs a new job id
		job.ID += "-" + w.Run
	}
	if kept.Job = job.ID; unchanged { // the job was stored earlier
		return w, nil
	}
	w.Jobs = []memory.Job{job}
	if n := len(w.Turns); n > 0 && e.Opts.Learn.Summary.Due(w.Turns[0].Index/2, (w.Turns[n-1].Index+1)/2) {
		w.Jobs = append(w.Jobs, core.SummaryJob(owner, kept.Conversation, job.Turns[0]))
	}
	return w, nil
}

// lastTurn returns the id of the last turn of a conversation's current branch. For an empty branch it
// also returns the conversation, which may be deleted.
func (e *Exchanges) end(ctx context.Context, owner memory.Owner, id string) (stored thread.Candidate, after string, err error) {
	stored.Turns, err = e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: id, Last: 1})
	if err != nil {
		return stored, "", err
	}
	if len(stored.Turns) > 0 {
		return stored, stored.Turns[0].ID, nil
	}
	stored, err = e.conversation(ctx, owner, id)
	stored.Turns = nil
	return stored, thread.Beginning, err
}

// unstoredTurns returns the turns of an interrupted or repeated request that are not stored yet, or a
// Conflict if another request used the same idempotency key.
func (e *Exchanges) notStored(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) ([]memory.Turn, error) {
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	found, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, err
	}
	there := map[string]*memory.Turn{}
	for _, m := range found {
		there[m.ID()] = m.Turn
	}
	for i, t := range turns {
		old := there[t.ID]
		if old == nil {
			return turns[i:], nil
		}
		if old.Conversation != conversation || old.Content != "" && (old.Role != t.Role || old.Content != t.Content) {
			return nil, core.ErrOtherRequest
		}
	}
	return nil, nil
}

// turnByRef returns the id of the turn with a client's reference, or "". Turns of the current branch take
// precedence. Reference "" means the beginning.
func turnNamed(turns []memory.Turn, name string) string {
	if name == "" {
		return thread.First
	}
	id := ""
	for _, t := range turns {
		if t.Ref == name && (id == "" || t.Status == memory.Active) {
			id = t.ID
		}
	}
	return id
}

// SubKey returns an idempotency key for one part of a request, or "" without a key.
func Suffixed(key, suffix string) string {
	if key == "" {
		return ""
	}
	return key + "\x00" + suffix
}

// waitForJob waits for a learning job. Learning in this process signals its end; for other processes
// it polls at growing intervals.
func (e *Exchanges) finished(ctx context.Context, owner memory.Owner, job string) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		taught := e.Lessons.Taught.Next()
		unfinished, err := e.Store.Jobs(ctx, owner)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(unfinished, func(j memory.Job) bool { return j.ID == job })
		if i < 0 {
			return nil
		}
		if unfinished[i].State == memory.JobParked {
			return memory.Errorf(memory.Unavailable, "learning failed and is parked; see /api/jobs")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-taught: // possibly from this job, which then ends soon
			wait = time.Millisecond
		case <-time.After(wait):
		}
	}
}

// learnedFacts returns the live facts learned from these turns, without duplicates.
func (e *Exchanges) taught(ctx context.Context, owner memory.Owner, turns []string) ([]memory.Memory, error) {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, id := range turns {
		page, err := e.Store.List(ctx, owner, memory.Query{Turn: id, Statuses: []memory.Status{memory.Active, memory.Pending}})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			if !seen[m.ID()] {
				seen[m.ID()] = true
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// Preview lists the changes that learning from messages would make.
type Preview struct {
	Changes   []memory.Change
	Decisions []learn.Outcome // the outcome of each statement, including dropped ones
	Forgotten []memory.Memory // memories to which forget requests refer
}

// Preview returns the changes that learning from messages would make, without applying them. It calls
// the learning model, which costs tokens.
func (e *Exchanges) Preview(ctx context.Context, owner memory.Owner, talk Talk) (Preview, error) {
	if len(talk.Messages) == 0 {
		return Preview{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	kept := Kept{Conversation: cmp.Or(talk.Conversation, core.NewID())}
	talk.Infer, talk.Idempotency, talk.Parent = true, "", nil
	turns, err := e.turnsOf(owner, talk)
	if err != nil {
		return Preview{}, err
	}
	w, err := e.layTalk(ctx, owner, talk, turns, false, &kept)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	for _, chunk := range lessons.InChunks(w.Turns, 0) {
		l, err := e.Lessons.Lesson(ctx, memory.Job{Owner: owner, Conversation: kept.Conversation, CreatedAt: e.Time()}, chunk)
		if err != nil {
			return Preview{}, err
		}
		p, err := e.Lessons.Plan(ctx, l, core.NewID())
		if err != nil {
			return Preview{}, err
		}
		out.Changes, out.Forgotten = append(out.Changes, p.Changes...), append(out.Forgotten, p.Forgotten...)
		out.Decisions = append(append(out.Decisions, p.Outcomes...), l.DroppedOutcomes()...)
	}
	return out, nil
}
