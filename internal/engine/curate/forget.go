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

// Forget retires memories, and the turns that state the facts among them. It can be undone.
func (e *Curator) Forget(ctx context.Context, owner memory.Owner, ids []string, reason string, author memory.Author) (memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	return e.ForgetInRun(ctx, owner, core.NewID(), ids, reason, author)
}

// ForgetInRun is [Curator.Forget] with a run id.
func (e *Curator) ForgetInRun(ctx context.Context, owner memory.Owner, runID string, ids []string, reason string, author memory.Author) (memory.Receipt, error) {
	var receipt memory.Receipt
	err := core.RetryOnConflict(ctx, func() error {
		memories, err := e.Store.Get(ctx, owner, ids...)
		if err != nil {
			return err
		}
		if len(memories) < len(ids) {
			return memory.Errorf(memory.NotFound, "there is no memory %s", strings.Join(missingIDs(ids, memories), ", "))
		}
		receipt, err = e.forgetMemories(ctx, owner, runID, memories, reason, author)
		return err
	})
	return receipt, err
}

// forgetMemories forgets memories and the summaries of their conversations in a run, and queues jobs that
// rewrite the summaries without the memories.
func (e *Curator) forgetMemories(ctx context.Context, owner memory.Owner, runID string, memories []memory.Memory, reason string, author memory.Author) (memory.Receipt, error) {
	changes, jobs, err := e.ForgetChanges(ctx, owner, runID, memories, reason, author)
	if err != nil {
		return memory.Receipt{}, err
	}
	receipt, err := e.Store.Apply(ctx, owner, memory.Run{ID: runID, Kind: "forget", Author: author, Jobs: jobs}, changes...)
	if err == nil && len(jobs) > 0 {
		e.WakeJobRunner()
	}
	return receipt, err
}

// ForgetChanges returns the changes that forget memories, the turns that repeat them and the summaries of
// their conversations, and the jobs to queue.
func (e *Curator) ForgetChanges(ctx context.Context, owner memory.Owner, runID string, memories []memory.Memory, reason string, author memory.Author) ([]memory.Change, []memory.Job, error) {
	for _, m := range slices.Clone(memories) {
		if m.Fact == nil || m.Link != nil {
			continue
		}
		turns, err := e.Retrieve.TurnsStating(ctx, *m.Fact)
		if err != nil {
			return nil, nil, err
		}
		memories = append(memories, turns...)
	}
	changes := learn.Forget(memories, e.Time(), reason, author)
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
	changes = slices.DeleteFunc(changes, func(c memory.Change) bool { // without turns that were forgotten earlier
		return c.After.Turn != nil && slices.ContainsFunc(turns, func(m memory.Memory) bool { return m.ID() == c.After.Turn.ID && m.Status() == memory.Retired })
	})
	summaries, jobs, err := e.affectedSummaries(ctx, owner, runID, changes, turns)
	return append(changes, learn.Forget(summaries, e.Time(), reason, author)...), jobs, err
}

// affectedSummaries returns the active summaries of conversations in which changes forget turns or facts,
// and the jobs that rewrite the summaries.
func (e *Curator) affectedSummaries(ctx context.Context, owner memory.Owner, runID string, changes []memory.Change, turns []memory.Memory) ([]memory.Memory, []memory.Job, error) {
	var conversations []string
	forgotten := map[string]bool{}
	for _, c := range changes {
		forgotten[c.After.Target()] = true
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
		active, err := e.Summaries(ctx, owner, c)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range active {
			if !forgotten["summary:"+s.ID] {
				summaries = append(summaries, memory.Memory{Summary: &s})
			}
		}
		if len(active) > 0 {
			jobs = append(jobs, core.SummaryJob(owner, c, runID))
		}
	}
	return summaries, jobs, nil
}

func missingIDs(ids []string, memories []memory.Memory) []string {
	present := map[string]bool{}
	for _, m := range memories {
		present[m.ID()] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return present[id] })
}

