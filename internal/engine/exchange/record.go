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
	RecordTimeout = 2 * time.Second
	storeTimeout  = 15 * time.Second

	// LearnGrace is the delay after which learning starts without an answer, because the upstream or
	// this process failed.
	LearnGrace = 2 * time.Minute

	// StoreDelay is the maximum delay before the question and its trace are stored. Until the answer's
	// first byte is sent, the processors are needed for the answer.
	StoreDelay = 2 * time.Millisecond
)

// storedQuestion is a stored question and its placement.
type storedQuestion struct {
	Placement
	mode       memoryMode
	turnIDs    []string // ids of the turns of the request's messages
	turnID     string   // id of the answered user turn; "": none
	newTurnID  string   // turnID if the turn is new and to be learned from; "" otherwise
	lastTurnID string   // id of the turn before the answer
	movedIDs   []string // ids of turns that left or rejoined the branch
}

// RecordQuestion stores the request's new messages during the upstream call, with a job that learns from
// them if no answer follows. For a stream it first waits for [Exchange.MarkAnswerStarted] or [StoreDelay]. It
// also places the request if Open did not.
func (x *Exchange) RecordQuestion(ctx context.Context) {
	if !x.storesTurns() {
		x.awaitQuestion = func(context.Context) (storedQuestion, error) { return storedQuestion{}, nil }
		return
	}
	clientCtx, sentBlock := ctx, x.sentBlock
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTimeout)
	x.awaitQuestion = core.Async(x.exchanges.Core, func() (storedQuestion, error) {
		defer cancel()
		if x.Incoming.Chat.Stream {
			x.waitForAnswer()
		}
		return x.storeQuestion(ctx, clientCtx, sentBlock)
	})
}

// QuestionID waits until the question is stored, and returns the id of the user turn that is answered.
func (x *Exchange) QuestionID() (id string, err error) {
	q, err := x.awaitQuestion(context.Background())
	return q.turnID, err
}

// MarkAnswerStarted signals that the answer's first byte was sent to the client. Calls are optional, and
// repeated calls do nothing.
func (x *Exchange) MarkAnswerStarted() { x.closeOnce.Do(func() { close(x.answerStarted) }) }

// waitForAnswer waits for MarkAnswerStarted or StoreDelay.
func (x *Exchange) waitForAnswer() {
	wait := time.NewTimer(StoreDelay)
	defer wait.Stop()
	select {
	case <-x.answerStarted:
	case <-wait.C:
	}
}

func (x *Exchange) storeQuestion(ctx, clientCtx context.Context, sentBlock string) (q storedQuestion, err error) {
	p := x.Placement()
	if q.mode, err = x.exchanges.recheckPause(ctx, x.Incoming.Owner, x.mode); err != nil {
		return q, err
	}
	if !p.IsPlaced() {
		if p, err = x.placeRequest(ctx, clientCtx); err != nil {
			return q, err
		}
	}
	err = x.exchanges.writeBatch(ctx, x.Incoming.Owner, p.conversation.ID, true, func(isRetry bool) (w turnBatch, err error) {
		if isRetry {
			stored, err := x.exchanges.readConversation(ctx, x.Incoming.Owner, p.conversation.ID)
			if err != nil {
				return w, err
			}
			x.align(&p, stored)
		}
		q, w, err = x.planQuestion(ctx, p, q.mode, sentBlock)
		return w, err
	})
	if err == nil && x.exchanges.Opts.LearnAfter == core.AfterUser {
		x.exchanges.WakeJobRunner()
	}
	return q, err
}

// planQuestion creates the batch of a request's new messages.
func (x *Exchange) planQuestion(ctx context.Context, p Placement, m memoryMode, sentBlock string) (q storedQuestion, batch turnBatch, err error) {
	alignment, last, now := p.Alignment, x.Incoming.Chat.LastUser(), x.exchanges.Time()
	q = storedQuestion{Placement: p, mode: m, turnIDs: slices.Clone(alignment.TurnIDs)}
	batch = newTurnBatch(p.conversation, alignment, (alignment.IsRetry || x.hasOnlyToolResults()) && x.isConfidential(p))
	isSideBranch := p.request.ClientStopped && alignment.UserContinued() // the stopped request starts a side branch and moves no turns
	if m.storesText && !isSideBranch {
		batch.moveTurns(alignment.LeavingIDs, alignment.RejoiningIDs, alignment.Path())
	}
	for _, position := range alignment.NewTurns {
		message := x.Incoming.Chat.Messages[position.MessageIndex]
		t := memory.Turn{
			ID: p.soleTurnID, Owner: x.Incoming.Owner, Index: position.TurnIndex, Chain: position.Chain, Role: message.Role, Name: message.Name,
			CreatedAt: now, NoLearn: !m.learnsFacts, Foreign: message.Foreign,
		}
		if message.Role != memory.RoleTool {
			t.Content = x.exchanges.StoredText(message.Text, x.cutMarks[position.MessageIndex])
		}
		if t.Content != message.Text { // Foreign does not fit the stored text, so all text after the start of its first range counts as foreign
			t.Foreign = ""
			for start := range message.Foreign.Within(len(t.Content)) {
				t.Foreign = t.Foreign.With(start, len(t.Content))
				break
			}
		}
		if position.IsHistory {
			x.exchanges.Opts.History.SetFlags(&t, alignment.FollowsKnownTurn)
		}
		isPrivate := batch.isOffTheRecord(message.Role, message.Text)
		if position.MessageIndex == last && m.storesText && !isPrivate {
			t.Injected = sentBlock
		}
		q.turnIDs[position.MessageIndex] = batch.add(t, !m.storesText || isPrivate).ID
	}
	if q.turnID, q.lastTurnID = p.askedTurn.ID, batch.parentID; last >= 0 {
		if q.turnID = q.turnIDs[last]; !alignment.IsRetry && !isSideBranch {
			q.newTurnID = q.turnID
		}
	}
	q.movedIDs = batch.movedIDs
	if len(batch.Turns)+len(batch.Changes) == 0 {
		return q, batch, nil
	}
	batch.Changes = append(batch.Changes, reopenDeleted(p.DeletedState)...)
	if err := x.exchanges.redactForgotten(ctx, x.Incoming.Owner, &batch, alignment); err != nil {
		return q, batch, err
	}
	if slices.ContainsFunc(batch.Turns, func(t memory.Turn) bool { return t.Status == memory.Retired }) {
		batch.Conversation.Title = ""
	}
	batch.Jobs, err = x.questionJobs(ctx, q, now)
	return q, batch, err
}

