package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/dialog"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// Talk is a piece of conversation to keep, as a program hands it in.
type Talk struct {
	Conversation string // "": a new one
	Project      string
	Messages     []Said
	Infer        bool // learn from it
	Wait         bool // until the learning is done
	Idempotency  string
}

// Said is one message of a [Talk].
type Said struct {
	Role    memory.Role
	Content string
	Name    string
	Ref     string
	At      time.Time // zero: now
}

// Kept says what came of a [Talk].
type Kept struct {
	Conversation string
	Turns        []string
	Job          string
	Learned      []memory.Memory // with Wait
}

// ingestBatch is how many turns go into one transaction.
const ingestBatch = 500

// Ingest keeps the messages of a talk as turns, in order after what the
// conversation has, and queues the learning in the transaction of the last ones.
// With an Idempotency key a second call writes nothing.
func (e *Engine) Ingest(ctx context.Context, owner memory.Owner, talk Talk) (Kept, error) {
	ctx = memory.ForWrite(ctx)
	if len(talk.Messages) == 0 {
		return Kept{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	switch e.Paused(ctx, owner) {
	case PauseMemory:
		return Kept{}, memory.Errorf(memory.Conflict, "memory is paused; loci pause none, or PUT /api/pause, takes it off")
	case PauseLearning:
		talk.Infer = false
	case PauseUnknown:
		return Kept{}, errPauseUnknown
	}
	kept := Kept{Conversation: talk.Conversation}
	if kept.Conversation == "" && e.apart() {
		kept.Conversation = unnamedConversation
	}
	if kept.Conversation == "" {
		kept.Conversation = idFor(owner, suffixed(talk.Idempotency, "conversation"))
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

// keep stores the turns and the job of a talk, and says so in kept.
func (e *Engine) keep(ctx context.Context, owner memory.Owner, talk Talk, kept *Kept) error {
	leave, err := e.writes.enter(ctx, owner, kept.Conversation)
	if err != nil {
		return err
	}
	defer leave()
	turns, err := e.turnsOf(ctx, owner, kept.Conversation, talk)
	if err != nil {
		return err
	}
	if talk.Infer { // else it is kept word for word, whatever it says
		if err := e.hideUnsaid(ctx, owner, turns); err != nil {
			return err
		}
	}
	now := e.now()
	conversation := memory.Conversation{ID: kept.Conversation, Owner: owner, Project: talk.Project, CreatedAt: turns[0].CreatedAt, UpdatedAt: now}
	for start := 0; start < len(turns); start += ingestBatch {
		chunk := turns[start:min(start+ingestBatch, len(turns))]
		batch := memory.Batch{Conversation: conversation, Turns: chunk}
		if batch.Vectors, err = e.turnVectors(ctx, chunk); err != nil {
			return err
		}
		if start+ingestBatch >= len(turns) && talk.Infer {
			job := learnJob(owner, kept.Conversation, chunk[len(chunk)-1].ID, now)
			batch.Jobs, kept.Job = []memory.Job{job}, job.ID
			if e.opts.Learn.Summary.due(turns[0].Index/2, (chunk[len(chunk)-1].Index+1)/2) {
				batch.Jobs = append(batch.Jobs, summaryJob(owner, kept.Conversation, chunk[len(chunk)-1].ID))
			}
		}
		if _, err := e.Store.Append(ctx, owner, batch); err != nil {
			return fmt.Errorf("keep messages: %w", err)
		}
		for _, t := range chunk {
			kept.Turns = append(kept.Turns, t.ID)
		}
	}
	return nil
}

// hideUnsaid leaves no words in turns that the user wishes not to be remembered, and in
// the answers to them.
func (e *Engine) hideUnsaid(ctx context.Context, owner memory.Owner, turns []memory.Turn) error {
	var unsaid []memory.Turn
	private := false
	for i, t := range turns {
		if t.Role == memory.RoleUser {
			private = confidential(t.Content)
		}
		if private {
			unsaid = append(unsaid, t)
			turns[i] = hidden(t)
		}
	}
	_, err := e.bury(ctx, owner, unsaid)
	return err
}

// turnsOf makes turns of a talk's messages.
func (e *Engine) turnsOf(ctx context.Context, owner memory.Owner, conversation string, talk Talk) ([]memory.Turn, error) {
	first := talk.Messages[0]
	last, err := e.before(ctx, owner, conversation, talk.Idempotency, wire.Digest(first.Role, first.Content, "", ""))
	if err != nil {
		return nil, err
	}
	now := e.now()
	var turns []memory.Turn
	for i, m := range talk.Messages {
		content, err := e.checkText(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return nil, err
		}
		t := memory.Turn{
			ID:           turnID(owner, talk.Idempotency, i),
			Owner:        owner,
			Conversation: conversation,
			Project:      talk.Project,
			Index:        last.Index + 1,
			Parent:       last.ID,
			Chain:        dialog.Chain(last.Chain, wire.Digest(m.Role, content, "", "")),
			Role:         m.Role,
			Name:         m.Name,
			Content:      learn.Redact(content, e.opts.Learn.Personal),
			Ref:          m.Ref,
			Status:       memory.Active,
			CreatedAt:    memory.Time(m.At),
			NoLearn:      !talk.Infer,
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		turns = append(turns, t)
		last = t
	}
	return turns, nil
}

// before returns the turn that a talk follows: the end of the conversation, or what
// stood before it when a talk of this key was begun earlier and cut off. opening
// is the digest of its first message: a key stands for one talk.
func (e *Engine) before(ctx context.Context, owner memory.Owner, conversation, key, opening string) (memory.Turn, error) {
	if key == "" {
		return e.lastTurn(ctx, owner, conversation)
	}
	first, err := e.Store.Get(ctx, owner, turnID(owner, key, 0))
	if err != nil {
		return memory.Turn{}, err
	}
	if len(first) == 0 || first[0].Turn == nil {
		return e.lastTurn(ctx, owner, conversation)
	}
	parent := memory.Turn{Index: -1}
	if id := first[0].Turn.Parent; id != "" {
		m, err := e.Get(ctx, owner, id)
		if err != nil {
			return memory.Turn{}, err
		}
		parent = *m.Turn
	}
	if first[0].Turn.Conversation != conversation || first[0].Turn.Chain != dialog.Chain(parent.Chain, opening) {
		return memory.Turn{}, errOtherRequest
	}
	return parent, nil
}

// lastTurn returns the end of a conversation's current path, or a turn at -1.
func (e *Engine) lastTurn(ctx context.Context, owner memory.Owner, conversation string) (memory.Turn, error) {
	path, err := e.Store.Turns(ctx, owner, memory.TurnQuery{Conversation: conversation, Last: 1})
	if err != nil {
		return memory.Turn{}, err
	}
	if len(path) == 0 {
		return memory.Turn{Index: -1}, nil
	}
	return path[0], nil
}

// turnID returns a turn's id: of its own, or that of its place under a key.
func turnID(owner memory.Owner, key string, i int) string {
	if key == "" {
		return newID()
	}
	return derivedID(owner, key, strconv.Itoa(i))
}

func suffixed(key, suffix string) string {
	if key == "" {
		return ""
	}
	return key + "\x00" + suffix
}

// turnVectors embeds what turns say, where they say anything; nil where a job does so
// later.
func (e *Engine) turnVectors(ctx context.Context, turns []memory.Turn) ([]memory.Vector, error) {
	var said []memory.Turn
	var texts []string
	for _, t := range turns {
		if t.Content != "" {
			said, texts = append(said, t), append(texts, t.Content)
		}
	}
	if len(texts) == 0 || remote(e.Embedder) {
		return nil, nil
	}
	values, err := e.Embedder.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed turns: %w", err)
	}
	vectors := make([]memory.Vector, len(said))
	for i, t := range said {
		vectors[i] = memory.Vector{Memory: t.ID, Model: e.Embedder.Fingerprint(), Values: values[i]}
	}
	return vectors, nil
}

// How often a caller who waits looks whether the job is done, should another
// process do it: soon at first, since rules are quick, and ever more seldom, since
// models are not. What this process learns wakes the caller.
const (
	firstLook   = time.Millisecond
	seldomLooks = 250 * time.Millisecond
)

// finished waits for a job.
func (e *Engine) finished(ctx context.Context, owner memory.Owner, job string) error {
	wait := firstLook
	for {
		rings := e.learned.next()
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
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-rings: // it may be this one, which is about to be done
			timer.Stop()
			wait = firstLook
		case <-timer.C:
			wait = min(2*wait, seldomLooks)
		}
	}
}

// taught returns the live facts that rest on these turns, each once.
func (e *Engine) taught(ctx context.Context, owner memory.Owner, turns []string) ([]memory.Memory, error) {
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
