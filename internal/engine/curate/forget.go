package curate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// Forget retires memories and the turns that facts quote. It can be undone.
func (e *Curator) Forget(ctx context.Context, owner memory.Owner, ids []string, reason string, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	return e.ForgetAll(ctx, owner, core.NewID(), ids, reason, author)
}

// ForgetInRun is [Curator.Forget] with a run id.
func (e *Curator) ForgetAll(ctx context.Context, owner memory.Owner, run string, ids []string, reason string, author memory.Author) (memory.Receipt, error) {
	var receipt memory.Receipt
	err := core.Replan(ctx, func() error {
		found, err := e.Store.Get(ctx, owner, ids...)
		if err != nil {
			return err
		}
		if len(found) < len(ids) {
			return memory.Errorf(memory.NotFound, "there is no memory %s", strings.Join(missing(ids, found), ", "))
		}
		receipt, err = e.forgetFound(ctx, owner, run, found, reason, author)
		return err
	})
	return receipt, err
}

// forgetMemories forgets memories in a run. It also forgets their summaries and queues jobs that
// rewrite the summaries without the memories.
func (e *Curator) forgetFound(ctx context.Context, owner memory.Owner, run string, found []memory.Memory, reason string, author memory.Author) (memory.Receipt, error) {
	changes, jobs, err := e.Forgetting(ctx, owner, run, found, reason, author)
	if err != nil {
		return memory.Receipt{}, err
	}
	receipt, err := e.Store.Apply(ctx, owner, memory.Run{ID: run, Kind: "forget", Author: author, Jobs: jobs}, changes...)
	if err == nil && len(jobs) > 0 {
		e.Wake()
	}
	return receipt, err
}

// ForgetChanges returns the changes that forget memories, the turns that repeat them and the summaries
// of both, and the jobs to queue.
func (e *Curator) Forgetting(ctx context.Context, owner memory.Owner, run string, found []memory.Memory, reason string, author memory.Author) ([]memory.Change, []memory.Job, error) {
	for _, m := range slices.Clone(found) {
		if m.Fact == nil || m.Link != nil {
			continue
		}
		turns, err := e.Retrieve.Stating(ctx, *m.Fact)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, turns...)
	}
	changes := learn.Forget(found, e.Time(), reason, author)
	var ids []string
	for _, c := range changes {
		if c.After.Turn != nil {
			ids = append(ids, c.After.Turn.ID)
		}
	}
	turns, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, nil, fmt.Errorf("read the memories to forget: %w", err)
	}
	changes = slices.DeleteFunc(changes, func(c memory.Change) bool { // turns that were forgotten earlier
		return c.After.Turn != nil && slices.ContainsFunc(turns, func(m memory.Memory) bool { return m.ID() == c.After.Turn.ID && m.Status() == memory.Retired })
	})
	summaries, jobs, err := e.summariesOf(ctx, owner, run, changes, turns)
	return append(changes, learn.Forget(summaries, e.Time(), reason, author)...), jobs, err
}

// affectedSummaries returns the active summaries of conversations in which changes forget turns or facts,
// and the jobs that rewrite the summaries.
func (e *Curator) summariesOf(ctx context.Context, owner memory.Owner, run string, changes []memory.Change, turns []memory.Memory) ([]memory.Memory, []memory.Job, error) {
	var conversations []string
	gone := map[string]bool{}
	for _, c := range changes {
		gone[c.After.Target()] = true
		switch {
		case c.After.Summary != nil:
			conversations = append(conversations, c.After.Summary.Scope.Conversation)
		case c.After.Fact != nil && c.After.Fact.Provenance.Conversation != "":
			conversations = append(conversations, c.After.Fact.Provenance.Conversation)
		}
	}
	for _, m := range turns {
		if m.Turn != nil {
			conversations = append(conversations, m.Turn.Conversation)
		}
	}
	slices.Sort(conversations)
	var summaries []memory.Memory
	var jobs []memory.Job
	for _, c := range slices.Compact(conversations) {
		made, err := e.Summaries(ctx, owner, c)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range made {
			if !gone["summary:"+s.ID] {
				summaries = append(summaries, memory.Memory{Summary: &s})
			}
		}
		if len(made) > 0 {
			jobs = append(jobs, core.SummaryJob(owner, c, run))
		}
	}
	return summaries, jobs, nil
}

