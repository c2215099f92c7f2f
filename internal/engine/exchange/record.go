package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/recall"
	"github.com/loci-memory/loci/internal/thread"
	"github.com/loci-memory/loci/memory"
)

const (
	// RecordTimeout bounds the time for which a chat waits until its turns are stored. storeTimeout
	// bounds storing in the background.
	RecordTime = 2 * time.Second
	storeTime  = 15 * time.Second

	// LearnGrace is the delay after which learning starts without an answer, because the upstream or
	// this process failed.
	LearnGrace = 2 * time.Minute

	// StoreDelay is the maximum delay before the question and its trace are stored. Until the answer's
	// first byte is sent, the processors are needed for the answer.
	StoreDelay = 2 * time.Millisecond
)

// storedQuestion is a stored question and its placement.
type question struct {
	Placement
	mode  mode
	turns []string // ids of the turns of the request's messages
	id    string   // id of the answered user turn; "": none
	asked string   // turnID if the turn is new and to be learned from; "" otherwise
	end   string   // id of the turn before the answer
	moved []string // ids of turns that left or rejoined the branch
}

// RecordQuestion stores the request's new messages during the upstream call, with a job that learns from
// them if no answer follows. For a stream it first waits for [Exchange.AnswerStarted] or [StoreDelay]. It
// also places the request if Open did not.
func (x *Exchange) RecordQuestion(ctx context.Context) {
	if !x.stores() {
		x.question = func(context.Context) (question, error) { return question{}, nil }
		return
	}
	client, sentBlock := ctx, x.sentBlock
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	x.question = core.Async(x.e.Core, func() (question, error) {
		defer cancel()
		if x.In.Chat.Stream {
			x.yield()
		}
		return x.storeQuestion(ctx, client, sentBlock)
	})
}

// QuestionID waits until the question is stored, and returns the id of the user turn that is answered.
func (x *Exchange) Asked() (id string, err error) {
	q, err := x.question(context.Background())
	return q.id, err
}

// AnswerStarted signals that the answer's first byte was sent to the client. Calls are optional, and
// repeated calls do nothing.
func (x *Exchange) Answered() { x.once.Do(func() { close(x.answered) }) }

// waitForAnswer waits for AnswerStarted or StoreDelay.
func (x *Exchange) yield() {
	wait := time.NewTimer(StoreDelay)
	defer wait.Stop()
	select {
	case <-x.answered:
	case <-wait.C:
	}
}

func (x *Exchange) storeQuestion(ctx, client context.Context, sentBlock string) (q question, err error) {
	p := x.Placed()
	if q.mode, err = x.e.recheckPause(ctx, x.In.Owner, x.mode); err != nil {
		return q, err
	}
	if !p.Found() {
		if p, err = x.place(ctx, client); err != nil {
			return q, err
		}
	}
	err = x.e.write(ctx, x.In.Owner, p.conversation.ID, true, func(again bool) (w writing, err error) {
		if again {
			stored, err := x.e.conversation(ctx, x.In.Owner, p.conversation.ID)
			if err != nil {
				return w, err
			}
			x.align(&p, stored)
		}
		q, w, err = x.layQuestion(ctx, p, q.mode, sentBlock)
		return w, err
	})
	if err == nil && x.e.Opts.LearnAfter == core.AfterUser {
		x.e.Wake()
	}
	return q, err
}

