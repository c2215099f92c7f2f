package exchange

import (
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

// Talk is a piece of conversation to keep, as a program hands it in.
type Talk struct {
	Conversation string // "": a new one
	Project      string
	Parent       *string // [Said.Ref] of the message that the first one follows, "" for the beginning; nil: the last one
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

// IngestBatch is how many turns go into one transaction.
const IngestBatch = 500

// Ingest keeps the messages of a talk as turns, in order after what the
// conversation has, and queues the learning in the transaction of the last ones.
// With an Idempotency key a second call writes nothing.
func (e *Exchanges) Ingest(ctx context.Context, owner memory.Owner, talk Talk) (Kept, error) {
	ctx = memory.ForWrite(ctx)
	if len(talk.Messages) == 0 {
		return Kept{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	switch e.Paused(ctx, owner) {
	case core.PauseMemory:
		return Kept{}, memory.Errorf(memory.Conflict, "memory is paused; loci pause none, or PUT /api/pause, takes it off")
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

// keep stores the turns and the job of a talk, and says so in kept. What another server
// writes to the conversation meanwhile stands before what is left of the talk.
func (e *Exchanges) keep(ctx context.Context, owner memory.Owner, talk Talk, kept *Kept) error {
	leave, err := e.Writes.Enter(ctx, owner, kept.Conversation)
	if err != nil {
		return err
	}
	defer leave()
	said, err := e.speech(owner, kept.Conversation, talk)
	if err != nil {
		return err
	}
	if talk.Infer { // else it is kept word for word, whatever it says
		if err := e.hideOffTheRecord(ctx, owner, said.turns); err != nil {
			return err
		}
	}
	if talk.Parent != nil && talk.Conversation != "" {
		if placed, err := e.keepBehind(ctx, owner, talk, said, kept); placed || err != nil {
			return err
		}
	}
	named := talk.Conversation != "" || e.Retrieve.Apart() // else it is new
	again := false
	for start := 0; start < len(said.turns); start += IngestBatch {
		part := said.part(start, min(start+IngestBatch, len(said.turns)))
		vectors, err := e.TurnVectors(ctx, part.turns)
		if err != nil {
			return err
		}
		after, err := e.begun(ctx, owner, kept.Conversation, part)
		if err != nil {
			return err
		}
		if after == nil && start > 0 {
			after = &said.turns[start-1]
		}
		err = core.Replan(ctx, func() error {
			batch := memory.Batch{Vectors: vectors}
			batch.Conversation = memory.Conversation{
				ID: kept.Conversation, Owner: owner, Project: talk.Project, CreatedAt: said.turns[0].CreatedAt, UpdatedAt: e.Time(),
			}
			if after == nil {
				last, err := e.lastTurn(ctx, owner, kept.Conversation)
				if err != nil {
					return err
				}
				after = &last
				if named && last.Index < 0 || again { // a deleted one has no path
					if batch.Marks, err = e.comesBack(ctx, owner, kept.Conversation); err != nil {
						return err
					}
				}
			}
			batch.Turns, batch.Path = part.turns, part.lay(*after)
			after, again = nil, true // on a conflict it is the end of the path
			if len(batch.Marks) > 0 {
				batch.Run = core.NewID()
			}
			if talk.Infer && start+IngestBatch >= len(said.turns) {
				batch.Jobs = e.teaches(owner, kept.Conversation, said.turns)
				kept.Job = batch.Jobs[0].ID
			}
			_, err := e.Store.Append(ctx, owner, batch)
			return err
		})
		if err != nil {
			return fmt.Errorf("keep messages: %w", err)
		}
		for _, t := range part.turns {
			kept.Turns = append(kept.Turns, t.ID)
		}
	}
	return nil
}

// teaches returns the jobs of a talk that is to be learned from, which has these turns:
// first the learning, then what else is due.
func (e *Exchanges) teaches(owner memory.Owner, conversation string, turns []memory.Turn) []memory.Job {
	last := turns[len(turns)-1]
	jobs := []memory.Job{lessons.LearnJob(owner, conversation, last.ID, e.Time())}
	if e.Opts.Learn.Summary.Due(turns[0].Index/2, (last.Index+1)/2) {
		jobs = append(jobs, core.SummaryJob(owner, conversation, last.ID))
	}
	return jobs
}

// comesBack returns the change by which a conversation is there again that was deleted and
// in which something is said once more, as a chat that goes on; nil for another one.
func (e *Exchanges) comesBack(ctx context.Context, owner memory.Owner, id string) ([]memory.Change, error) {
	page, err := e.Store.Conversations(ctx, owner, memory.ConversationQuery{IDs: []string{id}, Statuses: []memory.Status{memory.Retired}})
	if err != nil || len(page.Conversations) == 0 {
		return nil, err
	}
	was := page.Conversations[0]
	return goesOn(was.Mark(), was.Version), nil
}

// hideOffTheRecord leaves no words in turns that the user wishes not to be remembered, and in
// the answers to them.
func (e *Exchanges) hideOffTheRecord(ctx context.Context, owner memory.Owner, turns []memory.Turn) error {
	var unsaid []memory.Turn
	private := false
	for i, t := range turns {
		if t.Role == memory.RoleUser {
			private = learn.WishesIn(t).Confidential()
		}
		if private {
			unsaid = append(unsaid, t)
			turns[i] = redacted(t)
		}
	}
	_, err := e.bury(ctx, owner, unsaid)
	return err
}

// speech is what a talk says, or a part of it: turns whose places are given by lay.
type speech struct {
	turns   []memory.Turn
	digests []string // of the messages as they were sent, for the chains
	key     string   // that stands for the talk; "" for none
}

// speech makes turns of a talk's messages.
func (e *Exchanges) speech(owner memory.Owner, conversation string, talk Talk) (speech, error) {
	said, now := speech{key: talk.Idempotency}, e.Time()
	for i, m := range talk.Messages {
		content, err := e.CheckText(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return speech{}, err
		}
		t := memory.Turn{
			ID:           turnID(owner, talk.Idempotency, i),
			Owner:        owner,
			Conversation: conversation,
			Project:      talk.Project,
			Role:         m.Role,
			Name:         m.Name,
			Content:      learn.Redact(content, e.Opts.Learn.Personal),
			Ref:          m.Ref,
			Status:       memory.Active,
			CreatedAt:    memory.Time(m.At),
			NoLearn:      !talk.Infer,
		}
		if t.CreatedAt.IsZero() {
			t.CreatedAt = now
		}
		said.turns, said.digests = append(said.turns, t), append(said.digests, chatapi.Digest(m.Role, content, "", ""))
	}
	return said, nil
}

// part returns some of it; the turns are the same.
func (s speech) part(from, to int) speech {
	return speech{s.turns[from:to], s.digests[from:to], s.key}
}

// lay gives the turns their places after last, and returns what the path is then.
func (s speech) lay(last memory.Turn) *memory.Path {
	p := &memory.Path{From: last.Index + 1}
	if last.Status == memory.Active { // and not unsaid
		p.After = last.ID
	}
	for i := range s.turns {
		t := &s.turns[i]
		t.Index, t.Parent, t.Chain = last.Index+1, last.ID, thread.Chain(last.Chain, s.digests[i])
		p.Turns, last = append(p.Turns, t.ID), *t
	}
	return p
}

// turnsOf makes turns of a talk's messages, at the end of the conversation.
func (e *Exchanges) turnsOf(ctx context.Context, owner memory.Owner, conversation string, talk Talk) ([]memory.Turn, error) {
	said, err := e.speech(owner, conversation, talk)
	if err != nil {
		return nil, err
	}
	last, err := e.lastTurn(ctx, owner, conversation)
	if err != nil {
		return nil, err
	}
	said.lay(last)
	return said.turns, nil
}

// begun returns the turn that a part of a talk follows which is there already, as its key
// says: the talk was cut off, or comes once more. nil for one that is not there, a Conflict
// if the key stands for another talk.
func (e *Exchanges) begun(ctx context.Context, owner memory.Owner, conversation string, part speech) (*memory.Turn, error) {
	if part.key == "" {
		return nil, nil
	}
	found, err := e.Store.Get(ctx, owner, part.turns[0].ID)
	if err != nil || len(found) == 0 || found[0].Turn == nil {
		return nil, err
	}
	first, parent := found[0].Turn, memory.Turn{Index: -1}
	if first.Parent != "" {
		m, err := e.Get(ctx, owner, first.Parent)
		if err != nil {
			return nil, err
		}
		parent = *m.Turn
	}
	if first.Conversation != conversation || first.Chain != thread.Chain(parent.Chain, part.digests[0]) {
		return nil, core.ErrOtherRequest
	}
	return &parent, nil
}

// lastTurn returns the end of a conversation's current path, or a turn at -1.
func (e *Exchanges) lastTurn(ctx context.Context, owner memory.Owner, conversation string) (memory.Turn, error) {
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
		return core.NewID()
	}
	return core.DerivedID(owner, key, strconv.Itoa(i))
}

// Suffixed returns a key for one part of a request, "" without a key.
func Suffixed(key, suffix string) string {
	if key == "" {
		return ""
	}
	return key + "\x00" + suffix
}

// How often a caller who waits looks whether the job is done, should another
// process do it: soon at first, since rules are quick, and ever more seldom, since
// models are not. What this process learns wakes the caller.
const (
	firstLook   = time.Millisecond
	seldomLooks = 250 * time.Millisecond
)

// finished waits for a job.
func (e *Exchanges) finished(ctx context.Context, owner memory.Owner, job string) error {
	wait := firstLook
	for {
		rings := e.Lessons.Taught.Next()
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

// keepBehind stores a talk behind the message that it names as its parent: what is there
// already is known again, and what followed the parent otherwise leaves the path. It
// reports false, and stores nothing, where no message of the conversation has that name.
// The caller holds the conversation's writer lock.
func (e *Exchanges) keepBehind(ctx context.Context, owner memory.Owner, talk Talk, said speech, kept *Kept) (placed bool, err error) {
	messages := make([]chatapi.Message, len(said.turns))
	for i, t := range said.turns {
		messages[i] = chatapi.Message{Role: t.Role, Name: t.Name, Text: talk.Messages[i].Content, Digest: said.digests[i]}
	}
	request := thread.NewRequest(messages, 0)
	err = core.Replan(ctx, func() error {
		turns, err := e.branches(ctx, owner, kept.Conversation)
		if err != nil {
			return err
		}
		if *talk.Parent == "" {
			placed = true
			return e.keepAt(ctx, owner, talk, said, thread.Follow(turns, request, thread.First, 0), kept)
		}
		after := turnNamed(turns, *talk.Parent)
		if after == "" {
			return nil
		}
		placed = true
		return e.keepAt(ctx, owner, talk, said, thread.Follow(turns, request, after, 0), kept)
	})
	if err != nil {
		return false, fmt.Errorf("keep messages: %w", err)
	}
	return placed, nil
}

// turnNamed returns the id of the turn to which the client gave that name, "" without one;
// of several the one on the current path.
func turnNamed(turns []memory.Turn, name string) string {
	id := ""
	for _, t := range turns {
		if t.Ref == name && (id == "" || t.Status == memory.Active) {
			id = t.ID
		}
	}
	return id
}

// keepAt stores what is new of a talk where it was laid, with the job that learns from it
// and lets facts follow the turns that moved.
func (e *Exchanges) keepAt(ctx context.Context, owner memory.Owner, talk Talk, said speech, at thread.Alignment, kept *Kept) error {
	batch := memory.Batch{Run: core.NewID(), Marks: marks(at.Leave, at.Rejoin), Path: at.Path()}
	moved := slices.Concat(at.Leave, at.Rejoin)
	ids, parent := slices.Clone(at.Turns), at.Parent
	for _, p := range at.New {
		t := said.turns[p.Message]
		t.ID = core.DerivedID(owner, kept.Conversation, parent, p.Chain) // the same said twice at once is kept once
		t.Index, t.Parent, t.Chain = p.Index, parent, p.Chain
		batch.Turns, batch.Path.Turns = append(batch.Turns, t), append(batch.Path.Turns, t.ID)
		ids[p.Message], parent = t.ID, t.ID
	}
	kept.Turns = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	if len(batch.Turns) == 0 && len(batch.Marks) == 0 {
		return nil
	}
	now := e.Time()
	batch.Conversation = memory.Conversation{ID: kept.Conversation, Owner: owner, Project: talk.Project, CreatedAt: now, UpdatedAt: now}
	back, err := e.comesBack(ctx, owner, kept.Conversation)
	if err != nil {
		return err
	}
	batch.Marks = append(batch.Marks, back...)
	if batch.Vectors, err = e.TurnVectors(ctx, batch.Turns); err != nil {
		return err
	}
	if talk.Infer {
		job := lessons.LearnJob(owner, kept.Conversation, kept.Turns[len(kept.Turns)-1], now, moved...)
		job.ID += "-" + batch.Run // each time that turns move
		batch.Jobs, kept.Job = []memory.Job{job}, job.ID
	}
	_, err = e.Store.Append(ctx, owner, batch)
	return err
}

// Preview is what a talk would change.
type Preview struct {
	Changes   []memory.Change
	Decisions []learn.Outcome // what would become of each statement, those passed over too
	Forgotten []memory.Memory // what its wishes to forget mean
}

// Preview says what learning from a talk would change, and changes nothing. A
// model that learns is asked, and paid, as it would be.
func (e *Exchanges) Preview(ctx context.Context, owner memory.Owner, talk Talk) (Preview, error) {
	if len(talk.Messages) == 0 {
		return Preview{}, memory.Errorf(memory.Invalid, "messages: is empty; give messages or text")
	}
	conversation := talk.Conversation
	if conversation == "" {
		conversation = core.NewID()
	}
	talk.Infer, talk.Idempotency = true, ""
	turns, err := e.turnsOf(ctx, owner, conversation, talk)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	for _, chunk := range lessons.InChunks(turns, 0) {
		l, err := e.Lessons.Lesson(ctx, memory.Job{Owner: owner, Conversation: conversation, CreatedAt: e.Time()}, chunk)
		if err != nil {
			return Preview{}, err
		}
		p, err := e.Lessons.Plan(ctx, l, core.NewID())
		if err != nil {
			return Preview{}, err
		}
		out.Changes, out.Forgotten = append(out.Changes, p.Changes...), append(out.Forgotten, p.Forgotten...)
		out.Decisions = append(append(out.Decisions, p.Outcomes...), l.PassedOver()...)
	}
	return out, nil
}
