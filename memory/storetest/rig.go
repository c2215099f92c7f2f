package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// The owners in scripts and rules.
var (
	ana  = memtest.Ana
	ben  = memtest.Ben
	team = memtest.Team
)

// TB is the part of [testing.TB] that a rig needs.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// rig is a test with an empty store and the store's clock.
type rig struct {
	TB
	memory.Store                // store of the current step
	stores       []memory.Store // all replicas of the store on one database; without replicas only the store
	clock        *memtest.Clock
	runCount     int
}

func newRig(t *testing.T, open Open) *rig {
	clock := new(memtest.Clock)
	return newRigOn(t, open(t, clock.Now), clock)
}

func newRigOn(tb TB, s memory.Store, clock *memtest.Clock) *rig {
	r := &rig{TB: tb, Store: s, stores: []memory.Store{s}, clock: clock}
	if all, ok := s.(*Replicas); ok {
		r.Store, r.stores = all.Stores[0], all.Stores
	}
	return r
}

// nextReplica switches to the next replica.
func (r *rig) nextReplica() {
	r.stores = append(r.stores[1:len(r.stores):len(r.stores)], r.stores[0])
	r.Store = r.stores[0]
}

// Close closes all replicas.
func (r *rig) Close() error {
	var errs []error
	for _, s := range r.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// nextRun returns a run with a new id.
func (r *rig) nextRun() memory.Run {
	r.runCount++
	return memtest.Run(fmt.Sprintf("run %d", r.runCount))
}

// applyChanges applies changes that must succeed.
func (r *rig) applyChanges(owner memory.Owner, changes ...memory.Change) memory.Receipt {
	r.Helper()
	return r.applyRun(owner, r.nextRun(), changes...)
}

func (r *rig) applyRun(owner memory.Owner, run memory.Run, changes ...memory.Change) memory.Receipt {
	r.Helper()
	r.nextReplica()
	receipt, err := r.Apply(r.Context(), owner, run, changes...)
	r.must("apply "+run.ID, err)
	return receipt
}

func (r *rig) appendBatch(owner memory.Owner, b memory.Batch) memory.Receipt {
	r.Helper()
	r.nextReplica()
	receipt, err := r.Append(r.Context(), owner, b)
	r.must("append to "+b.Conversation.ID, err)
	return receipt
}

// addFacts adds facts and returns them as stored.
func (r *rig) addFacts(owner memory.Owner, contents ...string) []memory.Fact {
	r.Helper()
	var changes []memory.Change
	var ids []string
	for _, c := range contents {
		f := memtest.Fact(owner, c)
		changes, ids = append(changes, memtest.Add(f)), append(ids, f.ID)
	}
	r.applyChanges(owner, changes...)
	var facts []memory.Fact
	for _, id := range ids {
		facts = append(facts, r.fact(owner, id))
	}
	return facts
}

// get returns the memories with these ids. All must exist.
func (r *rig) get(owner memory.Owner, ids ...string) []memory.Memory {
	r.Helper()
	got, err := r.Get(r.Context(), owner, ids...)
	if err != nil || len(got) != len(ids) {
		r.Fatalf("get %q of %s: got %d memories, %v", ids, owner, len(got), err)
	}
	return got
}

func (r *rig) fact(owner memory.Owner, id string) memory.Fact {
	r.Helper()
	m := r.get(owner, id)[0]
	if m.Fact == nil {
		r.Fatalf("get %s: got a %s, want a fact", id, m.Kind())
	}
	return *m.Fact
}

func (r *rig) list(owner memory.Owner, q memory.Query) []memory.Memory {
	r.Helper()
	page, err := r.List(r.Context(), owner, q)
	r.must("list", err)
	return page.Memories
}

func (r *rig) turns(owner memory.Owner, q memory.TurnQuery) []memory.Turn {
	r.Helper()
	turns, err := r.Turns(r.Context(), owner, q)
	r.must("turns", err)
	return turns
}

func (r *rig) changes(owner memory.Owner, q memory.ChangeQuery) []memory.Change {
	r.Helper()
	page, err := r.Changes(r.Context(), owner, q)
	r.must("changes", err)
	return page.Changes
}

func (r *rig) jobs(owner memory.Owner, states ...memory.JobState) []memory.Job {
	r.Helper()
	jobs, err := r.Jobs(r.Context(), owner, states...)
	r.must("jobs", err)
	return jobs
}

func (r *rig) version(owner memory.Owner) int64 {
	r.Helper()
	versions, err := r.Versions(r.Context(), []memory.Owner{owner})
	if err != nil || len(versions) != 1 {
		r.Fatalf("versions of %s: got %v, %v", owner, versions, err)
	}
	return versions[0]
}

var learnKinds = []memory.JobKind{memory.JobLearn}

var embedderFingerprint = new(memtest.Embedder).Fingerprint()

// must checks that err is nil.
func (r *rig) must(label string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", label, err)
	}
}

// checkEqual checks that two values are equal under the contract.
func (r *rig) checkEqual(label string, got, want any, options ...cmp.Option) {
	r.Helper()
	if diff := difference(got, want, options...); diff != "" {
		r.Errorf("%s (-got +want):\n%s", label, diff)
	}
}

func difference(got, want any, options ...cmp.Option) string {
	return cmp.Diff(got, want, append(options, contractEquality)...)
}

// contractEquality compares under the contract: a nil list equals an empty list, metadata is compared as
// JSON, and vectors are compared with the precision of float16.
var contractEquality = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(sameJSON)),
	cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-3 }),
}

func sameJSON(a, b json.RawMessage) bool { return reflect.DeepEqual(decodeJSON(a), decodeJSON(b)) }

// decodeJSON decodes JSON without rounding numbers.
func decodeJSON(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error() + string(raw)
	}
	return v
}

// ignoreVersions ignores all fields Version, which are undefined in reads of a past time.
var ignoreVersions = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "Version"
}, cmp.Ignore())
