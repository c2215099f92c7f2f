package curate

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci/internal/engine/compare"
	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// PendingFact is a pending fact, the owner's own or shared by another user, with the data that a person
// needs for a decision.
type PendingFact struct {
	Memory memory.Memory
	Turn   *memory.Turn // source turn; nil if the fact has none
	Reason string       // why the fact is pending
	Author memory.Author
	// Conflicts are the owner's active facts that the pending fact contradicts or would replace.
	// Approving the owner's own fact replaces them. A shared fact does not replace them; it is not
	// recalled while they contradict it.
	Conflicts []memory.Fact
}

// PendingPage is a page of pending facts. Next is "" on the last page.
type PendingPage struct {
	Facts []PendingFact
	Next  string
}

// PendingFacts returns the pending facts, newest first, with reason, source turn and conflicts. limit 0
// means 50; the maximum is 500.
func (e *Curator) PendingFacts(ctx context.Context, owner memory.Owner, limit int, cursor string) (PendingPage, error) {
	page, err := e.Store.List(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}, Limit: limit, Cursor: cursor})
	if err != nil {
		return PendingPage{}, err
	}
	out := PendingPage{Next: page.Next}
	for _, m := range page.Memories {
		pending := PendingFact{Memory: m}
		proposal, err := e.Compare.PendingChange(ctx, owner, m)
		if err != nil {
			return PendingPage{}, err
		}
		pending.Reason, pending.Author = proposal.Reason, proposal.Author
		if m.Link != nil {
			pending.Conflicts, err = e.Compare.ConflictsWithShared(ctx, *m.Link)
		} else if pending.Conflicts, err = e.Compare.Conflicts(ctx, *m.Fact, proposal.OldID); err == nil {
			pending.Turn, err = e.SourceTurn(ctx, *m.Fact)
		}
		if err != nil {
			return PendingPage{}, err
		}
		out.Facts = append(out.Facts, pending)
	}
	return out, nil
}

// PendingReason returns why a fact is pending, or "" if the journal has no reason.
func (e *Curator) PendingReason(ctx context.Context, owner memory.Owner, f memory.Fact) (string, error) {
	c, err := e.Compare.PendingChange(ctx, owner, memory.Memory{Fact: &f})
	return c.Reason, err
}

// SourceTurn returns the turn that a fact quotes, or nil if the fact has no source turn.
func (e *Curator) SourceTurn(ctx context.Context, f memory.Fact) (*memory.Turn, error) {
	id := ""
	switch p := f.Provenance; {
	case p.Quote != nil:
		id = p.Quote.Turn
	case len(p.Turns) > 0:
		id = p.Turns[0]
	default:
		return nil, nil
	}
	turns, err := e.Store.Get(ctx, f.Scope.Owner, id)
	if err != nil {
		return nil, fmt.Errorf("read the turn of %s: %w", f.ID, err)
	}
	if len(turns) == 0 {
		return nil, nil
	}
	return turns[0].Turn, nil
}

// Judgement is a person's decision on a pending fact.
type Judgement struct {
	ID       string
	Action   memory.Action // approve or reject
	Content  string        // changed text to approve; "": unchanged
	SeenText string        // text that the person saw; "": not checked
}

// Judge approves or rejects pending facts, all or none, in one run that can be undone. An approved fact
// has full confidence, and replaces the facts that it contradicts. If two facts approved together
// contradict each other, the newer one remains active.
//
// A rejected fact is not learned again. An approved fact of another user remains unchanged and replaces
// nothing; a rejected one is hidden.
//
// Judge returns the resulting facts in the order of the judgements. It returns a Conflict for a fact that
// is not pending, or whose text differs from the text that the person saw.
func (e *Curator) Judge(ctx context.Context, owner memory.Owner, judgements []Judgement, key string, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	earlier, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(earlier) > 0:
		return e.firstJudgement(ctx, owner, judgements, earlier)
	}
	run := memory.Run{ID: core.IDForKey(owner, key), Kind: "review", Author: author}
	unlock, err := e.Compare.LockDecisions(ctx, owner)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	defer unlock()
	var batch judgementBatch
	var receipt memory.Receipt
	err = core.RetryOnConflict(ctx, func() error {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return err
		}
		run.Base = memory.RunBase(version)
		batch = judgementBatch{curator: e, owner: owner, author: author, handledIDs: map[string]bool{}}
		for _, judgement := range judgements {
			if err := batch.judge(ctx, judgement); err != nil {
				return core.Permanent(err)
			}
		}
		run.Vectors, run.Learned = batch.vectors, batch.repeatingAnswerIDs
		var extra []memory.Change
		if extra, run.Jobs, err = e.ReviewChanges(ctx, owner, run.ID, batch.changes, author); err != nil {
			return err
		}
		receipt, err = e.Store.Apply(ctx, owner, run, slices.Concat(batch.replacements, batch.changes, extra)...)
		return err
	})
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	if len(run.Jobs) > 0 {
		e.WakeJobRunner()
	}
	return batch.judgedFacts, receipt, nil
}

