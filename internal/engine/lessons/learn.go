package lessons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

const (
	// maxChunkTurns and maxChunkBytes bound the turns of one model call.
	maxChunkTurns = 16
	maxChunkBytes = 24 << 10

	// maxModelAttempts is the number of a job's attempts with a failing model before the rules learn instead:
	// all but the last. They span at least ten minutes. The job's age does not count, since it may have
	// waited in the queue.
	maxModelAttempts = memory.MaxAttempts - 1

	// maxHalvings bounds how often failed attempts halve the input of a model call, for slow models.
	maxHalvings = 2

	// maxSimilar is the number of similar facts with which each candidate is compared.
	maxSimilar = 5
)

// Learn handles learn jobs. It learns from all turns of the job's conversation that were not learned from
// yet. It is idempotent.
func (e *Learner) Learn(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	defer e.LessonDone.Ring()
	e.Idle.Wait(ctx)
	if err := e.putOffUntilIdle(ctx, job); err != nil {
		return "", err
	}
	e.Curate.CreditUses(ctx, job.Owner, curate.UsedFactsPerWrite)
	if strings.HasPrefix(job.ID, ForgetPrefix) {
		return e.handleForgetJob(ctx, job)
	}
	if err := (branchFollower{e}).followBranch(ctx, job); err != nil {
		return "", err
	}
	turns, err := e.UnlearnedTurns(ctx, job)
	if err != nil {
		return "", err
	}
	return e.learnFromTurns(ctx, job, turns)
}

// CanLearn reports whether a model or rules are configured to learn.
func (e *Learner) CanLearn() bool { return e.LLM != nil || e.Opts.LearnByRules }

// learnFromTurns learns from turns of one conversation, and completes the job.
func (e *Learner) learnFromTurns(ctx context.Context, job memory.Job, turns []memory.Turn) (jobs.Completion, error) {
	if len(turns) == 0 || !e.CanLearn() {
		e.Metrics.CountLearnRun("nothing")
		return jobs.Nothing, nil
	}
	chunks := SplitIntoChunks(turns, job.Attempts)
	for i, chunk := range chunks {
		run := memory.Run{ID: core.JobRunID(job.ID), Kind: "learn", Lease: &job.Lease}
		if i < len(chunks)-1 {
			run.ID, run.Lease = core.JobRunID(job.ID)+"-"+chunk[0].ID, nil
		}
		if err := e.LearnFrom(ctx, job, chunk, run); err != nil {
			e.Metrics.CountLearnRun("failed")
			return "", err
		}
	}
	e.LessonDone.Ring() // callers that wait for the facts can continue
	e.Warm(job.Owner)
	return jobs.Applied, nil
}

// UnlearnedTurns returns the user's turns to learn from and, if configured, the answers to them.
func (e *Learner) UnlearnedTurns(ctx context.Context, job memory.Job) ([]memory.Turn, error) {
	turns, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation, Unlearned: true})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	if !e.Opts.LearnFromAssistant || len(turns) == 0 && len(job.Turns) < 2 {
		return turns, nil
	}
	path, err := e.Store.Turns(ctx, job.Owner, memory.TurnQuery{Conversation: job.Conversation})
	if err != nil {
		return nil, fmt.Errorf("read the answers to turns: %w", err)
	}
	isUnlearned := map[string]bool{}
	for _, t := range turns {
		isUnlearned[t.ID] = true
	}
	var turnsAndAnswers []memory.Turn
	isAnswered := false
	for _, t := range path {
		if t.Role == memory.RoleUser {
			isAnswered = isUnlearned[t.ID]
		}
		if isUnlearned[t.ID] || (isAnswered || slices.Contains(job.Turns, t.ID)) && t.Role == memory.RoleAssistant && t.Informative() && t.LearnedAt.IsZero() {
			turnsAndAnswers = append(turnsAndAnswers, t)
		}
	}
	return turnsAndAnswers, nil
}

