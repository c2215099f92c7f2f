package inmem

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Audit = (*Store)(nil)

// AddAuditEntries adds entries to the audit log: see [memory.Audit].
func (s *Store) Note(ctx context.Context, namespace string, entries ...memory.AuditEntry) error {
	return s.write(ctx, memory.Global(namespace), func(draft *shelf.Shelf) error { draft.AddAudit(entries...); return nil })
}

// AuditEntries returns entries of the audit log: see [memory.Audit].
func (s *Store) Noted(ctx context.Context, namespace string, q memory.AuditQuery) (page memory.AuditPage, err error) {
	err = s.read(ctx, memory.Global(namespace), func(sh *shelf.Shelf) (err error) { page, err = sh.AuditEntries(q); return err })
	return page, err
}

// DropAuditEntries removes old entries of the audit log: see [memory.Audit].
func (s *Store) DropNoted(ctx context.Context, namespace string, before time.Time) (n int, err error) {
	err = s.write(ctx, memory.Global(namespace), func(draft *shelf.Shelf) error { n = draft.DropAudit(before); return nil })
	return n, err
}

// RenameAuditUser replaces a user's name in the audit log: see [memory.Audit].
func (s *Store) RenameNoted(ctx context.Context, namespace, user, to string) (n int, err error) {
	err = s.write(ctx, memory.Global(namespace), func(draft *shelf.Shelf) error { n = draft.RenameInAudit(user, to); return nil })
	return n, err
}
