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
type IngestRequest struct {
	Conversation    string // id; "": a new conversation
	Project         string
	ParentRef       *string // Ref of the stored message before Messages; "": Messages begin the conversation; nil: the last stored message
	Messages        []Message
	Learn           bool // learn from the messages
	WaitForLearning bool // wait until learning is done
	IdempotencyKey  string
}

// Message is one message of an [IngestRequest].
type Message struct {
	Role    memory.Role
	Content string
	Name    string
	Ref     string    // the client's id of the message; "": none
	At      time.Time // zero: now
}

// IngestResult is the result of storing an [IngestRequest].
type IngestResult struct {
	Conversation string
	TurnIDs      []string
	JobID        string          // id of the job that learns; "": none
	Learned      []memory.Memory // set only with WaitForLearning
}

// Ingest appends messages to a conversation. The last transaction also queues the job that learns from
// them. With a repeated idempotency key it writes nothing.
func (e *Exchanges) Ingest(ctx context.Context, owner memory.Owner, req IngestRequest) (IngestResult, error) {
	ctx = memory.ForWrite(ctx)
	if len(req.Messages) == 0 {
		return IngestResult{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	switch e.CurrentPause(ctx, owner) {
	case core.PauseMemory:
		return IngestResult{}, memory.Errorf(memory.Conflict, "memory is paused; resume it with loci pause none or PUT /api/pause")
	case core.PauseLearning:
		req.Learn = false
	case core.PauseUnknown:
		return IngestResult{}, core.ErrPauseUnknown
	}
	result := IngestResult{Conversation: req.Conversation}
	if result.Conversation == "" && e.Retrieve.IsolatesConversations() {
		result.Conversation = retrieve.DefaultConversation
	}
	if result.Conversation == "" {
		result.Conversation = core.IDForKey(owner, SubKey(req.IdempotencyKey, "conversation"))
	}
	if err := e.storeTurns(ctx, owner, req, &result); err != nil {
		return IngestResult{}, err
	}
	e.WakeJobRunner()
	if !req.WaitForLearning || result.JobID == "" {
		return result, nil
	}
	if err := e.waitForJob(ctx, owner, result.JobID); err != nil {
		return result, err
	}
	learned, err := e.learnedFacts(ctx, owner, result.TurnIDs)
	result.Learned = learned
	return result, err
}

// storeTurns stores the turns and the job of a request, and sets result. Turns that another server
// writes concurrently precede the remaining turns.
func (e *Exchanges) storeTurns(ctx context.Context, owner memory.Owner, req IngestRequest, result *IngestResult) error {
	turns, err := e.newTurns(owner, req)
	if err != nil {
		return err
	}
	err = e.writeBatch(ctx, owner, result.Conversation, false, func(isRetry bool) (turnBatch, error) {
		return e.planIngest(ctx, owner, req, turns, isRetry, result)
	})
	if err != nil {
		return fmt.Errorf("store messages: %w", err)
	}
	return nil
}

// newTurns converts a request's messages to turns without positions.
func (e *Exchanges) newTurns(owner memory.Owner, req IngestRequest) ([]memory.Turn, error) {
	var turns []memory.Turn
	for i, m := range req.Messages {
		content, err := e.CheckText(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return nil, err
		}
		t := memory.Turn{
			ID: core.NewID(), Owner: owner, Role: m.Role, Name: m.Name, Ref: m.Ref, CreatedAt: memory.Time(m.At), NoLearn: !req.Learn,
			Content: learn.Redact(content, e.Opts.Learn.RedactPersonal), Chain: chatapi.Digest(m.Role, content, "", ""),
		}
		if req.IdempotencyKey != "" {
			t.ID = core.DerivedID(owner, req.IdempotencyKey, strconv.Itoa(i))
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = e.Time()
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// planIngest creates the batch of a request's turns. With ParentRef, the turns follow that parent: stored
// turns are recognized, and other turns after the parent leave the current branch. Without ParentRef, the
// turns are appended. isResumed reports that some turns may be stored already.
func (e *Exchanges) planIngest(ctx context.Context, owner memory.Owner, req IngestRequest, turns []memory.Turn, isResumed bool, result *IngestResult) (batch turnBatch, err error) {
	stored, parent := thread.Candidate{}, ""
	if req.ParentRef != nil && req.Conversation != "" {
		if stored, err = e.readConversation(ctx, owner, result.Conversation); err != nil {
			return batch, err
		}
		parent = turnByRef(stored.Turns, *req.ParentRef)
	}
	remaining, hasParent := turns, parent != ""
	if !hasParent {
		if isResumed || req.IdempotencyKey != "" {
			if remaining, err = e.unstoredTurns(ctx, owner, result.Conversation, turns); err != nil {
				return batch, err
			}
		}
		if stored, parent, err = e.lastTurn(ctx, owner, result.Conversation); err != nil {
			return batch, err
		}
	}
	messages := make([]chatapi.Message, len(remaining))
	for i, t := range remaining {
		if messages[i] = (chatapi.Message{Role: t.Role, Text: t.Content, Digest: t.Chain}); t.Role == memory.RoleSystem {
			messages[i].Role = memory.RoleTool // tool messages are also stored
		}
	}
	alignment := thread.AlignAfter(stored.Turns, thread.NewRequest(messages, 0), parent, 0)
	batch = newTurnBatch(memory.Conversation{
		ID: result.Conversation, Owner: owner, Project: req.Project, CreatedAt: turns[0].CreatedAt, UpdatedAt: e.Time(),
	}, alignment, false)
	batch.moveTurns(alignment.LeavingIDs, alignment.RejoiningIDs, alignment.Path())
	ids := alignment.TurnIDs
	for _, p := range alignment.NewTurns {
		t := remaining[p.MessageIndex]
		if t.Index, t.Chain = p.TurnIndex, p.Chain; hasParent {
			t.ID = "" // [turnBatch.add] derives the id, so that equal concurrent requests write only one turn
		}
		redact := req.Learn && batch.isOffTheRecord(t.Role, t.Content) // without learning, store verbatim
		ids[p.MessageIndex] = batch.add(t, redact).ID
	}
	result.TurnIDs = nil
	for _, t := range turns[:len(turns)-len(remaining)] {
		result.TurnIDs = append(result.TurnIDs, t.ID)
	}
	result.TurnIDs = append(result.TurnIDs, ids...)
	unchanged := len(batch.Turns)+len(batch.Changes) == 0
	if !unchanged {
		batch.Changes = append(batch.Changes, reopenDeleted(deletedState(stored.Conversation))...)
	}
	if result.JobID = ""; !req.Learn || hasParent && unchanged {
		return batch, nil
	}
	job := lessons.LearnJob(owner, result.Conversation, result.TurnIDs[len(result.TurnIDs)-1], e.Time(), batch.movedIDs...)
	if len(batch.movedIDs) > 0 { // each move of turns needs a new job id
		job.ID += "-" + batch.Run
	}
	if result.JobID = job.ID; unchanged { // the job was stored earlier
		return batch, nil
	}
	batch.Jobs = []memory.Job{job}
	if n := len(batch.Turns); n > 0 && e.Opts.Learn.Summary.IsDue(batch.Turns[0].Index/2, (batch.Turns[n-1].Index+1)/2) {
		batch.Jobs = append(batch.Jobs, core.SummaryJob(owner, result.Conversation, job.Turns[0]))
	}
	return batch, nil
}

// lastTurn returns the id of the last turn of a conversation's current branch. For an empty branch it
// also returns the conversation, which may be deleted.
func (e *Exchanges) lastTurn(ctx context.Context, owner memory.Owner, conversationID string) (stored thread.Candidate, lastID string, err error) {
	stored.Turns, err = e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: conversationID, Last: 1})
	if err != nil {
		return stored, "", err
	}
	if len(stored.Turns) > 0 {
		return stored, stored.Turns[0].ID, nil
	}
	stored, err = e.readConversation(ctx, owner, conversationID)
	stored.Turns = nil
	return stored, thread.AtBeginning, err
}

// unstoredTurns returns the turns of an interrupted or repeated request that are not stored yet, or a
// Conflict if another request used the same idempotency key.
func (e *Exchanges) unstoredTurns(ctx context.Context, owner memory.Owner, conversation string, turns []memory.Turn) ([]memory.Turn, error) {
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	memories, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, err
	}
	stored := map[string]*memory.Turn{}
	for _, m := range memories {
		stored[m.ID()] = m.Turn
	}
	for i, t := range turns {
		existing := stored[t.ID]
		if existing == nil {
			return turns[i:], nil
		}
		if existing.Conversation != conversation || existing.Content != "" && (existing.Role != t.Role || existing.Content != t.Content) {
			return nil, core.ErrOtherRequest
		}
	}
	return nil, nil
}

// turnByRef returns the id of the turn with a client's reference, or "". Turns of the current branch take
// precedence. Reference "" means the beginning.
func turnByRef(turns []memory.Turn, ref string) string {
	if ref == "" {
		return thread.AsOnlyBeginning
	}
	id := ""
	for _, t := range turns {
		if t.Ref == ref && (id == "" || t.Status == memory.Active) {
			id = t.ID
		}
	}
	return id
}

// SubKey returns an idempotency key for one part of a request, or "" without a key.
func SubKey(key, suffix string) string {
	if key == "" {
		return ""
	}
	return key + "\x00" + suffix
}

// waitForJob waits for a learning job. Learning in this process signals its end; for other processes
// it polls at growing intervals.
func (e *Exchanges) waitForJob(ctx context.Context, owner memory.Owner, jobID string) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		learned := e.Lessons.LessonDone.Next()
		unfinished, err := e.Store.Jobs(ctx, owner)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(unfinished, func(j memory.Job) bool { return j.ID == jobID })
		if i < 0 {
			return nil
		}
		if unfinished[i].State == memory.JobParked {
			return memory.Errorf(memory.Unavailable, "the learning job failed and is parked; see /api/jobs")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-learned: // a lesson ended, possibly this job's; the job itself ends soon after
			wait = time.Millisecond
		case <-time.After(wait):
		}
	}
}

