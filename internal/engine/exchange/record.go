package exchange

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

const (
	// RecordTime is how long a chat waits for its turns to be stored, and storeTime how
	// long storing may take in the background after that.
	RecordTime = 2 * time.Second
	storeTime  = 15 * time.Second

	// LearnGrace is when the user's turn is learned from if no answer is ever recorded,
	// because the upstream or this process died.
	LearnGrace = 2 * time.Minute

	// Courtesy is how long storing the question and its trace waits for the first byte of
	// the answer, to leave the processors to that.
	Courtesy = 2 * time.Millisecond
)

// RecordQuestion stores the request's new messages in the background of the upstream call,
// with a job that learns from them should no answer follow; for a stream after
// [Exchange.Answered], or [Courtesy]. If Open did not place the request in time, it is placed
// now.
func (x *Exchange) RecordQuestion(ctx context.Context) {
	x.Question = make(chan error, 1)
	if !x.stores() {
		x.Question <- nil
		return
	}
	client := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	x.e.Background.Go(func() {
		defer cancel()
		if x.In.Chat.Stream {
			x.yield()
		}
		x.Settle()
		x.Question <- x.guarded(func() error {
			if err := x.heed(ctx); err != nil {
				return err
			}
			if !x.Placed {
				x.request.Left = client.Err() != nil
				if err := (placer{x}).place(ctx, client); err != nil {
					return err
				}
			}
			return recorder{x}.storeQuestion(ctx)
		})
	})
}

// Answered says that the first of the answer is on its way to the client. It may be
// called again, or not at all.
func (x *Exchange) Answered() { x.once.Do(func() { close(x.answered) }) }

// yield waits until the exchange is answered, or courtesy ends.
func (x *Exchange) yield() {
	wait := time.NewTimer(Courtesy)
	defer wait.Stop()
	select {
	case <-x.answered:
	case <-wait.C:
	}
}

// storeQuestion stores the new messages. If another writer changed the conversation since it
// was read, the request is aligned with it again.
func (x recorder) storeQuestion(ctx context.Context) error {
	leave, err := x.e.Writes.Enter(ctx, x.In.Owner, x.conversation.ID)
	if err != nil {
		return err
	}
	defer leave()
	again := false
	err = core.Replan(ctx, func() error {
		if again {
			if err := x.placeAgain(ctx); err != nil {
				return err
			}
		}
		again = true
		return x.tryQuestion(ctx)
	})
	if err == nil && x.e.Opts.LearnAfter == core.AfterUser {
		x.e.Wake()
	}
	return err
}

// placeAgain aligns the request with its conversation as it is now.
func (x recorder) placeAgain(ctx context.Context) error {
	known, err := placer(x).known(ctx, x.conversation.ID)
	if err != nil {
		return err
	}
	x.At = placer(x).align(known.Turns)
	if x.Deleted = nil; known.Conversation.Status == memory.Retired {
		mark := known.Conversation.Mark()
		x.Deleted = &mark
	}
	return nil
}

