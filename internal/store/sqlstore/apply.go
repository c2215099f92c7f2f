package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

// Apply stores the changes of a run: see [memory.Facts].
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.apply(owner, run, changes) })
}

func (t *tx) apply(owner memory.Owner, run memory.Run, changes []memory.Change) (memory.Receipt, error) {
	if first, found, err := t.storedReceipt(owner, run.ID); found || err != nil {
		return first, err
	}
	if err := run.Check(owner, changes...); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		if _, err := t.checkLease(owner, *run.Lease); err != nil {
			return memory.Receipt{}, err
		}
	}
	raisesVersion := len(changes)+len(run.Vectors) > 0
	w, err := t.beginOwnerWrite(owner, raisesVersion)
	if err != nil {
		return memory.Receipt{}, err
	}
	previousVersion := w.version
	if raisesVersion {
		previousVersion--
	}
	if err := run.CheckBase(previousVersion); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.applyChanges(run.ID, run.Author, changes); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.writeVectors(run.Vectors); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.markTurnsLearned(run.Learned); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		if err := w.completeJob(owner, run.Lease.Job); err != nil {
			return memory.Receipt{}, err
		}
	}
	return w.finishRun(run, len(changes))
}

// finishRun queues the jobs of a run, records the run, and sets the owner's version and time.
func (w *ownerWrite) finishRun(run memory.Run, changeCount int) (memory.Receipt, error) {
	receipt := memory.Receipt{Run: run.ID, Version: w.version, At: w.at, Changes: changeCount}
	if err := w.enqueueJobs(run.Jobs); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.recordRun(run.Kind, run.Author, receipt); err != nil {
		return memory.Receipt{}, err
	}
	return receipt, w.saveOwnerVersion()
}

// storedReceipt returns the receipt of a run that was applied before, and reports whether it was.
func (t *tx) storedReceipt(owner memory.Owner, runID string) (memory.Receipt, bool, error) {
	r := memory.Receipt{Run: runID, Again: true}
	err := t.queryRow(`SELECT version, at, changes FROM runs WHERE owner = ? AND id = ?`, []any{owner, runID}, &r.Version, timeColumn{&r.At}, &r.Changes)
	if isNoRows(err) {
		return memory.Receipt{}, false, nil
	}
	if err != nil {
		return memory.Receipt{}, false, fmt.Errorf("find run %s: %w", runID, err)
	}
	return r, true, nil
}

// ownerWrite is a write to one owner's memory; all its changes get the same version and time.
type ownerWrite struct {
	*tx
	owner      memory.Owner
	version    int64
	at         time.Time
	writtenIDs map[string]bool // ids of memories already stored with the write's version
}

// beginOwnerWrite starts a write whose time is after the owner's last write. If raisesVersion is set, the
// write has the owner's next version, otherwise the current one.
func (t *tx) beginOwnerWrite(owner memory.Owner, raisesVersion bool) (*ownerWrite, error) {
	now, err := t.currentTime()
	if err != nil {
		return nil, err
	}
	previous, err := t.readOwnerVersion(owner)
	if err != nil {
		return nil, err
	}
	w := &ownerWrite{tx: t, owner: owner, version: previous.version, at: now, writtenIDs: map[string]bool{}}
	if !w.at.After(previous.lastWrite) {
		w.at = previous.lastWrite.Add(time.Microsecond)
	}
	if raisesVersion {
		w.version++
	}
	return w, nil
}

// saveOwnerVersion stores the write's version and time in the owner's row.
func (w *ownerWrite) saveOwnerVersion() error {
	err := w.exec(`INSERT INTO owners (owner, version, clock) VALUES (?, ?, ?)
		ON CONFLICT (owner) DO UPDATE SET version = excluded.version, clock = excluded.clock`,
		w.owner, w.version, toMicros(w.at))
	if w.lockedOwner != nil { // later writes of this transaction continue from this version
		w.lockedOwner = &ownerVersion{w.owner, w.version, w.at}
	}
	for id := range w.writtenIDs {
		w.changedKeys = append(w.changedKeys, memoryKey{w.owner, id})
	}
	return wrap("raise the owner's version", err)
}

func (w *ownerWrite) recordRun(kind string, author memory.Author, r memory.Receipt) error {
	authorJSON, err := toJSON(author)
	if err != nil {
		return err
	}
	err = w.exec(`INSERT INTO runs (owner, id, kind, author, version, at, changes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		w.owner, r.Run, kind, authorJSON, r.Version, toMicros(r.At), r.Changes)
	return wrap("record the run", err)
}

func (w *ownerWrite) markTurnsLearned(turnIDs []string) error {
	for _, id := range turnIDs {
		err := w.exec(`UPDATE turns SET learned_at = ? WHERE owner = ? AND id = ? AND learned_at = 0`,
			toMicros(w.at), w.owner, id)
		if err != nil {
			return fmt.Errorf("mark turn %s as learned: %w", id, err)
		}
		w.changedKeys = append(w.changedKeys, memoryKey{w.owner, id})
	}
	return nil
}

// applyChanges stores the changes of a run in order, and records them in the journal.
func (w *ownerWrite) applyChanges(runID string, author memory.Author, changes []memory.Change) error {
	for i, c := range changes {
		if err := w.applyChange(runID, author, i+1, c); err != nil {
			return fmt.Errorf("change %d of run %s: %s %s: %w", i+1, runID, c.Action, c.After.Target(), err)
		}
	}
	return nil
}

func (w *ownerWrite) applyChange(runID string, author memory.Author, ordinal int, c memory.Change) error {
	before, duplicateID, err := w.currentState(c.After)
	if err != nil {
		return err
	}
	c.Before, c.After = before.State, ownerdata.WithVersion(c.After, w.version)
	if err := ownerdata.CheckConflict(c, c.Before, before.version); err != nil {
		return err
	}
	if duplicateID != "" {
		return memory.Errorf(memory.Duplicate, "fact %s has the same text", duplicateID)
	}
	if err := w.saveState(c); err != nil {
		return err
	}
	return w.writeJournal(runID, author, ordinal, c)
}

// currentState returns the current state of the target of planned, and the id of another active or pending
// fact with the same text. Each result is zero if there is no such state or fact.
func (w *ownerWrite) currentState(planned memory.State) (current versionedState, duplicateID string, err error) {
	asks := []statement{w.currentStateStatement(planned, &current)}
	if f := planned.Fact; f != nil && f.Status.Live() {
		asks = append(asks, statement{`SELECT id FROM facts WHERE owner = ? AND hash = ? AND project = ? AND agent = ? AND conversation = ?
			AND status IN ('active', 'pending') AND id <> ? LIMIT 1`,
			[]any{w.owner, f.Hash, f.Scope.Project, f.Scope.Agent, f.Scope.Conversation, f.ID},
			func(row scanner) error { return row.Scan(&duplicateID) }})
	}
	return current, duplicateID, wrap("read the current state", w.runBatch(asks...))
}