// ForgetRequest selects the memories to forget: by a query or by ids.
type ForgetRequest struct {
	Query  string
	IDs    []string
	Erase  bool // remove the text permanently; this cannot be undone
	DryRun bool

	IdempotencyKey string // a repeated key returns the first result
}

// parseForgetQuery parses a query, such as "what I said about my job" for memories about the job.
func parseForgetQuery(query string) extract.ForgetCommand {
	w := learn.MemoryRequestsIn(memory.Turn{Role: memory.RoleUser, Content: "Forget " + query})
	if len(w.ForgetCommands) > 0 && w.ForgetCommands[0].ObjectKind == extract.ObjectUnambiguous {
		return w.ForgetCommands[0]
	}
	return extract.ForgetCommand{Object: query} // an explicit request refers to memory, even if it is only a name
}

// allKinds lists the kinds that recall returns.
var allKinds = []memory.Kind{memory.KindFact, memory.KindTurn, memory.KindSummary}

// FindToForget returns the memories of a scope to which a forget request refers. It checks all facts, since
// "my job" shares no word with "User works as a nurse", but only the turns and summaries that a search finds.
func (e *Curator) FindToForget(ctx context.Context, scope memory.Scope, command extract.ForgetCommand) ([]memory.Memory, error) {
	var memories []memory.Memory
	added := map[string]bool{}
	add := func(m memory.Memory) {
		if !added[m.ID()] && scope.Sees(m.Scope()) {
			added[m.ID()] = true
			memories = append(memories, m)
		}
	}
	q := memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: []memory.Status{memory.Active, memory.Pending}}
	if command.IsEverything {
		q.Kinds = allKinds
		err := e.EachMemory(ctx, scope.Owner, q, func(m memory.Memory) { memories = append(memories, m) })
		return memories, err
	}
	turns, err := e.Retrieve.SimilarTurns(ctx, scope, command.Object, retrieve.Candidates)
	if err != nil {
		return nil, fmt.Errorf("find the memories to forget: %w", err)
	}
	for _, m := range turns {
		add(m)
	}
	if err := e.EachMemory(ctx, scope.Owner, q, add); err != nil {
		return nil, err
	}
	return learn.MemoriesToForget(command, memories), nil
}

// ForgetMatching forgets or erases the requested memories; a dry run only returns them. A query such as "my old
// address" selects the memories that state the address, not all that mention it. Forgotten memories can be
// erased, but are not forgotten again. Erased memories are returned without text.
func (e *Curator) ForgetMatching(ctx context.Context, owner memory.Owner, req ForgetRequest, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	return e.forgetTargets(memory.ForWrite(ctx), owner, req, author, func(ctx context.Context) ([]memory.Memory, error) {
		switch {
		case (req.Query == "") == (len(req.IDs) == 0):
			return nil, memory.Errorf(memory.Invalid, "give either a query or ids")
		case req.Query != "":
			return e.memoriesForQuery(ctx, owner, req)
		}
		memories, err := e.Store.Get(ctx, owner, req.IDs...)
		if unknownIDs := missingIDs(req.IDs, memories); err == nil && len(unknownIDs) > 0 {
			err = memory.Errorf(memory.NotFound, "there is no memory %s", strings.Join(unknownIDs, ", "))
		}
		return memories, err
	})
}