// tryQuestion stores the new messages as they were aligned, or returns a Conflict.
func (x recorder) tryQuestion(ctx context.Context) error {
	now := x.e.Time()
	batch := memory.Batch{Conversation: x.conversation, Run: core.NewID()}
	late := x.request.Left && x.At.WentOn() // it takes nothing back, and stands beside the path
	if !late {
		batch.Marks, batch.Path = marks(x.At.Leave, x.At.Rejoin), x.At.Path()
	}
	x.parent, x.Asked, x.unsaid, x.private = x.At.Parent, "", nil, (x.At.Retry || x.resultsAlone()) && x.Confidential()
	x.stored = slices.Clone(x.At.Turns)
	for _, p := range x.At.New {
		m := x.In.Chat.Messages[p.Message]
		t := x.turn(x.alone, m.Role, m.Name, m.Text, x.marks[p.Message], p.Index, p.Chain, now)
		if t.Foreign = m.Foreign; t.Content != m.Text { // cut, or without a secret: all from the first range on
			t.Foreign = ""
			for start := range m.Foreign.Within(len(t.Content)) {
				t.Foreign = t.Foreign.With(start, len(t.Content))
				break
			}
		}
		t.NoLearn = !x.learns
		if p.Message == x.In.Chat.LastUser() && t.Status == memory.Active {
			t.Given = x.given
		}
		if p.History {
			x.e.Opts.History.Mark(&t, x.At.Heard)
		}
		if !late {
			batch.Path.Turns = append(batch.Path.Turns, t.ID)
		} else if t.Status == memory.Active {
			t.Status = memory.Replaced
		}
		batch.Turns = append(batch.Turns, t)
		x.stored[p.Message] = t.ID
		if m.Role == memory.RoleUser && !p.History && !late {
			x.Asked = t.ID
		}
	}
	x.redact(&batch)
	if len(batch.Turns) == 0 && len(batch.Marks) == 0 {
		return nil
	}
	batch.Marks = append(batch.Marks, placer(x).comesBack()...)
	if x.moved = nil; !late {
		x.moved = slices.Concat(x.At.Leave, x.At.Rejoin)
	}
	if err := x.redactForgotten(ctx, batch.Turns); err != nil {
		return err
	}
	var err error
	if batch.Jobs, err = x.asksToLearn(ctx, now); err != nil {
		return err
	}
	return x.append(ctx, batch)
}

// turn makes the next turn of the path, without secrets. Unless an id is given, it is derived
// from place and text, so that two requests with the same history at once store one turn.
func (x recorder) turn(id string, role memory.Role, name, words, mark string, index int, chain string, now time.Time) memory.Turn {
	t := memory.Turn{
		ID: cmp.Or(id, core.DerivedID(x.In.Owner, x.conversation.ID, x.parent, chain)), Owner: x.In.Owner, Conversation: x.conversation.ID, Project: x.conversation.Project,
		Index: index, Parent: x.parent, Chain: chain, Role: role, Name: name,
		Status: memory.Active, CreatedAt: now,
	}
	if role != memory.RoleTool {
		t.Content = x.e.Stored(words, mark)
	}
	x.parent = t.ID
	if x.Hides() || x.offTheRecord(memory.Turn{Role: role, Content: words}) {
		x.unsaid = append(x.unsaid, t)
		return redacted(t)
	}
	return t
}

func marks(leave, rejoin []string) []memory.Change {
	var out []memory.Change
	for _, id := range leave {
		out = append(out, memory.Change{Action: memory.ActionUpdate, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Replaced}}, Reason: "edited or regenerated", Author: core.ByDialog})
	}
	for _, id := range rejoin {
		out = append(out, memory.Change{Action: memory.ActionRestore, After: memory.Image{Turn: &memory.TurnMark{ID: id, Status: memory.Active}}, Reason: "continued from here", Author: core.ByDialog})
	}
	return out
}

// batchTurns is how many turns are written at once: other writers wait for that.
const batchTurns = 250

// append stores a batch, in parts if it is large. The newest turns come last, with the job.
func (x recorder) append(ctx context.Context, batch memory.Batch) error {
	err := x.tombstone(ctx)
	if err != nil {
		return err
	}
	for len(batch.Turns) > batchTurns {
		part := batch
		part.Turns, part.Jobs, part.Run = batch.Turns[:batchTurns:batchTurns], nil, core.NewID()
		if err := x.appendPart(ctx, part); err != nil {
			return err
		}
		batch.Turns, batch.Marks = batch.Turns[batchTurns:], nil
	}
	return x.appendPart(ctx, batch)
}

// appendPart stores a batch. Since a client waits for it, vectors of a model are left to a job.
func (x recorder) appendPart(ctx context.Context, batch memory.Batch) (err error) {
	if core.OfWords(x.e.Embedder) {
		if batch.Vectors, err = x.e.TurnVectors(ctx, batch.Turns); err != nil {
			return err
		}
	}
	_, err = x.e.Store.Append(ctx, x.In.Owner, batch)
	return err
}