// planQuestion creates the batch of a request's new messages.
func (x *Exchange) layQuestion(ctx context.Context, p Placement, m mode, sentBlock string) (q question, w writing, err error) {
	at, last, now := p.At, x.In.Chat.LastUser(), x.e.Time()
	q = question{Placement: p, mode: m, turns: slices.Clone(at.Turns)}
	w = newWriting(p.conversation, at, (at.Retry || x.resultsAlone()) && x.confidential(p))
	late := p.request.ClientLeft && at.UserContinued() // do not move turns; start a side branch
	if m.writes && !late {
		w.move(at.Leave, at.Rejoin, at.Path())
	}
	for _, place := range at.New {
		message := x.In.Chat.Messages[place.Message]
		t := memory.Turn{
			ID: p.alone, Owner: x.In.Owner, Index: place.Index, Chain: place.Chain, Role: message.Role, Name: message.Name,
			CreatedAt: now, NoLearn: !m.learns, Foreign: message.Foreign,
		}
		if message.Role != memory.RoleTool {
			t.Content = x.e.Stored(message.Text, x.marks[place.Message])
		}
		if t.Content != message.Text { // all text from the first foreign range on is foreign
			t.Foreign = ""
			for start := range message.Foreign.Within(len(t.Content)) {
				t.Foreign = t.Foreign.With(start, len(t.Content))
				break
			}
		}
		if place.History {
			x.e.Opts.History.Mark(&t, at.FollowsKnownTurn)
		}
		confides := w.isOffTheRecord(message.Role, message.Text)
		if place.Message == last && m.writes && !confides {
			t.Given = sentBlock
		}
		q.turns[place.Message] = w.add(t, !m.writes || confides).ID
	}
	if q.id, q.end = p.asked.ID, w.parent; last >= 0 {
		if q.id = q.turns[last]; !at.Retry && !late {
			q.asked = q.id
		}
	}
	q.moved = w.moved
	if len(w.Turns)+len(w.Marks) == 0 {
		return q, w, nil
	}
	w.Marks = append(w.Marks, reopenDeleted(p.Deleted)...)
	if err := x.e.redactForgotten(ctx, x.In.Owner, &w, at); err != nil {
		return q, w, err
	}
	if slices.ContainsFunc(w.Turns, func(t memory.Turn) bool { return t.Status == memory.Retired }) {
		w.Conversation.Title = ""
	}
	w.Jobs, err = x.asksToLearn(ctx, q, now)
	return q, w, err
}

// isConfidential reports whether the user's last message is off the record. A request with only tool
// results is confidential if the question was retired.
func (x *Exchange) confidential(p Placement) bool {
	return x.wishes.Confidential() || x.resultsAlone() && p.asked.Status == memory.Retired
}

// RecordAnswer stores the answer with the job that learns from the exchange, and returns the point after
// the answer. An empty answer is not stored, but the question may be learned from. After
// [RecordTimeout] the exchange counts as not recorded: the point is zero, and the chat continues.
//
// ctx is the client's context. If it has ended, the partial answer is stored. The client may have sent
// the question again, even to another server, so a partial answer is stored on a side branch and
// replaces no other answer.
func (x *Exchange) RecordAnswer(ctx context.Context, a chatapi.Answer) Place {
	x.e.Blocks.Passed.Answered(x.In.Owner, a, x.e.Time())
	if !x.stores() || x.question == nil {
		return Place{}
	}
	x.Answered() // in case the caller did not
	mark := x.e.CutMark(a.Text)
	if mark != "" {
		a.Text = x.e.Beginning(a.Text)
	}
	client := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTime)
	var place Place
	stored := make(chan error, 1)
	x.e.Background.Go(func() {
		defer cancel()
		q, err := x.question(context.Background())
		if err != nil {
			stored <- fmt.Errorf("record the question: %w", err)
			return
		}
		err = core.Guarded(x.e.Core, func() (err error) { place, err = x.storeAnswer(ctx, client, q, a, mark); return err })
		stored <- err
		if err == nil {
			x.nameOwner(ctx, q.mode)
			x.e.Warm(x.In.Owner) // for the chat's next question
		}
	})
	wait := time.NewTimer(RecordTime)
	defer wait.Stop()
	err := fmt.Errorf("storing the exchange took longer than %v", RecordTime)
	select {
	case err = <-stored:
	case <-wait.C:
	}
	if err != nil {
		x.failed(ctx, err)
		return Place{}
	}
	return place
}

func (x *Exchange) storeAnswer(ctx, client context.Context, q question, a chatapi.Answer, mark string) (place Place, err error) {
	if q.mode, err = x.e.recheckPause(ctx, x.In.Owner, q.mode); err != nil {
		return place, err
	}
	if !a.Empty() {
		used := recall.UsedHits(x.In.Chat.Question(1), a.Text, x.Prepared.Hits)
		x.e.Metrics.Retrieved(len(x.Prepared.Hits), len(used))
		x.e.Curate.Used.Add(x.In.Owner, used)
	}
	jobs := false
	err = x.e.write(ctx, x.In.Owner, q.conversation.ID, true, func(bool) (w writing, err error) {
		place, w, err = x.layAnswer(ctx, q, a, mark, client.Err() != nil)
		jobs = len(w.Jobs) > 0
		return w, err
	})
	if err == nil && jobs {
		x.e.Idle.Begin()() // the client's next question may follow at once
		x.e.WakeWhenIdle()
	}
	return place, err
}