// SplitIntoChunks splits turns into inputs of model calls. Each failed attempt halves the maximum size.
func SplitIntoChunks(turns []memory.Turn, failedAttempts int) [][]memory.Turn {
	maxTurns := max(1, min(len(turns), maxChunkTurns)>>min(failedAttempts, maxHalvings))
	var chunks [][]memory.Turn
	size := 0
	for _, t := range turns {
		last := len(chunks) - 1
		if last < 0 || len(chunks[last]) == maxTurns || size+len(t.Content) > maxChunkBytes || startsChunk(chunks[last], t) {
			chunks, size = append(chunks, nil), 0
			last++
		}
		chunks[last] = append(chunks[last], t)
		size += len(t.Content)
	}
	return chunks
}

// startsChunk reports whether a turn starts a new chunk: it has another project or agent than the turns
// before it, or it asks to forget facts that may be learned from these turns.
func startsChunk(chunk []memory.Turn, t memory.Turn) bool {
	return t.Project != chunk[0].Project || t.Agent != chunk[0].Agent || len(learn.MemoryRequestsIn(t).ForgetCommands) > 0
}

// LearnFrom learns from one chunk of turns and stores the result. The same run retires the memories that
// the turns ask to forget.
func (e *Learner) LearnFrom(ctx context.Context, job memory.Job, turns []memory.Turn, run memory.Run) error {
	for _, t := range turns {
		run.Learned = append(run.Learned, t.ID)
	}
	l, err := e.ExtractLesson(ctx, job, turns)
	if err != nil {
		return err
	}
	run.Author = l.author
	return e.applyLesson(ctx, job, l, run)
}

// applyLesson compares a lesson with stored facts and applies the changes, again after each conflict.
func (e *Learner) applyLesson(ctx context.Context, job memory.Job, l Lesson, run memory.Run) error {
	for try := 1; ; try++ {
		p, err := e.PlanLesson(ctx, l, run.ID)
		if err != nil {
			return err
		}
		attempt := run
		attempt.Learned = slices.Concat(run.Learned, p.repeatingAnswerIDs)
		attempt.Jobs = append(p.jobs, e.UpkeepJobs(job.Owner, run.ID, job.Conversation)...)
		if attempt.Vectors, err = e.FactVectors(ctx, p.Changes); err != nil {
			return err
		}
		receipt, err := e.commitPlan(ctx, job, p, attempt)
		if err == nil {
			if !receipt.Again { // a repeated run was already logged and counted
				e.logDecisions(ctx, l, p.Outcomes)
			}
			return nil
		}
		if !errors.Is(err, memory.Conflict) && !errors.Is(err, memory.Duplicate) || try == core.MaxFastRetries {
			return fmt.Errorf("apply learned facts: %w", err)
		}
	}
}

// commitPlan applies a plan. It returns [memory.Conflict] if the compared facts have changed, and
// [memory.LeaseLost] if another worker runs the job.
func (e *Learner) commitPlan(ctx context.Context, job memory.Job, plan lessonPlan, run memory.Run) (memory.Receipt, error) {
	version, err := e.checkUnchanged(ctx, job.Owner, plan, slices.Concat(run.Learned, plan.turnIDs))
	if err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease == nil {
		if err := e.ExtendLease(ctx, job); err != nil {
			return memory.Receipt{}, err
		}
	}
	if len(plan.Changes) > 0 {
		run.Base = version
	}
	return e.Store.Apply(ctx, job.Owner, run, plan.Changes...)
}

// ExtendLease extends a job's lease for a transaction that does not complete the job, or returns
// [memory.LeaseLost]. It does nothing for a job that was never claimed.
func (e *Learner) ExtendLease(ctx context.Context, job memory.Job) error {
	if job.Lease == (memory.Lease{}) {
		return nil
	}
	if _, err := e.Store.Extend(ctx, job.Lease, jobs.DefaultLease); err != nil {
		return fmt.Errorf("extend the lease: %w", err)
	}
	return nil
}

// lessonPlan contains the changes of a lesson and the outcome of each candidate.
type lessonPlan struct {
	scope              memory.Scope
	turnIDs            []string            // ids of the lesson's turns
	version            int64               // the owner's version when the stored facts were read
	candidates         []extract.Candidate // candidates with their neighbors: the stored facts to compare with
	Forgotten          []memory.Memory     // memories that the lesson asks to forget
	forgottenIDs       map[string]bool     // ids of Forgotten
	Changes            []memory.Change
	Outcomes           []learn.CandidateOutcome
	jobs               []memory.Job
	repeatingAnswerIDs []string // ids of answers that repeat replaced facts
}