func missing(ids []string, found []memory.Memory) []string {
	have := map[string]bool{}
	for _, m := range found {
		have[m.ID()] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return have[id] })
}

// ForgetRequest selects the memories to forget: by a query or by ids.
type Matching struct {
	Query  string
	IDs    []string
	Erase  bool // remove the text permanently; this cannot be undone
	DryRun bool

	Idempotency string // a repeated key returns the first result
}

// parseForgetQuery parses a query, such as "what I said about my job" for memories about the job.
func forgetRequest(query string) extract.Command {
	w := learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: "Forget " + query})
	if len(w.Forget) > 0 && w.Forget[0].Of == extract.NamesNothing {
		return w.Forget[0]
	}
	return extract.Command{What: query} // an explicit request refers to memory, even if it is only a name
}

// allKinds lists the kinds that recall returns.
var everyKind = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}

// FindToForget returns the memories of a scope to which a forget request refers. It checks all facts,
// since "my job" shares no word with "User works as a nurse", but only the turns and summaries of a
// search.
func (e *Curator) Meant(ctx context.Context, scope memory.Scope, wish extract.Command) ([]memory.Memory, error) {
	var found []memory.Memory
	have := map[string]bool{}
	add := func(m memory.Memory) {
		if !have[m.ID()] && scope.Sees(m.Scope()) {
			have[m.ID()] = true
			found = append(found, m)
		}
	}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: []memory.Status{memory.Active, memory.Pending}}
	if wish.All {
		q.Kinds = everyKind
		err := e.Everything(ctx, scope.Owner, q, func(m memory.Memory) { found = append(found, m) })
		return found, err
	}
	turns, err := e.Retrieve.Like(ctx, scope, wish.What, retrieve.Candidates)
	if err != nil {
		return nil, fmt.Errorf("find the memories to forget: %w", err)
	}
	for _, m := range turns {
		add(m)
	}
	if err := e.Everything(ctx, scope.Owner, q, add); err != nil {
		return nil, err
	}
	return learn.MemoriesToForget(wish, found), nil
}

// ForgetMatching forgets or erases the requested memories; a dry run only returns them. A query selects
// the memories that state its subject. Memories that are already forgotten are skipped, or erased.
// Erased memories are returned without text.
func (e *Curator) ForgetMatching(ctx context.Context, owner memory.Owner, m Matching, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	return e.forgetTargets(memory.ForWrite(ctx), owner, m, author, func(ctx context.Context) ([]memory.Memory, error) {
		switch {
		case (m.Query == "") == (len(m.IDs) == 0):
			return nil, memory.Errorf(memory.Invalid, "give either a query or ids")
		case m.Query != "":
			return e.queried(ctx, owner, m)
		}
		found, err := e.Store.Get(ctx, owner, m.IDs...)
		if unknown := missing(m.IDs, found); err == nil && len(unknown) > 0 {
			err = memory.Errorf(memory.NotFound, "there is no memory %s", strings.Join(unknown, ", "))
		}
		return found, err
	})
}

// forgetTargets forgets or erases the memories that selectTargets returns. It is idempotent.
func (e *Curator) forgetTargets(ctx context.Context, owner memory.Owner, m Matching, author memory.Author, targets func(context.Context) ([]memory.Memory, error)) ([]memory.Memory, memory.Receipt, error) {
	done, err := e.ChangesByKey(ctx, owner, m.Idempotency)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(done) > 0:
		return e.sameForgotten(ctx, owner, done, m.Erase)
	}
	gone, err := targets(ctx)
	if err == nil && m.Erase {
		gone, err = e.withRepetitions(ctx, owner, gone)
	}
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case m.DryRun || len(gone) == 0:
		return gone, memory.Receipt{}, nil
	}
	ids := make([]string, len(gone))
	for i, g := range gone {
		ids[i] = g.ID()
	}
	run := core.IDFor(owner, m.Idempotency)
	if !m.Erase {
		r, err := e.ForgetAll(ctx, owner, run, ids, "forgotten by hand", author)
		return gone, r, err
	}
	held, err := e.remainingMentions(ctx, owner, gone)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	r, err := e.Erase(ctx, owner, run, gone, author)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	r.Held = held
	left, err := e.Store.Get(ctx, owner, ids...)
	return left, r, err
}

