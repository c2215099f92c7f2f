package vault

import (
	"context"
	"errors"

	"github.com/loci-memory/loci/memory"
)

// Apply makes the changes of a run in the wrapped store. The files are written later.
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	targets := targetsOf(changes)
	for _, id := range run.Learned {
		targets = append(targets, turnTarget+id)
	}
	return s.write(owner, targets, func() (memory.Receipt, error) { return s.Store.Apply(ctx, owner, run, changes...) })
}

// Append writes a batch to the wrapped store. The files are written later.
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	targets := append(targetsOf(b.Changes), conversationTarget+b.Conversation.ID)
	for _, t := range b.Turns {
		targets = append(targets, turnTarget+t.ID)
	}
	return s.write(owner, targets, func() (memory.Receipt, error) { return s.Store.Append(ctx, owner, b) })
}

// write commits to the wrapped store and marks the targets as dirty.
func (s *Store) write(owner memory.Owner, targets []string, commit func() (memory.Receipt, error)) (memory.Receipt, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return memory.Receipt{}, errClosed
	}
	receipt, err := commit()
	if err == nil {
		s.opts.failpoint(afterCommit)
	}
	s.files.markCommitted(owner, receipt, targets, err)
	return receipt, err
}

var errClosed = memory.Errorf(memory.Unavailable, "the vault is closed")

// wroteNothing reports whether an error means that nothing was written.
func wroteNothing(err error) bool {
	var e *memory.Error
	return errors.As(err, &e) && e.Code != memory.Unavailable
}

// Prefixes of targets.
const (
	factTarget         = "fact:"
	turnTarget         = "turn:"
	summaryTarget      = "summary:"
	profileTarget      = "profile:"
	contextTarget      = "context:"
	conversationTarget = "conversation:"
)

// targetsOf returns the targets whose files may be affected by the changes, in the form of
// [memory.State.Target].
func targetsOf(changes []memory.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.After.Target())
		if r := c.After.Relation; r != nil {
			out = append(out, factTarget+r.From) // the first fact's file contains the relation
		}
		if p := c.After.Profile; p != nil {
			if id, ok := factOfShareEntry(profileTarget + p.Key); ok {
				out = append(out, factTarget+id)
			}
		}
	}
	return out
}

// ReadBatch implements [memory.BatchReader].
func (s *Store) ReadBatch(ctx context.Context, owner memory.Owner, l memory.ReadSet) (memory.ReadResults, error) {
	return memory.ReadBatch(ctx, s.Store, owner, l)
}

var _ memory.Lineage = (*Store)(nil)

// SupersededBy implements [memory.Lineage] with the wrapped store.
func (s *Store) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, s.Store, owner, turns)
}

// Predecessors implements [memory.Lineage] with the wrapped store.
func (s *Store) Predecessors(ctx context.Context, owner memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, s.Store, owner, facts)
}
