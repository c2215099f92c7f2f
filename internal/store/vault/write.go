package vault

import (
	"context"

	"github.com/loci-memory/loci/memory"
)

// Apply makes the changes of a run: in the store within, which judges them, then
// in the journal, and only then they are acknowledged.
func (s *Store) Apply(ctx context.Context, owner memory.Owner, run memory.Run, changes ...memory.Change) (memory.Receipt, error) {
	body := bodyOfRun(run, changes)
	return s.write(ctx, owner, body, run.Check(owner, changes...) == nil, func() (memory.Receipt, error) {
		return s.Store.Apply(ctx, owner, run, changes...)
	})
}

// Append writes a batch, as Apply does.
func (s *Store) Append(ctx context.Context, owner memory.Owner, b memory.Batch) (memory.Receipt, error) {
	return s.write(ctx, owner, bodyOfBatch(b), b.Check(owner) == nil, func() (memory.Receipt, error) {
		return s.Store.Append(ctx, owner, b)
	})
}

// write commits within and writes the line. What is not sound is refused within,
// with the error that is its.
func (s *Store) write(ctx context.Context, owner memory.Owner, b body, sound bool, commit func() (memory.Receipt, error)) (memory.Receipt, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return memory.Receipt{}, memory.Errorf(memory.Unavailable, "the vault is closed")
	}
	if !sound || !owner.Valid() || ctx.Err() != nil {
		return commit()
	}
	text, err := b.encode()
	if err != nil {
		return memory.Receipt{}, err
	}
	order := s.orders.get(owner)
	if err := s.introduce(owner, order); err != nil {
		return memory.Receipt{}, err
	}
	order.begin()
	receipt, err := commit()
	if err != nil || receipt.Again {
		if order.end() {
			s.heal(owner, order)
		}
		return receipt, err
	}
	s.opts.failpoint(afterInner)
	t, err := newTicket(owner, receipt.Version, receipt.At, b, text)
	if err != nil {
		return memory.Receipt{}, err // never: an owner and a time of the store's can be said
	}
	if order.put(s.journal, t) {
		s.heal(owner, order)
	}
	if err := t.wait(); err != nil {
		return memory.Receipt{}, err
	}
	return receipt, nil
}

// introduce names an owner in the journal before anything of theirs is written,
// so that no owner is in the store within alone.
func (s *Store) introduce(owner memory.Owner, o *order) error {
	o.mu.Lock()
	known := o.known
	o.mu.Unlock()
	if known {
		return s.journal.failed()
	}
	t, err := newTicket(owner, 0, s.clock.now().UTC(), body{}, []byte("{}"))
	if err != nil {
		return err
	}
	s.journal.add(t)
	if err := t.wait(); err != nil {
		return err
	}
	o.mu.Lock()
	o.known = true
	o.mu.Unlock()
	return nil
}

// Finish ends an attempt that no run completed. That a job is done is put into
// the journal without waiting for it: at worst it is looked at again.
func (s *Store) Finish(ctx context.Context, held memory.Lease, o memory.Outcome) error {
	if err := s.Store.Finish(ctx, held, o); err != nil || !o.Done {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil
	}
	b := body{Done: held.Job}
	text, err := b.encode()
	if err != nil {
		return nil
	}
	if t, err := newTicket(held.Owner, 0, s.clock.now().UTC(), b, text); err == nil {
		s.journal.add(t)
	}
	return nil
}

// Look implements [memory.Looker].
func (s *Store) Look(ctx context.Context, owner memory.Owner, l memory.Look) (memory.Seen, error) {
	return memory.LookAt(ctx, s.Store, owner, l)
}

var _ memory.Lineage = (*Store)(nil)

// SupersededBy asks the store within.
func (s *Store) SupersededBy(ctx context.Context, owner memory.Owner, turns []string) (map[string][]string, error) {
	return memory.SupersededBy(ctx, s.Store, owner, turns)
}

// Predecessors asks the store within.
func (s *Store) Predecessors(ctx context.Context, owner memory.Owner, facts []string) (map[string][]memory.Fact, error) {
	return memory.Predecessors(ctx, s.Store, owner, facts)
}