// memoriesForQuery returns the memories to which a query refers; to erase, also retired and replaced ones.
func (e *Curator) queried(ctx context.Context, owner memory.Owner, m Matching) ([]memory.Memory, error) {
	wish := forgetRequest(m.Query)
	found, err := e.Meant(ctx, memory.Scope{Owner: owner}, wish)
	if err != nil || !m.Erase {
		return found, err
	}
	var left []memory.Memory
	q := memory.Query{Kinds: everyKind, Statuses: []memory.Status{memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}}
	err = e.Everything(ctx, owner, q, func(m memory.Memory) {
		if m.Link == nil && m.Content() != "" {
			left = append(left, m)
		}
	})
	return append(found, learn.MemoriesToForget(wish, left)...), err
}

// firstForgotten returns the memories that the first request with the same key forgot or erased.
func (e *Curator) sameForgotten(ctx context.Context, owner memory.Owner, done []memory.Change, erased bool) ([]memory.Memory, memory.Receipt, error) {
	var ids []string
	for _, c := range slices.Backward(done) {
		if forgot := c.Action == memory.ActionRetire || c.Action == memory.ActionUnlink; erased != (c.Action == memory.ActionErase) || !erased && !forgot {
			return nil, memory.Receipt{}, core.ErrOtherRequest
		}
		_, id, _ := strings.Cut(c.After.Target(), ":")
		ids = append(ids, id)
	}
	gone, err := e.Store.Get(ctx, owner, ids...)
	return gone, receiptOf(done), err
}

// receiptOf returns the receipt of an applied run with these changes.
func receiptOf(done []memory.Change) memory.Receipt {
	return memory.Receipt{Run: done[0].Run, Version: done[0].Version, At: done[0].At, Changes: len(done), Again: true}
}

// IsNewerThan reports whether a memory is newer than a turn. A forget request that is processed
// late or repeatedly does not apply to newer memories.
func IsNewerThan(m memory.Memory, t memory.Turn) bool {
	switch {
	case m.Fact != nil:
		return m.Fact.ObservedAt.After(t.CreatedAt)
	case m.Turn != nil && m.Turn.Conversation == t.Conversation && m.Turn.CreatedAt.Equal(t.CreatedAt):
		return m.Turn.Index > t.Index
	}
	return m.CreatedAt().After(t.CreatedAt)
}

// maxFiltered bounds the memories that [Curator.ForgetFiltered] forgets in one run.
const maxFiltered = 10_000

// ForgetFiltered forgets or erases the memories that a filter selects, in one run; a dry run only returns
// them. The default kind is facts. With Erase, the filter also selects forgotten memories. It returns
// [memory.Invalid] for a filter without criteria, so that an empty filter never selects everything, and
// [memory.TooLarge] for more than ten thousand results.
func (e *Curator) ForgetFiltered(ctx context.Context, owner memory.Owner, q memory.Query, m Matching, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	q.Text = strings.TrimSpace(q.Text)
	if q.Tag == "" && q.Category == "" && q.Project == "" && q.Conversation == "" && q.Text == "" {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "filter: has no criterion; set tag, category, project, conversation or q")
	}
	if m.Query != "" || len(m.IDs) > 0 {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "give either a filter, a query or ids")
	}
	q.Statuses = []memory.Status{memory.Active, memory.Pending}
	if m.Erase {
		q.Statuses = core.EveryStatus
	}
	return e.forgetTargets(memory.ForWrite(ctx), owner, m, author, func(ctx context.Context) (found []memory.Memory, err error) {
		err = e.Everything(ctx, owner, q, func(m memory.Memory) {
			if m.Content() != "" { // erased memories have no text
				found = append(found, m)
			}
		})
		if len(found) > maxFiltered {
			return nil, memory.Errorf(memory.TooLarge, "filter: matches %d memories, more than the limit of %d; narrow it", len(found), maxFiltered)
		}
		return found, err
	})
}