// planAnswer creates the batch of an answer after its question, with the job that learns from both.
func (x *Exchange) layAnswer(ctx context.Context, q question, a chatapi.Answer, mark string, gone bool) (place Place, w writing, err error) {
	place = Place{Conversation: q.conversation.ID, Turn: q.end} // for an empty answer
	now, exchanges, answers := x.e.Time(), 0, false
	w = newWriting(q.conversation, q.At, false)
	w.Conversation.Title = "" // the question's batch set the title
	if !a.Empty() {
		turns, err := x.e.branches(ctx, x.In.Owner, q.conversation.ID)
		if err != nil {
			return place, w, err
		}
		at := thread.Resume(turns, q.request, q.turns)
		reply := at.Answer(a.Digest)
		leave, rejoin := slices.Concat(at.Leave, reply.Leave), slices.Concat(at.Rejoin, reply.Rejoin)
		lost := len(at.New) > 0                                              // the question was removed
		onPath := !at.UserContinued() && !(gone && (lost || len(leave) > 0)) // false: the answer is on a side branch
		asked := memory.Turn{}
		if i := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == q.id }); i >= 0 {
			asked = turns[i]
		}
		w.parent, w.private = at.Parent, asked.Status == memory.Retired || x.confidential(q.Placement)
		if onPath && q.mode.writes {
			w.move(leave, rejoin, at.Path(reply.Stored))
		}
		if place.Chain = reply.Chain; reply.Stored == "" && (onPath || !lost) {
			t := memory.Turn{
				Owner: x.In.Owner, Index: reply.Index, Chain: reply.Chain, Role: memory.RoleAssistant, CreatedAt: now,
				Content: x.e.Stored(a.Text, mark),
			}
			if a.Model == memory.RecallModel {
				t.Name = memory.RecallModel
			}
			if len(a.Items) > 0 {
				t.Ref = a.Items[0]
			}
			if t.ID, err = x.answerID(ctx, cmp.Or(x.In.Answer, a.ID)); err != nil {
				return place, w, err
			}
			if q.mode.writes && !w.private && x.sentBlock != asked.Given { // the record is not stored yet, or changed
				t.Given = x.sentBlock
			}
			w.add(t, !q.mode.writes || w.private)
			if answers = onPath; onPath && q.asked == "" {
				w.moved = append(w.moved, w.parent) // the first attempt may have failed
			}
		}
		place.Turn = cmp.Or(reply.Stored, w.parent)
		exchanges = (reply.Index + 1) / 2
		if len(w.Turns)+len(w.Marks) == 0 { // everything is stored already
			w.Path = nil
		}
	}
	w.moved = append(slices.Clone(q.moved), w.moved...)
	if w.Jobs, err = x.endToLearn(ctx, q, w.moved, exchanges, now); err != nil {
		return place, w, err
	}
	if q.mode.learns && answers && x.e.Opts.Learn.Summary.Due(exchanges-1, exchanges) {
		w.Jobs = append(w.Jobs, core.SummaryJob(x.In.Owner, q.conversation.ID, w.Turns[0].ID))
	}
	return place, w, nil
}

// storeDisplayName stores the owner's display name in the client.
func (x *Exchange) nameOwner(ctx context.Context, m mode) {
	if !m.writes {
		return
	}
	if err := x.e.SetDisplayName(ctx, x.In.Owner, x.In.Called); err != nil {
		x.e.Log.Warn("the user's name was not stored", "user", x.In.Owner.Name(), "err", err)
	}
}

// reportFailure counts and logs a memory error of this chat, and adds the error to the trace.
func (x *Exchange) failed(ctx context.Context, err error) {
	x.e.Metrics.RecordFailed()
	x.e.Log.Error("memory failed; the chat continues", "conversation", x.Placed().conversation.ID, "err", err)
	x.e.Traces.Degrade(ctx, x.In.Owner, x.Prepared.Trace, fmt.Sprintf("record: %v", err))
}
