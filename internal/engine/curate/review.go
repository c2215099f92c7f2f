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
	Waiting []PendingFact
	Next    string
}

// PendingFacts returns the pending facts, newest first, with reason, source turn and conflicts. limit 0
// means 50; the maximum is 500.
func (e *Curator) Waiting(ctx context.Context, owner memory.Owner, limit int, cursor string) (PendingPage, error) {
	page, err := e.Store.List(ctx, owner, memory.Query{Statuses: []memory.Status{memory.Pending}, Limit: limit, Cursor: cursor})
	if err != nil {
		return PendingPage{}, err
	}
	out := PendingPage{Next: page.Next}
	for _, m := range page.Memories {
		w := PendingFact{Memory: m}
		why, err := e.Compare.Proposed(ctx, owner, m)
		if err != nil {
			return PendingPage{}, err
		}
		w.Reason, w.Author = why.Reason, why.Author
		if m.Link != nil {
			w.Conflicts, err = e.Compare.OwnAgainst(ctx, *m.Link)
		} else if w.Conflicts, err = e.Compare.Conflicts(ctx, *m.Fact, why.OldID); err == nil {
			w.Turn, err = e.Source(ctx, *m.Fact)
		}
		if err != nil {
			return PendingPage{}, err
		}
		out.Waiting = append(out.Waiting, w)
	}
	return out, nil
}

// PendingReason returns why a fact is pending, or "" if the journal has no reason.
func (e *Curator) WhyWaiting(ctx context.Context, owner memory.Owner, f memory.Fact) (string, error) {
	c, err := e.Compare.Proposed(ctx, owner, memory.Memory{Fact: &f})
	return c.Reason, err
}

// SourceTurn returns the turn that a fact quotes, or nil if the fact has no source turn.
func (e *Curator) Source(ctx context.Context, f memory.Fact) (*memory.Turn, error) {
	id := ""
	switch p := f.Provenance; {
	case p.Quote != nil:
		id = p.Quote.Turn
	case len(p.Turns) > 0:
		id = p.Turns[0]
	default:
		return nil, nil
	}
	found, err := e.Store.Get(ctx, f.Scope.Owner, id)
	if err != nil {
		return nil, fmt.Errorf("read the turn of %s: %w", f.ID, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0].Turn, nil
}

// Judgement is a person's decision on a pending fact.
type Judgement struct {
	ID      string
	Action  memory.Action // approve or reject
	Content string        // changed text to approve; "": unchanged
	Seen    string        // text that the person saw; "": not checked
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
	done, err := e.ChangesByKey(ctx, owner, key)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(done) > 0:
		return e.firstJudgement(ctx, owner, judgements, done)
	}
	run := memory.Run{ID: core.IDFor(owner, key), Kind: "review", Author: author}
	leave, err := e.Compare.Deciding(ctx, owner)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	defer leave()
	var j judging
	var receipt memory.Receipt
	err = core.Replan(ctx, func() error {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return err
		}
		run.Base = memory.PlannedOn(version)
		j = judging{engine: e, owner: owner, author: author, seen: map[string]bool{}}
		for _, one := range judgements {
			if err := j.judge(ctx, one); err != nil {
				return core.Lasting(err)
			}
		}
		run.Vectors, run.Learned = j.vectors, j.repeats
		var more []memory.Change
		if more, run.Jobs, err = e.Gate(ctx, owner, run.ID, j.changes, author); err != nil {
			return err
		}
		receipt, err = e.Store.Apply(ctx, owner, run, slices.Concat(j.ends, j.changes, more)...)
		return err
	})
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	if len(run.Jobs) > 0 {
		e.Wake()
	}
	return j.judged, receipt, nil
}

// firstJudgement returns the facts that the first request with the same key approved or rejected.
func (e *Curator) firstJudgement(ctx context.Context, owner memory.Owner, judgements []Judgement, done []memory.Change) ([]memory.Memory, memory.Receipt, error) {
	var judged []memory.Memory
	for _, one := range judgements {
		if !slices.ContainsFunc(done, func(c memory.Change) bool {
			target := c.After.Target()
			return c.Action == one.Action && (target == "fact:"+one.ID || target == "link:"+one.ID)
		}) {
			return nil, memory.Receipt{}, core.ErrOtherRequest
		}
		m, err := e.Get(ctx, owner, one.ID)
		if err != nil {
			return nil, memory.Receipt{}, err
		}
		judged = append(judged, m)
	}
	return judged, receiptOf(done), nil
}

// judgementBatch collects the changes of several judgements.
type judging struct {
	engine  *Curator
	owner   memory.Owner
	author  memory.Author
	seen    map[string]bool // ids of judged or replaced facts
	ends    []memory.Change // changes of replaced facts; applied first, so that their texts can be reused
	changes []memory.Change
	vectors []memory.Vector
	repeats []string        // ids of answers that repeat replaced facts
	judged  []memory.Memory // the resulting facts
}