// RecordAnswer stores the answer with the job that learns from the exchange, and
// returns when both are safe. An empty answer, from an upstream that gave none,
// stores nothing and lets the question be learned from. It waits at most two
// seconds; then the exchange counts as not recorded and the chat goes on.
//
// The context is the client's. Where it has ended the answer, or what was said of it so
// far, is stored all the same, since a client that hangs up leaves that. But who waits no
// more may have asked again, of another server too: an answer that was not there when the
// client asked here keeps its place, and this one is kept beside it, off the path, as if
// the two had been stored in the order in which they were asked for.
func (x *Exchange) RecordAnswer(ctx context.Context, a chatapi.Answer) {
	x.e.Blocks.Passed.Answered(x.In.Owner, a, x.e.Time())
	if !x.stores() || x.Question == nil {
		return
	}
	x.Answered() // if it never was
	if x.answerMark = x.e.CutMark(a.Text); x.answerMark != "" {
		a.Text = x.e.Beginning(a.Text)
	}
	client := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	stored := make(chan error, 1)
	x.e.Background.Go(func() {
		defer cancel()
		if err := <-x.Question; err != nil {
			stored <- fmt.Errorf("record the question: %w", err)
			return
		}
		err := x.guarded(func() error { return recorder{x}.storeAnswer(ctx, a, client) })
		stored <- err
		if err == nil {
			x.nameOwner(ctx)
			x.e.Warm(x.In.Owner) // after the chat may go on
		}
	})
	wait := time.NewTimer(RecordTime)
	defer wait.Stop()
	select {
	case err := <-stored:
		if err != nil {
			x.failed(ctx, err)
			return
		}
		x.kept = Place{Conversation: x.conversation.ID, Turn: x.last, Chain: x.ended}
	case <-wait.C:
		x.failed(ctx, fmt.Errorf("storing the exchange took longer than %v", RecordTime))
	}
}

// storeAnswer stores the answer; client is the context of the client, which may have left. If
// another writer changed the conversation since it was read, it is read again.
func (x recorder) storeAnswer(ctx context.Context, a chatapi.Answer, client context.Context) error {
	leave, err := x.e.Writes.Enter(ctx, x.In.Owner, x.conversation.ID)
	if err != nil {
		return err
	}
	defer leave()
	if err := x.heed(ctx); err != nil {
		return err
	}
	if !a.Empty() {
		used := recall.Used(x.In.Chat.Question(1), a.Text, x.Prepared.Hits)
		x.e.Metrics.Retrieved(len(x.Prepared.Hits), len(used))
		x.e.Curate.Used.Add(x.In.Owner, used)
	}
	unsaid, moved := x.unsaid, x.moved
	return core.Replan(ctx, func() error {
		x.unsaid, x.moved = slices.Clone(unsaid), slices.Clone(moved)
		return x.tryAnswer(ctx, a, client)
	})
}

// resumed aligns the request with the conversation as it is now, at the stored question, and
// returns that question.
func (x recorder) resumed(ctx context.Context) (at thread.Alignment, asked memory.Turn, err error) {
	turns, err := x.e.branches(ctx, x.In.Owner, x.conversation.ID)
	if err != nil {
		return thread.Alignment{}, memory.Turn{}, err
	}
	at = thread.Resume(turns, x.request, x.stored)
	question := cmp.Or(x.Asked, x.before.ID)
	if last := x.In.Chat.LastUser(); last >= 0 && last < len(x.stored) {
		question = x.stored[last] // new, or asked again
	}
	if i := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == question }); i >= 0 {
		asked = turns[i]
	}
	return at, asked, nil
}