// isConfidential reports whether the user's last message is off the record. A request with only tool results
// is confidential if the stored question is redacted.
func (x *Exchange) isConfidential(p Placement) bool {
	return x.memoryRequests.MustRedact() || x.hasOnlyToolResults() && p.askedTurn.Status == memory.Retired
}

// RecordAnswer stores the answer with the job that learns from the exchange, and returns the point after
// the answer. An empty answer is not stored, but the question may be learned from. After
// [RecordTimeout] the exchange counts as not recorded: the point is zero, and the chat continues.
//
// ctx is the client's context. If it has ended, the partial answer is stored. The client may have sent
// the question again, even to another server, so a partial answer is stored on a side branch and
// replaces no other answer.
func (x *Exchange) RecordAnswer(ctx context.Context, answer chatapi.Answer) ContinuationPoint {
	x.exchanges.Blocks.Relayed.AddAnswer(x.Incoming.Owner, answer, x.exchanges.Time())
	if !x.storesTurns() || x.awaitQuestion == nil {
		return ContinuationPoint{}
	}
	x.MarkAnswerStarted() // in case the caller did not
	cutMark := x.exchanges.CutMark(answer.Text)
	if cutMark != "" {
		answer.Text = x.exchanges.Truncate(answer.Text)
	}
	clientCtx := ctx
	ctx, cancel := context.WithTimeout(memory.ForWrite(context.WithoutCancel(ctx)), storeTimeout)
	var point ContinuationPoint
	stored := make(chan error, 1)
	x.exchanges.Background.Go(func() {
		defer cancel()
		q, err := x.awaitQuestion(context.Background())
		if err != nil {
			stored <- fmt.Errorf("record the question: %w", err)
			return
		}
		err = core.CatchPanic(x.exchanges.Core, func() (err error) { point, err = x.storeAnswer(ctx, clientCtx, q, answer, cutMark); return err })
		stored <- err
		if err == nil {
			x.storeDisplayName(ctx, q.mode)
			x.exchanges.Warm(x.Incoming.Owner) // for the chat's next question
		}
	})
	wait := time.NewTimer(RecordTimeout)
	defer wait.Stop()
	err := fmt.Errorf("storing the exchange took longer than %v", RecordTimeout)
	select {
	case err = <-stored:
	case <-wait.C:
	}
	if err != nil {
		x.reportFailure(ctx, err)
		return ContinuationPoint{}
	}
	return point
}

func (x *Exchange) storeAnswer(ctx, clientCtx context.Context, q storedQuestion, answer chatapi.Answer, cutMark string) (point ContinuationPoint, err error) {
	if q.mode, err = x.exchanges.recheckPause(ctx, x.Incoming.Owner, q.mode); err != nil {
		return point, err
	}
	if !answer.Empty() {
		used := recall.UsedHits(x.Incoming.Chat.Question(1), answer.Text, x.PromptMemory.Hits)
		x.exchanges.Metrics.CountRetrieved(len(x.PromptMemory.Hits), len(used))
		x.exchanges.Curate.FactUses.AddHits(x.Incoming.Owner, used)
	}
	hasJobs := false
	err = x.exchanges.writeBatch(ctx, x.Incoming.Owner, q.conversation.ID, true, func(bool) (w turnBatch, err error) {
		point, w, err = x.planAnswer(ctx, q, answer, cutMark, clientCtx.Err() != nil)
		hasJobs = len(w.Jobs) > 0
		return w, err
	})
	if err == nil && hasJobs {
		x.exchanges.Idle.BeginQuestion()() // the client's next question may follow at once
		x.exchanges.WakeWhenIdle()
	}
	return point, err
}

