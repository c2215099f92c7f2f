package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

// Apply makes the changes of a run: see [memory.Facts].
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	return s.writeRun(ctx, owner, func(t *tx) (memory.Receipt, error) { return t.apply(owner, run, changes) })
}

func (t *tx) apply(owner memory.Owner, run memory.Run, changes []memory.Change) (memory.Receipt, error) {
	if first, found, err := t.receipt(owner, run.ID); found || err != nil {
		return first, err
	}
	if err := run.Check(owner, changes...); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		if _, err := t.attempts(owner, *run.Lease); err != nil {
			return memory.Receipt{}, err
		}
	}
	raises := len(changes)+len(run.Vectors) > 0
	w, err := t.begin(owner, raises)
	if err != nil {
		return memory.Receipt{}, err
	}
	was := w.version
	if raises {
		was--
	}
	if err := run.Overtaken(was); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.changes(run.ID, run.Author, changes); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.vectors(run.Vectors); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.learned(run.Learned); err != nil {
		return memory.Receipt{}, err
	}
	if run.Lease != nil {
		if err := w.complete(owner, run.Lease.Job); err != nil {
			return memory.Receipt{}, err
		}
	}
	return w.finish(run, len(changes))
}

// finishRun queues the jobs of a run, records it, and sets the owner's version and time.
func (w *write) finish(run memory.Run, changes int) (memory.Receipt, error) {
	receipt := memory.Receipt{Run: run.ID, Version: w.version, At: w.at, Changes: changes}
	if err := w.enqueue(run.Jobs); err != nil {
		return memory.Receipt{}, err
	}
	if err := w.record(run.Kind, run.Author, receipt); err != nil {
		return memory.Receipt{}, err
	}
	return receipt, w.end()
}

// receipt returns the original receipt of a run, and whether the run was applied before.
func (t *tx) receipt(owner memory.Owner, run string) (memory.Receipt, bool, error) {
	r := memory.Receipt{Run: run, Again: true}
	err := t.row(`SELECT version, at, changes FROM runs WHERE owner = ? AND id = ?`, []any{owner, run}, &r.Version, asTime{&r.At}, &r.Changes)
	if noRows(err) {
		return memory.Receipt{}, false, nil
	}
	if err != nil {
		return memory.Receipt{}, false, fmt.Errorf("find run %s: %w", run, err)
	}
	return r, true, nil
}

// ownerWrite writes the memory of one owner, under one version and one time.
type write struct {
	*tx
	owner   memory.Owner
	version int64
	at      time.Time
	wrote   map[string]bool // ids of memories already stored with the write's version
}

// begin starts a write, later than the owner's last one. raisesVersion increments the owner's version.
func (t *tx) begin(owner memory.Owner, raises bool) (*write, error) {
	now, err := t.time()
	if err != nil {
		return nil, err
	}
	last, err := t.owner(owner)
	if err != nil {
		return nil, err
	}
	w := &write{tx: t, owner: owner, version: last.version, at: now, wrote: map[string]bool{}}
	if !w.at.After(last.clock) {
		w.at = last.clock.Add(time.Microsecond)
	}
	if raises {
		w.version++
	}
	return w, nil
}

// saveVersion stores the write's version and time as the owner's.
func (w *write) end() error {
	err := w.exec(`INSERT INTO owners (owner, version, clock) VALUES (?, ?, ?)
		ON CONFLICT (owner) DO UPDATE SET version = excluded.version, clock = excluded.clock`,
		w.owner, w.version, micros(w.at))
	if w.locked != nil { // later writes of this transaction continue from this version
		w.locked = &head{w.owner, w.version, w.at}
	}
	for id := range w.wrote {
		w.changed = append(w.changed, memoryKey{w.owner, id})
	}
	return wrap("raise the owner's version", err)
}

func (w *write) record(kind string, author memory.Author, r memory.Receipt) error {
	by, err := toJSON(author)
	if err != nil {
		return err
	}
	err = w.exec(`INSERT INTO runs (owner, id, kind, author, version, at, changes) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		w.owner, r.Run, kind, by, r.Version, micros(r.At), r.Changes)
	return wrap("record the run", err)
}

func (w *write) learned(turns []string) error {
	for _, id := range turns {
		err := w.exec(`UPDATE turns SET learned_at = ? WHERE owner = ? AND id = ? AND learned_at = 0`,
			micros(w.at), w.owner, id)
		if err != nil {
			return fmt.Errorf("mark turn %s as learned: %w", id, err)
		}
		w.changed = append(w.changed, memoryKey{w.owner, id})
	}
	return nil
}

// applyChanges makes the changes of a run in order and journals them.
func (w *write) changes(run string, author memory.Author, changes []memory.Change) error {
	for i, c := range changes {
		if err := w.change(run, author, i+1, c); err != nil {
			return fmt.Errorf("change %d of run %s: %s %s: %w", i+1, run, c.Action, c.After.Target(), err)
		}
	}
	return nil
}

func (w *write) change(run string, author memory.Author, ordinal int, c memory.Change) error {
	before, twin, err := w.find(c.After)
	if err != nil {
		return err
	}
	c.Before, c.After = before.Image, shelf.Stamp(c.After, w.version)
	if err := shelf.CheckConflict(c, c.Before, before.version); err != nil {
		return err
	}
	if twin != "" {
		return memory.Errorf(memory.Duplicate, "fact %s says the same", twin)
	}
	if err := w.save(c); err != nil {
		return err
	}
	return w.journal(run, author, ordinal, c)
}

// currentState returns the current state of a target, zero if none, and the id of another live fact
// with the same text, "" if none.
func (w *write) find(after memory.Image) (before thing, twin string, err error) {
	asks := []ask{w.thingAt(after, &before)}
	if f := after.Fact; f != nil && f.Status.Live() {
		asks = append(asks, ask{`SELECT id FROM facts WHERE owner = ? AND hash = ? AND project = ? AND agent = ? AND conversation = ?
			AND status IN ('active', 'pending') AND id <> ? LIMIT 1`,
			[]any{w.owner, f.Hash, f.Scope.Project, f.Scope.Agent, f.Scope.Conversation, f.ID},
			func(row scanner) error { return row.Scan(&twin) }})
	}
	return before, twin, wrap("read the current state", w.ask(asks...))
}