func (j *judging) judge(ctx context.Context, one Judgement) error {
	m, err := j.engine.Get(ctx, j.owner, one.ID)
	switch {
	case err != nil:
		return err
	case m.Fact == nil:
		return memory.Errorf(memory.Invalid, "%s is a %s; only facts are approved or rejected", one.ID, m.Kind())
	case j.seen[one.ID]:
		return memory.Errorf(memory.Invalid, "%s is judged twice", one.ID)
	case m.Status() != memory.Pending:
		return memory.Errorf(memory.Conflict, "%s is %s; only pending facts can be approved or rejected", one.ID, m.Status())
	case one.Seen != "" && one.Seen != m.Content():
		return errChangedMeanwhile(one.ID)
	case one.Action == memory.ActionApprove && j.author.Kind == memory.ByModel:
		return memory.Errorf(memory.Forbidden, "only the user can approve %s: on Loci's page under Review, or with loci review", one.ID)
	}
	j.seen[one.ID] = true
	if m.Link != nil {
		return j.judgeShared(ctx, *m.Link, one)
	}
	f := *m.Fact
	change := memory.Change{Action: one.Action, Base: f.Version, Author: j.author, Reason: string(one.Action) + " by a person"}
	switch one.Action {
	case memory.ActionReject:
		f.Status, f.UpdatedAt = memory.Rejected, j.engine.Time()
	case memory.ActionApprove:
		if change.OldID, err = j.approve(ctx, &f, one.Content); err != nil {
			return err
		}
		if change.OldID != "" {
			change.NewID = f.ID
		}
	default:
		return errNoJudgement(one.Action)
	}
	change.After.Fact = &f
	j.changes, j.judged = append(j.changes, change), append(j.judged, memory.Memory{Fact: &f})
	j.settle(&f)
	return nil
}

// judgeShared accepts or hides a fact shared by another user.
func (j *judging) judgeShared(ctx context.Context, link memory.Link, one Judgement) error {
	switch one.Action {
	case memory.ActionReject:
		link.Status = memory.Retired
	case memory.ActionApprove:
		if one.Content != "" && one.Content != link.Fact.Content {
			return memory.Errorf(memory.Invalid, "%s belongs to %s: accept it unchanged, or reject it", one.ID, link.Fact.Scope.Owner)
		}
		home, shared, err := j.engine.Share.AsShared(ctx, j.owner, link.Fact)
		switch {
		case err != nil:
			return err
		case !shared:
			return memory.Errorf(memory.Conflict, "%s is no longer shared", one.ID)
		case home.Content != link.Fact.Content:
			return errChangedMeanwhile(one.ID)
		}
		link.Status = memory.Active
	default:
		return errNoJudgement(one.Action)
	}
	j.changes = append(j.changes, memory.Change{
		Action: one.Action, After: memory.Image{Link: &link}, Base: link.Version, Author: j.author, Reason: string(one.Action) + " by a person",
	})
	j.judged = append(j.judged, memory.Memory{Fact: &link.Fact, Link: &link})
	return nil
}

func errChangedMeanwhile(id string) error {
	return memory.Errorf(memory.Conflict, "%s changed since it was shown; read it again", id)
}

func errNoJudgement(a memory.Action) error {
	return memory.Errorf(memory.Invalid, "invalid judgement %q (valid: approve, reject)", a)
}

// endOlder ends the older of two contradicting facts that are approved together.
func (j *judging) settle(f *memory.Fact) {
	for _, m := range j.judged[:len(j.judged)-1] {
		if m.Link != nil {
			continue
		}
		other := m.Fact
		if f.Status != memory.Active || other.Status != memory.Active || len(compare.Contradicted(*f, []extract.Neighbour{{Fact: *other}})) == 0 {
			continue
		}
		newer, older := f, other
		if !f.Newer(other) {
			newer, older = other, f
		}
		if compare.Narrower(older.Scope, newer.Scope) {
			*older = *memory.Replace(*older, *newer, older.UpdatedAt, "", j.author)[0].After.Fact
		}
	}
}

// approve activates f, ends the facts that f contradicts, and returns the id of the first replaced fact.
func (j *judging) approve(ctx context.Context, f *memory.Fact, words string) (replaced string, err error) {
	e, now := j.engine, j.engine.Time()
	f.Status, f.Confidence, f.Trust, f.UpdatedAt = memory.Active, 1, memory.TrustPerson, now
	why, err := e.Compare.Proposed(ctx, j.owner, memory.Memory{Fact: f})
	if err != nil {
		return "", err
	}
	if words != "" && words != f.Content {
		if f.Content, err = e.CheckText("content", words); err != nil {
			return "", err
		}
		f.Hash = text.Hash(f.Content)
		f.Subject, f.Attribute = extract.Classify(f.Content)
		vectors, err := e.TextVectors(ctx, f.ID, f.Content)
		if err != nil {
			return "", err
		}
		j.vectors = append(j.vectors, vectors...)
	}
	olds, err := e.Compare.Conflicts(ctx, *f, why.OldID)
	if err != nil {
		return "", err
	}
	olds = slices.DeleteFunc(olds, func(old memory.Fact) bool { return j.seen[old.ID] })
	for _, old := range olds {
		j.seen[old.ID] = true
	}
	ends := e.Compare.Prevail(f, olds, "a person approved what replaces it", j.author)
	j.repeats = append(j.repeats, e.Retrieve.Repeats(ctx, ends)...)
	if j.ends = append(j.ends, ends...); len(ends) > 0 {
		replaced = ends[0].OldID
	}
	return replaced, nil
}
