package ownerdata

import (
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

// AuditPosition returns the position of an audit entry in a list, newest first.
func AuditPosition(e memory.AuditEntry) ListPosition { return ListPosition{e.At, e.ID} }

// AddAuditEntries adds entries to the audit record, except entries with an existing id.
func (s *Data) AddAuditEntries(entries ...memory.AuditEntry) {
	s.Audit = slices.Clone(s.Audit)
	for _, e := range entries {
		if !slices.ContainsFunc(s.Audit, func(old memory.AuditEntry) bool { return old.ID == e.ID }) {
			e.At = memory.Time(e.At)
			s.Audit = append(s.Audit, e)
		}
	}
}

// AuditEntries returns the audit entries that match a query.
func (s *Data) AuditEntries(q memory.AuditQuery) (memory.AuditPage, error) {
	var found []memory.AuditEntry
	for _, e := range s.Audit {
		if (q.User == "" || e.User == q.User) && (q.Act == "" || e.Act == q.Act) && !e.At.Before(q.Since) && (q.Until.IsZero() || e.At.Before(q.Until)) {
			found = append(found, e)
		}
	}
	entries, next, err := PageAfter(found, q.Limit, q.Cursor, AuditPosition)
	return memory.AuditPage{Entries: entries, Next: next}, err
}

// DropAuditEntries removes the audit entries before a time and returns their number.
func (s *Data) DropAuditEntries(before time.Time) int {
	remaining := slices.DeleteFunc(slices.Clone(s.Audit), func(e memory.AuditEntry) bool { return e.At.Before(before) })
	n := len(s.Audit) - len(remaining)
	s.Audit = remaining
	return n
}

// RenameAuditUser replaces a user's name in the audit record and returns the number of changed entries.
func (s *Data) RenameAuditUser(user, newName string) (n int) {
	s.Audit = slices.Clone(s.Audit)
	for i := range s.Audit {
		e := &s.Audit[i]
		if e.User == user || e.By == user {
			n++
		}
		for _, name := range []*string{&e.User, &e.By} {
			if *name == user {
				*name = newName
			}
		}
	}
	return n
}
