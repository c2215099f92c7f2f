package inmem

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Audit = (*Store)(nil)

// AddAuditEntries adds entries to the audit record: see [memory.Audit].
func (s *Store) AddAuditEntries(ctx context.Context, namespace string, entries ...memory.AuditEntry) error {
	return s.write(ctx, memory.Global(namespace), func(data *ownerdata.Data) error { data.AddAuditEntries(entries...); return nil })
}

// AuditEntries returns entries of the audit record: see [memory.Audit].
func (s *Store) AuditEntries(ctx context.Context, namespace string, q memory.AuditQuery) (page memory.AuditPage, err error) {
	err = s.read(ctx, memory.Global(namespace), func(data *ownerdata.Data) (err error) { page, err = data.AuditEntries(q); return err })
	return page, err
}

// DropAuditEntries removes old entries of the audit record: see [memory.Audit].
func (s *Store) DropAuditEntries(ctx context.Context, namespace string, before time.Time) (n int, err error) {
	err = s.write(ctx, memory.Global(namespace), func(data *ownerdata.Data) error { n = data.DropAuditEntries(before); return nil })
	return n, err
}

// RenameAuditUser replaces a user's name in the audit record: see [memory.Audit].
func (s *Store) RenameAuditUser(ctx context.Context, namespace, user, newName string) (n int, err error) {
	err = s.write(ctx, memory.Global(namespace), func(data *ownerdata.Data) error { n = data.RenameAuditUser(user, newName); return nil })
	return n, err
}
