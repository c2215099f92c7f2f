package sqlstore

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/memory"
)

var _ memory.Audit = (*Store)(nil)

const auditColumns = `id, at, act, "by", "user", detail, address, request`

func scanAuditEntry(row scanner) (e memory.AuditEntry, err error) {
	err = row.Scan(&e.ID, timeColumn{&e.At}, &e.Act, &e.By, &e.User, &e.Detail, &e.Address, &e.Request)
	return e, err
}

// AddAuditEntries adds entries to the audit record: see [memory.Audit].
func (s *Store) AddAuditEntries(ctx context.Context, namespace string, entries ...memory.AuditEntry) error {
	owner := memory.Global(namespace)
	if err := checkOwner(owner); err != nil {
		return err
	}
	return s.write(ctx, "", func(t *tx) error { return t.addAuditEntries(owner, entries) })
}

func (t *tx) addAuditEntries(owner memory.Owner, entries []memory.AuditEntry) error {
	for _, e := range entries {
		err := t.exec(insertQuery("audit", auditColumns)+` ON CONFLICT DO NOTHING`, owner, e.ID, toMicros(e.At), e.Act, e.By, e.User, e.Detail, e.Address, e.Request)
		if err != nil {
			return wrap("write the audit record", err)
		}
	}
	return nil
}

// AuditEntries returns entries of the audit record: see [memory.Audit].
func (s *Store) AuditEntries(ctx context.Context, namespace string, q memory.AuditQuery) (memory.AuditPage, error) {
	w, limit := whereOwner(), ownerdata.PageSize(q.Limit)
	if q.User != "" {
		w.and(`"user" = ?`, q.User)
	}
	if q.Act != "" {
		w.and(`act = ?`, q.Act)
	}
	if !q.Since.IsZero() {
		w.and(`at >= ?`, toMicros(q.Since))
	}
	if !q.Until.IsZero() {
		w.and(`at < ?`, toMicros(q.Until))
	}
	if err := w.afterCursor(q.Cursor, "at"); err != nil {
		return memory.AuditPage{}, err
	}
	found, err := queryOwner(ctx, s.reader, memory.Global(namespace), `SELECT `+auditColumns+` FROM audit `+w.clause()+` ORDER BY at DESC, id DESC`+limitClause(limit+1), w.args, scanAuditEntry)
	if err != nil {
		return memory.AuditPage{}, wrap("read the audit record", err)
	}
	entries, next, err := ownerdata.PageAfter(found, limit, "", ownerdata.AuditPosition)
	return memory.AuditPage{Entries: entries, Next: next}, err
}

// DropAuditEntries removes old entries of the audit record: see [memory.Audit].
func (s *Store) DropAuditEntries(ctx context.Context, namespace string, before time.Time) (int, error) {
	return s.changeAuditRecord(ctx, `DELETE FROM audit WHERE owner = ? AND at < ?`, memory.Global(namespace), toMicros(before))
}

// RenameAuditUser replaces a user's name in the audit record: see [memory.Audit].
func (s *Store) RenameAuditUser(ctx context.Context, namespace, user, newName string) (int, error) {
	return s.changeAuditRecord(ctx, `UPDATE audit SET "user" = CASE "user" WHEN ? THEN ? ELSE "user" END, "by" = CASE "by" WHEN ? THEN ? ELSE "by" END WHERE owner = ? AND ("user" = ? OR "by" = ?)`,
		user, newName, user, newName, memory.Global(namespace), user, user)
}

func (s *Store) changeAuditRecord(ctx context.Context, statement string, args ...any) (n int, err error) {
	err = s.write(ctx, "", func(t *tx) error {
		changed, err := t.execCount(statement, args...)
		n = int(changed)
		return wrap("change the audit record", err)
	})
	return n, err
}