// tryAnswer stores the answer behind its question, or returns a Conflict.
func (x recorder) tryAnswer(ctx context.Context, a chatapi.Answer, client context.Context) error {
	now := x.e.Time()
	batch := memory.Batch{Conversation: x.conversation, Run: core.NewID()}
	exchanges, onPath := 0, true
	x.last = x.parent // of an answer without words
	var err error
	if !a.Empty() {
		if exchanges, onPath, err = x.layAnswer(ctx, &batch, a, client, now); err != nil {
			return err
		}
	}
	x.again = ""
	if last := x.In.Chat.LastUser(); x.Asked == "" && last >= 0 && len(batch.Turns) > 0 && onPath {
		// Asked again: the first try may have died before its answer was recorded, or
		// this is another answer.
		x.again, x.moved = x.At.Turns[last], append(x.moved, batch.Turns[0].ID)
	}
	if batch.Jobs, err = x.endToLearn(ctx, exchanges, now); err != nil {
		return err
	}
	x.redact(&batch)
	if x.learns && x.Writes && len(batch.Turns) > 0 && onPath && x.e.Opts.Learn.Summary.Due(exchanges-1, exchanges) {
		batch.Jobs = append(batch.Jobs, core.SummaryJob(x.In.Owner, x.conversation.ID, batch.Turns[0].ID))
	}
	if len(batch.Turns)+len(batch.Marks)+len(batch.Jobs) == 0 {
		return nil
	}
	if err := x.append(ctx, batch); err != nil {
		return err
	}
	if len(batch.Jobs) > 0 {
		x.e.Idle.Begin()() // the client's next question may come at once
		x.e.WakeWhenIdle()
	}
	return nil
}

// layAnswer finds the place of an answer with text and adds its turn to the batch. exchanges
// counts those of the conversation including this one; onPath is whether the answer is on the
// current path or on a branch.
func (x recorder) layAnswer(ctx context.Context, batch *memory.Batch, a chatapi.Answer, client context.Context, now time.Time) (exchanges int, onPath bool, err error) {
	at, asked, err := x.resumed(ctx)
	if err != nil {
		return 0, false, err
	}
	reply := at.Answer(a.Digest)
	x.ended = reply.Chain
	x.parent, x.private = at.Parent, asked.Status == memory.Retired || x.Confidential()
	if onPath = !at.WentOn() && (client.Err() == nil || !at.Overtaken(x.seen)); onPath {
		leave, rejoin := slices.Concat(at.Leave, reply.Leave), slices.Concat(at.Rejoin, reply.Rejoin)
		batch.Marks, batch.Path = marks(leave, rejoin), at.Path(reply.Known)
		x.moved = slices.Concat(x.moved, leave, rejoin)
	}
	if reply.Known == "" && (onPath || len(at.New) == 0) { // beside what, if its question is not found?
		name := ""
		if a.Model == memory.RecallModel {
			name = memory.RecallModel
		}
		id, err := x.answerID(ctx, cmp.Or(x.In.Answer, a.ID))
		if err != nil {
			return 0, false, err
		}
		t := x.turn(id, memory.RoleAssistant, name, a.Text, x.answerMark, reply.Index, reply.Chain, now)
		if len(a.Items) > 0 {
			t.Ref = a.Items[0]
		}
		if got := cmp.Or(x.amended, x.given); t.Status == memory.Active && got != asked.Given { // that was stored before, or got something else
			t.Given = got
		}
		if !onPath && t.Status == memory.Active {
			t.Status = memory.Replaced
		}
		batch.Turns = []memory.Turn{t}
		if onPath {
			batch.Path.Turns = append(batch.Path.Turns, t.ID)
		}
	}
	x.last = cmp.Or(reply.Known, x.parent)
	if len(batch.Turns)+len(batch.Marks) == 0 { // it stands there
		batch.Path = nil
	}
	return (reply.Index + 1) / 2, onPath, nil
}

// guarded turns a panic of do into an error, so that the chat goes on.
func (x *Exchange) guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			x.e.Log.Error("panic in an exchange", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return do()
}

// failed counts, logs and traces an error of memory in this chat.
func (x *Exchange) failed(ctx context.Context, err error) {
	x.e.Metrics.RecordFailed()
	x.e.Log.Error("memory failed, the chat goes on", "conversation", x.placing().In, "err", err)
	x.e.Traces.Degrade(ctx, x.In.Owner, x.Prepared.Trace, fmt.Sprintf("record: %v", err))
}