// planAnswer creates the batch of an answer after its question, with the job that learns from both.
func (x *Exchange) planAnswer(ctx context.Context, q storedQuestion, answer chatapi.Answer, cutMark string, clientDisconnected bool) (point ContinuationPoint, batch turnBatch, err error) {
	point = ContinuationPoint{Conversation: q.conversation.ID, TurnID: q.lastTurnID} // for an empty answer
	now, exchangeCount, isNewAnswer := x.exchanges.Time(), 0, false
	batch = newTurnBatch(q.conversation, q.Alignment, false)
	batch.Conversation.Title = "" // the question's batch set the title
	if !answer.Empty() {
		turns, err := x.exchanges.readBranches(ctx, x.Incoming.Owner, q.conversation.ID)
		if err != nil {
			return point, batch, err
		}
		alignment := thread.AlignStored(turns, q.request, q.turnIDs)
		reply := alignment.AlignAnswer(answer.Digest)
		leavingIDs, rejoiningIDs := slices.Concat(alignment.LeavingIDs, reply.LeavingIDs), slices.Concat(alignment.RejoiningIDs, reply.RejoiningIDs)
		questionRemoved := len(alignment.NewTurns) > 0                                                                     // another request removed the question
		onCurrentBranch := !alignment.UserContinued() && !(clientDisconnected && (questionRemoved || len(leavingIDs) > 0)) // false: the answer starts or extends a side branch
		questionTurn := memory.Turn{}
		if i := slices.IndexFunc(turns, func(t memory.Turn) bool { return t.ID == q.turnID }); i >= 0 {
			questionTurn = turns[i]
		}
		batch.parentID, batch.isPrivate = alignment.ParentID, questionTurn.Status == memory.Retired || x.isConfidential(q.Placement)
		if onCurrentBranch && q.mode.storesText {
			batch.moveTurns(leavingIDs, rejoiningIDs, alignment.Path(reply.StoredID))
		}
		if point.ChainHash = reply.Chain; reply.StoredID == "" && (onCurrentBranch || !questionRemoved) {
			t := memory.Turn{
				Owner: x.Incoming.Owner, Index: reply.TurnIndex, Chain: reply.Chain, Role: memory.RoleAssistant, CreatedAt: now,
				Content: x.exchanges.StoredText(answer.Text, cutMark),
			}
			if answer.Model == memory.RecallModel {
				t.Name = memory.RecallModel
			}
			if len(answer.ItemIDs) > 0 {
				t.Ref = answer.ItemIDs[0]
			}
			if t.ID, err = x.unusedAnswerID(ctx, cmp.Or(x.Incoming.AnswerID, answer.ID)); err != nil {
				return point, batch, err
			}
			if q.mode.storesText && !batch.isPrivate && x.sentBlock != questionTurn.Injected { // the sent block is not recorded yet, or changed
				t.Injected = x.sentBlock
			}
			batch.add(t, !q.mode.storesText || batch.isPrivate)
			if isNewAnswer = onCurrentBranch; onCurrentBranch && q.newTurnID == "" {
				batch.movedIDs = append(batch.movedIDs, batch.parentID) // the first attempt may have failed, so the answered turn is learned from
			}
		}
		point.TurnID = cmp.Or(reply.StoredID, batch.parentID)
		exchangeCount = (reply.TurnIndex + 1) / 2
		if len(batch.Turns)+len(batch.Changes) == 0 { // everything is stored already
			batch.Path = nil
		}
	}
	batch.movedIDs = append(slices.Clone(q.movedIDs), batch.movedIDs...)
	if batch.Jobs, err = x.answerJobs(ctx, q, batch.movedIDs, exchangeCount, now); err != nil {
		return point, batch, err
	}
	if q.mode.learnsFacts && isNewAnswer && x.exchanges.Opts.Learn.Summary.IsDue(exchangeCount-1, exchangeCount) {
		batch.Jobs = append(batch.Jobs, core.SummaryJob(x.Incoming.Owner, q.conversation.ID, batch.Turns[0].ID))
	}
	return point, batch, nil
}

// storeDisplayName stores the owner's display name in the client.
func (x *Exchange) storeDisplayName(ctx context.Context, m memoryMode) {
	if !m.storesText {
		return
	}
	if err := x.exchanges.SetDisplayName(ctx, x.Incoming.Owner, x.Incoming.DisplayName); err != nil {
		x.exchanges.Log.Warn("the user's name was not stored", "user", x.Incoming.Owner.Name(), "err", err)
	}
}

// reportFailure counts and logs a memory error of this chat, and adds the error to the trace.
func (x *Exchange) reportFailure(ctx context.Context, err error) {
	x.exchanges.Metrics.CountRecordFailure()
	x.exchanges.Log.Error("memory failed; the chat continues", "conversation", x.Placement().conversation.ID, "err", err)
	x.exchanges.Traces.AddFailure(ctx, x.Incoming.Owner, x.PromptMemory.TraceID, fmt.Sprintf("record: %v", err))
}
