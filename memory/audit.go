package memory

import (
	"context"
	"time"
)

// AuditEntry records one action: the acting user, the time and the user whose memory was concerned. It
// contains no text of a memory.
type AuditEntry struct {
	ID      string    `bson:"id"` // unique; the order of ids has no meaning
	At      time.Time `bson:"at"`
	Act     string    `bson:"act"`     // the action, such as "sign in" or "read memory"
	By      string    `bson:"by"`      // how the request was authenticated, such as "key laptop"
	User    string    `bson:"user"`    // user whose memory the action concerned; "" if it concerned no single user
	Detail  string    `bson:"detail"`  // key, file or setting concerned
	Address string    `bson:"address"` // network address of the client
	Request string    `bson:"request"` // id of the request in the access log
}

// AuditQuery selects entries of the audit log.
type AuditQuery struct {
	User  string    // user whose memory the entries concern; "" selects all users
	Act   string    // an action; "" selects all
	Since time.Time // inclusive; zero means no lower bound
	Until time.Time // exclusive; zero means no upper bound

	Limit  int    // entries in a page; 0 means 50; at most 500
	Cursor string // Next of the previous page; "" reads the first page
}

// AuditPage is a page of the audit log.
type AuditPage struct {
	Entries []AuditEntry
	Next    string // cursor of the next page; "" on the last page
}

// Audit is the append-only audit log of a [Store].
type Audit interface {
	// AddAuditEntries adds entries to a namespace's log. An entry with an existing id is ignored.
	AddAuditEntries(ctx context.Context, namespace string, entries ...AuditEntry) error
	// AuditEntries returns matching entries, newest first (At, then ID, both descending).
	AuditEntries(ctx context.Context, namespace string, q AuditQuery) (AuditPage, error)
	// DropAuditEntries removes the entries recorded before a time and returns their number.
	DropAuditEntries(ctx context.Context, namespace string, before time.Time) (int, error)
	// RenameAuditUser replaces a user's name in User, and in By if By equals the name. It returns the number
	// of changed entries. The erasure of a user calls it to remove the name.
	RenameAuditUser(ctx context.Context, namespace, user, newName string) (int, error)
}