// forgetTargets forgets or erases the memories that selectTargets returns. It is idempotent.
func (e *Curator) forgetTargets(ctx context.Context, owner memory.Owner, req ForgetRequest, author memory.Author, selectTargets func(context.Context) ([]memory.Memory, error)) ([]memory.Memory, memory.Receipt, error) {
	earlier, err := e.ChangesByKey(ctx, owner, req.IdempotencyKey)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(earlier) > 0:
		return e.firstForgotten(ctx, owner, earlier, req.Erase)
	}
	memories, err := selectTargets(ctx)
	if err == nil && req.Erase {
		memories, err = e.withRepetitions(ctx, owner, memories)
	}
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case req.DryRun || len(memories) == 0:
		return memories, memory.Receipt{}, nil
	}
	ids := make([]string, len(memories))
	for i, g := range memories {
		ids[i] = g.ID()
	}
	run := core.IDForKey(owner, req.IdempotencyKey)
	if !req.Erase {
		r, err := e.ForgetInRun(ctx, owner, run, ids, "forgotten by hand", author)
		return memories, r, err
	}
	mentions, err := e.remainingMentions(ctx, owner, memories)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	r, err := e.Erase(ctx, owner, run, memories, author)
	if err != nil {
		return nil, memory.Receipt{}, err
	}
	r.TextRemainsIn = mentions
	remaining, err := e.Store.Get(ctx, owner, ids...)
	return remaining, r, err
}

// memoriesForQuery returns the memories to which a query refers; with Erase, also those that recall excludes.
func (e *Curator) memoriesForQuery(ctx context.Context, owner memory.Owner, req ForgetRequest) ([]memory.Memory, error) {
	command := parseForgetQuery(req.Query)
	recallable, err := e.FindToForget(ctx, memory.Scope{Owner: owner}, command)
	if err != nil || !req.Erase {
		return recallable, err
	}
	var excluded []memory.Memory
	q := memory.Query{Kinds: allKinds, Statuses: []memory.Status{memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}}
	err = e.EachMemory(ctx, owner, q, func(req memory.Memory) {
		if req.Link == nil && req.Content() != "" {
			excluded = append(excluded, req)
		}
	})
	return append(recallable, learn.MemoriesToForget(command, excluded)...), err
}

// firstForgotten returns the memories that the first request with the same key forgot or erased.
func (e *Curator) firstForgotten(ctx context.Context, owner memory.Owner, changes []memory.Change, wasErased bool) ([]memory.Memory, memory.Receipt, error) {
	var ids []string
	for _, c := range slices.Backward(changes) {
		if forgot := c.Action == memory.ActionRetire || c.Action == memory.ActionUnlink; wasErased != (c.Action == memory.ActionErase) || !wasErased && !forgot {
			return nil, memory.Receipt{}, core.ErrOtherRequest
		}
		_, id, _ := strings.Cut(c.After.Target(), ":")
		ids = append(ids, id)
	}
	memories, err := e.Store.Get(ctx, owner, ids...)
	return memories, receiptOf(changes), err
}

// receiptOf returns the receipt of an applied run with these changes.
func receiptOf(changes []memory.Change) memory.Receipt {
	return memory.Receipt{Run: changes[0].Run, Version: changes[0].Version, At: changes[0].At, Changes: len(changes), Again: true}
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
func (e *Curator) ForgetFiltered(ctx context.Context, owner memory.Owner, q memory.Query, req ForgetRequest, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	q.Text = strings.TrimSpace(q.Text)
	if q.Tag == "" && q.Category == "" && q.Project == "" && q.Conversation == "" && q.Text == "" {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "filter: has no criterion; set tag, category, project, conversation or q")
	}
	if req.Query != "" || len(req.IDs) > 0 {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "give either a filter, a query or ids")
	}
	q.Statuses = []memory.Status{memory.Active, memory.Pending}
	if req.Erase {
		q.Statuses = core.AllStatuses
	}
	return e.forgetTargets(memory.ForWrite(ctx), owner, req, author, func(ctx context.Context) (memories []memory.Memory, err error) {
		err = e.EachMemory(ctx, owner, q, func(req memory.Memory) {
			if req.Content() != "" { // erased memories have no text
				memories = append(memories, req)
			}
		})
		if len(memories) > maxFiltered {
			return nil, memory.Errorf(memory.TooLarge, "filter: matches %d memories, more than the limit of %d; narrow it", len(memories), maxFiltered)
		}
		return memories, err
	})
}
