package engine

import (
	"context"
	"time"

	"github.com/loci-memory/loci/memory"
)

// hooked is a store, an embedder, a searcher and a model that tell of each call:
// before is asked first, and an error of it is what the call returns instead; after
// is asked once the call is done, and an error of it hides what it returned.
type hooked struct {
	memory.Store
	before, after func(call string) error
}

// hook puts hooks on all parts of an engine.
func (r *rig) hook(before, after func(call string) error) {
	r.Background.Wait() // what an exchange began may still read the parts
	h := &hooked{r.Store, before, after}
	r.Store = h
	r.Searcher = hookedSearcher{h, r.Searcher}
	r.Embedder = hookedEmbedder{h, r.Embedder}
	if r.LLM != nil {
		r.LLM = hookedLLM{h, r.LLM}
	}
}

func through[T any](h *hooked, call string, do func() (T, error)) (T, error) {
	var none T
	if err := h.before(call); err != nil {
		return none, err
	}
	out, err := do()
	if err != nil {
		return out, err
	}
	if err := h.after(call); err != nil {
		return none, err
	}
	return out, nil
}

func (h *hooked) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return through(h, "Apply "+run.Kind, func() (memory.Receipt, error) { return h.Store.Apply(ctx, owner, run, changes...) })
}

func (h *hooked) Erase(ctx context.Context, owner memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	return through(h, "Erase", func() (memory.Receipt, error) {
		return h.Store.Erase(ctx, owner, run, ids...)
	})
}

func (h *hooked) EraseTraces(ctx context.Context, owner memory.Owner) (int, error) {
	return h.Store.EraseTraces(ctx, owner)
}

func (h *hooked) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	return through(h, "EraseTracesOf", func() (int, error) {
		return h.Store.EraseTracesOf(ctx, namespace, facts...)
	})
}

func (h *hooked) Get(ctx context.Context, owner memory.Owner, ids ...string) ([]memory.Memory, error) {
	return through(h, "Get", func() ([]memory.Memory, error) { return h.Store.Get(ctx, owner, ids...) })
}

func (h *hooked) List(ctx context.Context, owner memory.Owner, q memory.Query) (memory.Page, error) {
	return through(h, "List", func() (memory.Page, error) { return h.Store.List(ctx, owner, q) })
}

func (h *hooked) Changes(ctx context.Context, owner memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return through(h, "Changes", func() (memory.ChangePage, error) { return h.Store.Changes(ctx, owner, q) })
}

func (h *hooked) Turns(ctx context.Context, owner memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	return through(h, "Turns", func() ([]memory.Turn, error) { return h.Store.Turns(ctx, owner, q) })
}

func (h *hooked) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	return through(h, "Versions", func() ([]int64, error) { return h.Store.Versions(ctx, owners) })
}

func (h *hooked) Profile(ctx context.Context, owner memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	return through(h, "Profile", func() ([]memory.ProfileEntry, error) { return h.Store.Profile(ctx, owner, at) })
}

func (h *hooked) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	return through(h, "Extend", func() (memory.Lease, error) { return h.Store.Extend(ctx, held, lease) })
}

func (h *hooked) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	_, err := through(h, "Finish", func() (struct{}, error) { return struct{}{}, h.Store.Finish(ctx, held, o) })
	return err
}

func (h *hooked) AddUsage(ctx context.Context, owner memory.Owner, u memory.Usage) error {
	_, err := through(h, "Spend", func() (struct{}, error) { return struct{}{}, h.Store.AddUsage(ctx, owner, u) })
	return err
}

type hookedSearcher struct {
	h *hooked
	memory.Searcher
}

func (s hookedSearcher) Search(ctx context.Context, q memory.Search) ([]memory.Candidate, error) {
	return through(s.h, "Search", func() ([]memory.Candidate, error) { return s.Searcher.Search(ctx, q) })
}

type hookedEmbedder struct {
	h *hooked
	memory.Embedder
}

func (e hookedEmbedder) Embed(ctx context.Context, as memory.EmbedAs, texts ...string) ([][]float32, error) {
	return through(e.h, "Embed", func() ([][]float32, error) { return e.Embedder.Embed(ctx, as, texts...) })
}

type hookedLLM struct {
	h *hooked
	memory.LLM
}

func (m hookedLLM) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	return through(m.h, "Complete "+p.Name, func() (memory.Reply, error) { return m.LLM.Complete(ctx, p) })
}

// answering is a model that replies to what it is asked, whatever was asked before.
type answering func(p memory.Prompt) string

func (f answering) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	if err := ctx.Err(); err != nil {
		return memory.Reply{}, err
	}
	return memory.Reply{Text: f(p), Model: "answering"}, nil
}

// handlers are the engine's work by kind of job.
func (r *rig) handlers() map[memory.JobKind]handler {
	return map[memory.JobKind]handler{
		memory.JobLearn: r.Lessons.Learn, memory.JobUpkeep: r.Upkeep.HandleUpkeep, memory.JobRelearn: r.Lessons.HandleRelearn, memory.JobSummarize: r.Lessons.Summarize,
	}
}