// firstJudgement returns the facts that the first request with the same key approved or rejected.
func (e *Curator) firstJudgement(ctx context.Context, owner memory.Owner, judgements []Judgement, changes []memory.Change) ([]memory.Memory, memory.Receipt, error) {
	var judged []memory.Memory
	for _, judgement := range judgements {
		if !slices.ContainsFunc(changes, func(c memory.Change) bool {
			target := c.After.Target()
			return c.Action == judgement.Action && (target == "fact:"+judgement.ID || target == "link:"+judgement.ID)
		}) {
			return nil, memory.Receipt{}, core.ErrOtherRequest
		}
		m, err := e.Get(ctx, owner, judgement.ID)
		if err != nil {
			return nil, memory.Receipt{}, err
		}
		judged = append(judged, m)
	}
	return judged, receiptOf(changes), nil
}

// judgementBatch collects the changes of several judgements.
type judgementBatch struct {
	curator            *Curator
	owner              memory.Owner
	author             memory.Author
	handledIDs         map[string]bool // ids of facts that were judged or replaced
	replacements       []memory.Change // changes of replaced facts; applied first, so that their texts can be reused
	changes            []memory.Change
	vectors            []memory.Vector
	repeatingAnswerIDs []string        // ids of answers that repeat replaced facts
	judgedFacts        []memory.Memory // the resulting facts
}

func (j *judgementBatch) judge(ctx context.Context, judgement Judgement) error {
	m, err := j.curator.Get(ctx, j.owner, judgement.ID)
	switch {
	case err != nil:
		return err
	case m.Fact == nil:
		return memory.Errorf(memory.Invalid, "%s is a %s; only facts are approved or rejected", judgement.ID, m.Kind())
	case j.handledIDs[judgement.ID]:
		return memory.Errorf(memory.Invalid, "%s has two judgements; give one", judgement.ID)
	case m.Status() != memory.Pending:
		return memory.Errorf(memory.Conflict, "%s is %s; only pending facts can be approved or rejected", judgement.ID, m.Status())
	case judgement.SeenText != "" && judgement.SeenText != m.Content():
		return errChangedSinceShown(judgement.ID)
	case judgement.Action == memory.ActionApprove && j.author.Kind == memory.ByModel:
		return memory.Errorf(memory.Forbidden, "only the user can approve %s: on Loci's page under Review, or with loci review", judgement.ID)
	}
	j.handledIDs[judgement.ID] = true
	if m.Link != nil {
		return j.judgeShared(ctx, *m.Link, judgement)
	}
	f := *m.Fact
	change := memory.Change{Action: judgement.Action, Base: f.Version, Author: j.author, Reason: string(judgement.Action) + " by a person"}
	switch judgement.Action {
	case memory.ActionReject:
		f.Status, f.UpdatedAt = memory.Rejected, j.curator.Time()
	case memory.ActionApprove:
		if change.OldID, err = j.approve(ctx, &f, judgement.Content); err != nil {
			return err
		}
		if change.OldID != "" {
			change.NewID = f.ID
		}
	default:
		return errInvalidJudgement(judgement.Action)
	}
	change.After.Fact = &f
	j.changes, j.judgedFacts = append(j.changes, change), append(j.judgedFacts, memory.Memory{Fact: &f})
	j.endOlderFacts(&f)
	return nil
}