// learnedFacts returns the active and pending facts learned from these turns, without duplicates.
func (e *Exchanges) learnedFacts(ctx context.Context, owner memory.Owner, turnIDs []string) ([]memory.Memory, error) {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, id := range turnIDs {
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
	Decisions []learn.CandidateOutcome // the outcome of each statement, including dropped ones
	Forgotten []memory.Memory          // memories to which forget requests refer
}

// Preview returns the changes that learning from messages would make, without applying them. It calls
// the learning model, which costs tokens.
func (e *Exchanges) Preview(ctx context.Context, owner memory.Owner, req IngestRequest) (Preview, error) {
	if len(req.Messages) == 0 {
		return Preview{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	result := IngestResult{Conversation: cmp.Or(req.Conversation, core.NewID())}
	req.Learn, req.IdempotencyKey, req.ParentRef = true, "", nil
	turns, err := e.newTurns(owner, req)
	if err != nil {
		return Preview{}, err
	}
	batch, err := e.planIngest(ctx, owner, req, turns, false, &result)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	for _, chunk := range lessons.SplitIntoChunks(batch.Turns, 0) {
		l, err := e.Lessons.ExtractLesson(ctx, memory.Job{Owner: owner, Conversation: result.Conversation, CreatedAt: e.Time()}, chunk)
		if err != nil {
			return Preview{}, err
		}
		p, err := e.Lessons.PlanLesson(ctx, l, core.NewID())
		if err != nil {
			return Preview{}, err
		}
		out.Changes, out.Forgotten = append(out.Changes, p.Changes...), append(out.Forgotten, p.Forgotten...)
		out.Decisions = append(append(out.Decisions, p.Outcomes...), l.DroppedOutcomes()...)
	}
	return out, nil
}