// PlanLesson compares a lesson with stored facts, and returns the resulting changes.
func (e *Learner) PlanLesson(ctx context.Context, l Lesson, runID string) (lessonPlan, error) {
	plan := lessonPlan{scope: l.scope, candidates: slices.Clone(l.candidates), forgottenIDs: map[string]bool{}}
	for _, s := range l.utterances {
		plan.turnIDs = append(plan.turnIDs, s.Turn.ID)
	}
	var err error
	if plan.version, err = e.Version(ctx, l.scope.Owner); err != nil {
		return lessonPlan{}, err
	}
	if err := e.planForgetting(ctx, l, runID, &plan); err != nil {
		return lessonPlan{}, err
	}
	neighborLists, err := extractor{e}.neighbors(ctx, l.scope, plan.version, plan.candidates, plan.forgottenIDs)
	if err != nil {
		return lessonPlan{}, err
	}
	for i := range plan.candidates {
		plan.candidates[i].Neighbors = neighborLists[i]
	}
	newCandidates, repeated, dropped := learn.Dedupe(plan.candidates, learn.DedupeOptions{Scope: l.scope, MinSimilarity: e.Retrieve.DuplicateThreshold()})
	decisions := e.decisions(ctx, l, newCandidates)
	changes, outcomes := learn.Plan(newCandidates, decisions, repeated, learn.PlanOptions{
		Now: e.Time(), NewID: core.NewID, Scope: l.scope, Author: l.author,
		MinConfidence: e.Opts.Learn.Review.MinConfidence, ReviewCategories: e.Opts.Learn.Review.Categories,
		ReviewConflicts: e.Opts.Learn.Review.Conflicts,
		IsWordingFree:   func(scope memory.Scope, content string) bool { return e.Curate.IsNewText(ctx, scope, content) },
	})
	plan.repeatingAnswerIDs = e.Retrieve.AddRepeatingAnswers(memory.WithVersion(ctx, l.scope.Owner, plan.version), changes)
	plan.Changes, plan.Outcomes = append(plan.Changes, changes...), outcomes
	current := slices.Clone(plan.Changes)
	for _, c := range plan.candidates {
		for _, n := range c.Neighbors { // if a candidate repeats a removed fact, its turn is hidden like the turn of a rejected fact
			if !c.RememberRequested && n.Link == nil && n.Fact.Status != memory.Active && text.Hash(n.Fact.Content) == text.Hash(c.Text) {
				current = append(current, memory.Change{Action: memory.ActionReject, After: memory.State{Fact: &n.Fact}})
			}
		}
	}
	extraChanges, extraJobs, err := e.Curate.ReviewChanges(ctx, l.scope.Owner, runID, current, l.author)
	if err != nil {
		return lessonPlan{}, err
	}
	plan.Changes, plan.jobs = append(plan.Changes, extraChanges...), append(plan.jobs, extraJobs...)
	for _, d := range dropped {
		plan.Outcomes = append(plan.Outcomes, learn.CandidateOutcome{FactText: d.Candidate.Text, Action: "ignore", Reason: d.Reason})
	}
	return plan, nil
}

// checkUnchanged returns the version at which the plan is valid. It returns [memory.Conflict] if another
// run wrote a fact that the plan should have been compared with, since both runs would add contradicting
// facts. It returns [memory.Unavailable] if a turn was forgotten or edited after it was read; the job is
// then retried.
func (e *Learner) checkUnchanged(ctx context.Context, owner memory.Owner, plan lessonPlan, turnIDs []string) (version int64, err error) {
	current, err := memory.ReadBatch(ctx, e.Store, owner, memory.ReadSet{IDs: turnIDs}) // later reads return this version or a newer one
	if err != nil {
		return 0, fmt.Errorf("read the turns again: %w", err)
	}
	for _, m := range current.Memories {
		if m.Turn != nil && m.Turn.Status != memory.Active {
			return 0, memory.Errorf(memory.Unavailable, "turn %s became %s after it was read", m.ID(), m.Turn.Status)
		}
	}
	if current.Version == plan.version {
		return current.Version, nil
	}
	neighborLists, err := extractor{e}.neighbors(ctx, plan.scope, current.Version, plan.candidates, plan.forgottenIDs)
	if err != nil {
		return 0, err
	}
	for i, c := range plan.candidates {
		if !sameNeighbors(neighborLists[i], c.Neighbors) {
			return 0, memory.Errorf(memory.Conflict, "the facts similar to candidate %d have changed", i+1)
		}
	}
	return current.Version, nil
}

