package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Replicas are stores on one database, as processes that share a server have them. Each call goes
// to the next, so that the contract is kept by all of them together.
type Replicas struct{ replicas }

// Replica is one of them.
type Replica interface {
	memory.Store
	memory.Eraser
	memory.Tombstones
}

type replicas struct {
	Of   []Replica
	next atomic.Uint32
}

func (r *replicas) any() Replica { return r.Of[int(r.next.Add(1))%len(r.Of)] }

// Close closes all of them.
func (r *replicas) Close() error {
	var errs []error
	for _, s := range r.Of {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (r *replicas) Get(ctx context.Context, o memory.Owner, ids ...string) ([]memory.Memory, error) {
	return r.any().Get(ctx, o, ids...)
}

func (r *replicas) List(ctx context.Context, o memory.Owner, q memory.Query) (memory.Page, error) {
	return r.any().List(ctx, o, q)
}

func (r *replicas) Profile(ctx context.Context, o memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	return r.any().Profile(ctx, o, at)
}

func (r *replicas) Relations(ctx context.Context, o memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	return r.any().Relations(ctx, o, fact, at)
}

func (r *replicas) Contexts(ctx context.Context, o memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	return r.any().Contexts(ctx, o, at, ids...)
}

func (r *replicas) Changes(ctx context.Context, o memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return r.any().Changes(ctx, o, q)
}

func (r *replicas) Counts(ctx context.Context, o memory.Owner) (memory.Counts, error) {
	return r.any().Counts(ctx, o)
}

func (r *replicas) Totals(ctx context.Context) (memory.Counts, error) {
	return r.any().Totals(ctx)
}

func (r *replicas) Apply(ctx context.Context, o memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return r.any().Apply(ctx, o, run, changes...)
}

func (r *replicas) Append(ctx context.Context, o memory.Owner, b memory.Batch) (memory.Receipt, error) {
	return r.any().Append(ctx, o, b)
}

func (r *replicas) Conversations(ctx context.Context, o memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	return r.any().Conversations(ctx, o, q)
}

func (r *replicas) Turns(ctx context.Context, o memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	return r.any().Turns(ctx, o, q)
}

func (r *replicas) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	return r.any().Claim(ctx, kinds, lease)
}

func (r *replicas) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	return r.any().Extend(ctx, held, lease)
}

func (r *replicas) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	return r.any().Finish(ctx, held, o)
}

func (r *replicas) Jobs(ctx context.Context, o memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	return r.any().Jobs(ctx, o, states...)
}

func (r *replicas) Requeue(ctx context.Context, o memory.Owner, job string) error {
	return r.any().Requeue(ctx, o, job)
}

func (r *replicas) Owners(ctx context.Context) ([]memory.Owner, error) {
	return r.any().Owners(ctx)
}

func (r *replicas) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	return r.any().Versions(ctx, owners)
}

func (r *replicas) Since(ctx context.Context, o memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return r.any().Since(ctx, o, model, after, yield)
}

func (r *replicas) SaveTraces(ctx context.Context, keep int, traces ...memory.Trace) error {
	return r.any().SaveTraces(ctx, keep, traces...)
}

func (r *replicas) Trace(ctx context.Context, o memory.Owner, id string) (memory.Trace, error) {
	return r.any().Trace(ctx, o, id)
}

func (r *replicas) Traces(ctx context.Context, o memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	return r.any().Traces(ctx, o, q)
}

func (r *replicas) Spend(ctx context.Context, o memory.Owner, u memory.Usage) error {
	return r.any().Spend(ctx, o, u)
}

func (r *replicas) Spent(ctx context.Context, o memory.Owner, from time.Time) ([]memory.Usage, error) {
	return r.any().Spent(ctx, o, from)
}

func (r *replicas) Erase(ctx context.Context, o memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	return r.any().Erase(ctx, o, run, ids...)
}

func (r *replicas) EraseTraces(ctx context.Context, o memory.Owner) (int, error) {
	return r.any().EraseTraces(ctx, o)
}

func (r *replicas) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	return r.any().EraseTracesOf(ctx, namespace, facts...)
}

func (r *replicas) Bury(ctx context.Context, o memory.Owner, turns ...memory.Turn) error {
	return r.any().Bury(ctx, o, turns...)
}

func (r *replicas) Buried(ctx context.Context, o memory.Owner, turns ...memory.Turn) ([]bool, error) {
	return r.any().Buried(ctx, o, turns...)
}

func (r *replicas) SupersededBy(ctx context.Context, o memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, r.any(), o, turns)
}

func (r *replicas) Predecessors(ctx context.Context, o memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, r.any(), o, facts)
}
