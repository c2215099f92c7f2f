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
type Replicas struct {
	Of   []Replica
	next atomic.Uint32
}

// Replica is one of them.
type Replica interface {
	memory.Store
	memory.Eraser
	memory.Tombstones
}

func (r *Replicas) any() Replica { return r.Of[int(r.next.Add(1))%len(r.Of)] }

// Close closes all of them.
func (r *Replicas) Close() error {
	var errs []error
	for _, s := range r.Of {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Get is [memory.Store].Get of the next of them.
func (r *Replicas) Get(ctx context.Context, o memory.Owner, ids ...string) ([]memory.Memory, error) {
	return r.any().Get(ctx, o, ids...)
}

// List is [memory.Store].List of the next of them.
func (r *Replicas) List(ctx context.Context, o memory.Owner, q memory.Query) (memory.Page, error) {
	return r.any().List(ctx, o, q)
}

// Profile is [memory.Store].Profile of the next of them.
func (r *Replicas) Profile(ctx context.Context, o memory.Owner, at memory.At) ([]memory.ProfileEntry, error) {
	return r.any().Profile(ctx, o, at)
}

// Relations is [memory.Store].Relations of the next of them.
func (r *Replicas) Relations(ctx context.Context, o memory.Owner, fact string, at memory.At) ([]memory.Relation, error) {
	return r.any().Relations(ctx, o, fact, at)
}

// Contexts is [memory.Store].Contexts of the next of them.
func (r *Replicas) Contexts(ctx context.Context, o memory.Owner, at memory.At, ids ...string) ([]memory.Context, error) {
	return r.any().Contexts(ctx, o, at, ids...)
}

// Changes is [memory.Store].Changes of the next of them.
func (r *Replicas) Changes(ctx context.Context, o memory.Owner, q memory.ChangeQuery) (memory.ChangePage, error) {
	return r.any().Changes(ctx, o, q)
}

// Counts is [memory.Store].Counts of the next of them.
func (r *Replicas) Counts(ctx context.Context, o memory.Owner) (memory.Counts, error) {
	return r.any().Counts(ctx, o)
}

// Totals is [memory.Store].Totals of the next of them.
func (r *Replicas) Totals(ctx context.Context) (memory.Counts, error) { return r.any().Totals(ctx) }

// Apply is [memory.Store].Apply of the next of them.
func (r *Replicas) Apply(ctx context.Context, o memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return r.any().Apply(ctx, o, run, changes...)
}

// Append is [memory.Store].Append of the next of them.
func (r *Replicas) Append(ctx context.Context, o memory.Owner, b memory.Batch) (memory.Receipt, error) {
	return r.any().Append(ctx, o, b)
}

// Conversations is [memory.Store].Conversations of the next of them.
func (r *Replicas) Conversations(ctx context.Context, o memory.Owner, q memory.ConversationQuery) (memory.ConversationPage, error) {
	return r.any().Conversations(ctx, o, q)
}

// Turns is [memory.Store].Turns of the next of them.
func (r *Replicas) Turns(ctx context.Context, o memory.Owner, q memory.TurnQuery) ([]memory.Turn, error) {
	return r.any().Turns(ctx, o, q)
}

// Claim is [memory.Store].Claim of the next of them.
func (r *Replicas) Claim(ctx context.Context, kinds []memory.JobKind, lease time.Duration) (memory.Job, error) {
	return r.any().Claim(ctx, kinds, lease)
}

// Extend is [memory.Store].Extend of the next of them.
func (r *Replicas) Extend(ctx context.Context, held memory.Lease, lease time.Duration) (memory.Lease, error) {
	return r.any().Extend(ctx, held, lease)
}

// Finish is [memory.Store].Finish of the next of them.
func (r *Replicas) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	return r.any().Finish(ctx, held, o)
}

// Jobs is [memory.Store].Jobs of the next of them.
func (r *Replicas) Jobs(ctx context.Context, o memory.Owner, states ...memory.JobState) ([]memory.Job, error) {
	return r.any().Jobs(ctx, o, states...)
}

// Requeue is [memory.Store].Requeue of the next of them.
func (r *Replicas) Requeue(ctx context.Context, o memory.Owner, job string) error {
	return r.any().Requeue(ctx, o, job)
}

// Owners is [memory.Store].Owners of the next of them.
func (r *Replicas) Owners(ctx context.Context) ([]memory.Owner, error) {
	return r.any().Owners(ctx)
}

// Versions is [memory.Store].Versions of the next of them.
func (r *Replicas) Versions(ctx context.Context, owners []memory.Owner) ([]int64, error) {
	return r.any().Versions(ctx, owners)
}

// Since is [memory.Store].Since of the next of them.
func (r *Replicas) Since(ctx context.Context, o memory.Owner, model string, after int64, yield func(memory.Item) error) (int64, error) {
	return r.any().Since(ctx, o, model, after, yield)
}

// SaveTraces is [memory.Store].SaveTraces of the next of them.
func (r *Replicas) SaveTraces(ctx context.Context, keep int, traces ...memory.Trace) error {
	return r.any().SaveTraces(ctx, keep, traces...)
}

// Trace is [memory.Store].Trace of the next of them.
func (r *Replicas) Trace(ctx context.Context, o memory.Owner, id string) (memory.Trace, error) {
	return r.any().Trace(ctx, o, id)
}

// Traces is [memory.Store].Traces of the next of them.
func (r *Replicas) Traces(ctx context.Context, o memory.Owner, q memory.TraceQuery) ([]memory.Trace, error) {
	return r.any().Traces(ctx, o, q)
}

// Spend is [memory.Store].Spend of the next of them.
func (r *Replicas) Spend(ctx context.Context, o memory.Owner, u memory.Usage) error {
	return r.any().Spend(ctx, o, u)
}

// Spent is [memory.Store].Spent of the next of them.
func (r *Replicas) Spent(ctx context.Context, o memory.Owner, from time.Time) ([]memory.Usage, error) {
	return r.any().Spent(ctx, o, from)
}

// Erase is [memory.Eraser].Erase of the next of them.
func (r *Replicas) Erase(ctx context.Context, o memory.Owner, run memory.Run, ids ...string) (memory.Receipt, error) {
	return r.any().Erase(ctx, o, run, ids...)
}

// EraseTraces is [memory.Eraser].EraseTraces of the next of them.
func (r *Replicas) EraseTraces(ctx context.Context, o memory.Owner) (int, error) {
	return r.any().EraseTraces(ctx, o)
}

// EraseTracesOf is [memory.Eraser].EraseTracesOf of the next of them.
func (r *Replicas) EraseTracesOf(ctx context.Context, namespace string, facts ...string) (int, error) {
	return r.any().EraseTracesOf(ctx, namespace, facts...)
}

// Bury is [memory.Tombstones].Bury of the next of them.
func (r *Replicas) Bury(ctx context.Context, o memory.Owner, turns ...memory.Turn) error {
	return r.any().Bury(ctx, o, turns...)
}

// Buried is [memory.Tombstones].Buried of the next of them.
func (r *Replicas) Buried(ctx context.Context, o memory.Owner, turns ...memory.Turn) ([]bool, error) {
	return r.any().Buried(ctx, o, turns...)
}

// SupersededBy is [memory.Lineage].SupersededBy of the next of them.
func (r *Replicas) SupersededBy(ctx context.Context, o memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, r.any(), o, turns)
}

// Predecessors is [memory.Lineage].Predecessors of the next of them.
func (r *Replicas) Predecessors(ctx context.Context, o memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, r.any(), o, facts)
}