// sameNeighbors reports whether two searches returned the same facts at the same versions.
func sameNeighbors(a, b []extract.Neighbor) bool {
	versionByID := map[string]int64{}
	for _, n := range a {
		versionByID[n.Fact.ID] = n.Fact.Version
	}
	for _, n := range b {
		if v, ok := versionByID[n.Fact.ID]; !ok || v != n.Fact.Version {
			return false
		}
	}
	return len(a) == len(b)
}

// decisions returns the effect of each candidate on its neighbors: from the model's reply or, if the
// prompt asks only for facts, from a second reply. The rules decide without a model, without neighbors
// and after an unreadable reply.
func (e *Learner) decisions(ctx context.Context, l Lesson, candidates []extract.Candidate) []learn.Decision {
	needsModel := slices.ContainsFunc(candidates, func(c extract.Candidate) bool { return len(c.Neighbors) > 0 && c.Op == "" && !c.RememberRequested })
	if e.LLM == nil || l.author.Kind != memory.ByModel || !needsModel {
		return learn.Reconcile(candidates)
	}
	askModel := e.askForDecisions
	if e.Prompts.Form() == prompt.MemoriesForm {
		askModel = e.askOneByOne
	}
	decisions, err := askModel(ctx, l.scope.Owner, candidates)
	if err != nil {
		e.Log.Warn("the model could not reconcile facts; the rules reconcile them", "err", err)
		return learn.Reconcile(candidates)
	}
	return decisions
}

func (e *Learner) askForDecisions(ctx context.Context, owner memory.Owner, candidates []extract.Candidate) ([]learn.Decision, error) {
	request, err := learn.AskDecisions(candidates, e.learningPrompts(owner))
	if err != nil {
		return nil, err
	}
	decisions, _, err := askAndParse(ctx, &e.Asker, owner, request, func(reply string) ([]learn.Decision, error) { return learn.ParseDecisions(reply, candidates) })
	return decisions, err
}

// askOneByOne asks about each candidate with neighbors separately, since the prompt compares one new fact
// with stored facts. Candidates without neighbors are new facts.
func (e *Learner) askOneByOne(ctx context.Context, owner memory.Owner, candidates []extract.Candidate) ([]learn.Decision, error) {
	var out []learn.Decision
	for i, c := range candidates {
		if !slices.ContainsFunc(c.Neighbors, func(n extract.Neighbor) bool { return n.Fact.Status.Live() }) {
			out = append(out, learn.Decision{CandidateIndex: i, Verdict: learn.Add})
			continue
		}
		decisions, err := e.askForDecisions(ctx, owner, candidates[i:i+1])
		if err != nil {
			return nil, err
		}
		for _, d := range decisions {
			d.CandidateIndex = i
			out = append(out, d)
		}
	}
	return out, nil
}

// logDecisions logs and counts a run's decisions as a memory_decision event. Without LogContent it logs ids
// of stored facts instead of texts, and omits a model's reasons.
func (e *Learner) logDecisions(ctx context.Context, l Lesson, outcomes []learn.CandidateOutcome) {
	outcomes = append(outcomes, l.DroppedOutcomes()...)
	line := obs.MemoryDecision{UserID: l.scope.Owner.Name(), ExtractedCount: len(outcomes)}
	for _, s := range l.utterances {
		line.InputMessageLength += len(s.Text)
	}
	for _, o := range outcomes {
		d := obs.Decision{Fact: o.FactText, Action: o.Action, TargetID: o.TargetID, Reason: o.Reason}
		if o.Action == "reinforce" { // the event's name for a repeated fact, even if the stored fact changes
			d.Action, d.Reason = "ignore", obs.ReasonRedundant
		}
		if !e.Opts.LogContent {
			d.Fact = o.FactID
			if d.Reason != obs.ReasonRedundant {
				d.Reason = ""
			}
		}
		line.Decisions = append(line.Decisions, d)
	}
	line.LogTo(ctx, e.Log)
	e.Metrics.CountDecisions(line)
	e.Metrics.CountLearnRun("applied")
}