// judgeShared accepts or hides a fact shared by another user.
func (j *judgementBatch) judgeShared(ctx context.Context, link memory.Link, judgement Judgement) error {
	switch judgement.Action {
	case memory.ActionReject:
		link.Status = memory.Retired
	case memory.ActionApprove:
		if judgement.Content != "" && judgement.Content != link.Fact.Content {
			return memory.Errorf(memory.Invalid, "%s belongs to %s: accept it unchanged, or reject it", judgement.ID, link.Fact.Scope.Owner)
		}
		current, shared, err := j.curator.Share.SharedFact(ctx, j.owner, link.Fact)
		switch {
		case err != nil:
			return err
		case !shared:
			return memory.Errorf(memory.Conflict, "%s is no longer shared", judgement.ID)
		case current.Content != link.Fact.Content:
			return errChangedSinceShown(judgement.ID)
		}
		link.Status = memory.Active
	default:
		return errInvalidJudgement(judgement.Action)
	}
	j.changes = append(j.changes, memory.Change{
		Action: judgement.Action, After: memory.State{Link: &link}, Base: link.Version, Author: j.author, Reason: string(judgement.Action) + " by a person",
	})
	j.judgedFacts = append(j.judgedFacts, memory.Memory{Fact: &link.Fact, Link: &link})
	return nil
}

func errChangedSinceShown(id string) error {
	return memory.Errorf(memory.Conflict, "%s changed since it was shown; read it again", id)
}

func errInvalidJudgement(action memory.Action) error {
	return memory.Errorf(memory.Invalid, "invalid judgement %q (valid: approve, reject)", action)
}

// endOlderFacts ends the older of two contradicting facts that are approved together.
func (j *judgementBatch) endOlderFacts(f *memory.Fact) {
	for _, m := range j.judgedFacts[:len(j.judgedFacts)-1] {
		if m.Link != nil {
			continue
		}
		other := m.Fact
		if f.Status != memory.Active || other.Status != memory.Active || len(compare.ContradictedIDs(*f, []extract.Neighbor{{Fact: *other}})) == 0 {
			continue
		}
		newer, older := f, other
		if !f.Newer(other) {
			newer, older = other, f
		}
		if compare.IsNarrower(older.Scope, newer.Scope) {
			*older = *memory.Replace(*older, *newer, older.UpdatedAt, "", j.author)[0].After.Fact
		}
	}
}

// approve activates f, ends the facts that f contradicts, and returns the id of the first replaced fact.
func (j *judgementBatch) approve(ctx context.Context, f *memory.Fact, newContent string) (replacedID string, err error) {
	e, now := j.curator, j.curator.Time()
	f.Status, f.Confidence, f.Trust, f.UpdatedAt = memory.Active, 1, memory.TrustPerson, now
	proposal, err := e.Compare.PendingChange(ctx, j.owner, memory.Memory{Fact: f})
	if err != nil {
		return "", err
	}
	if newContent != "" && newContent != f.Content {
		if f.Content, err = e.CheckText("content", newContent); err != nil {
			return "", err
		}
		f.Hash = text.Hash(f.Content)
		f.Subject, f.Attribute = extract.SubjectAndAttribute(f.Content)
		vectors, err := e.TextVectors(ctx, f.ID, f.Content)
		if err != nil {
			return "", err
		}
		j.vectors = append(j.vectors, vectors...)
	}
	contradicted, err := e.Compare.Conflicts(ctx, *f, proposal.OldID)
	if err != nil {
		return "", err
	}
	contradicted = slices.DeleteFunc(contradicted, func(old memory.Fact) bool { return j.handledIDs[old.ID] })
	for _, old := range contradicted {
		j.handledIDs[old.ID] = true
	}
	replacements := e.Compare.ReplacementChanges(f, contradicted, "a person approved what replaces it", j.author)
	j.repeatingAnswerIDs = append(j.repeatingAnswerIDs, e.Retrieve.AddRepeatingAnswers(ctx, replacements)...)
	if j.replacements = append(j.replacements, replacements...); len(replacements) > 0 {
		replacedID = replacements[0].OldID
	}
	return replacedID, nil
}
