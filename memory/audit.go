package memory

import (
	"context"
	"time"
)

// AuditEntry records one action: who did it, when, and whose memory it concerned. It contains no
// text of a memory.
type AuditEntry struct {
	ID      string    `bson:"id"` // unique; the order has no meaning
	At      time.Time `bson:"at"`
	Act     string    `bson:"act"`     // what was done, such as "sign in" or "read memory"
	By      string    `bson:"by"`      // how the request was authenticated, such as "key laptop"
	User    string    `bson:"user"`    // user whose memory it concerned; "": no particular one
	Detail  string    `bson:"detail"`  // the key, file or setting concerned
	Address string    `bson:"address"` // the client's address
	Request string    `bson:"request"` // the request's id in the access log
}

// AuditQuery selects entries.
type AuditQuery struct {
	User  string    // user whose memory they concern; "": all users
	Act   string    // "": all
	Since time.Time // zero: no lower bound
	Until time.Time // exclusive; zero: no upper bound

	Limit  int    // 0: DefaultLimit
	Cursor string // Next of the previous page; "": the first page
}

// AuditPage is a page of the audit log.
type AuditPage struct {
	Entries []AuditEntry
	Next    string // cursor of the next page; "" on the last page
}

// Audit is a [Store] with an append-only audit log.
type Audit interface {
	// Note adds entries to a namespace's log. An entry whose id exists is ignored.
	Note(ctx context.Context, namespace string, entries ...AuditEntry) error
	// Noted returns entries that match, newest first (At, then ID, both descending).
	Noted(ctx context.Context, namespace string, q AuditQuery) (AuditPage, error)
	// DropNoted removes the entries before a time and returns their number.
	DropNoted(ctx context.Context, namespace string, before time.Time) (int, error)
	// RenameNoted replaces a user's name in User, and in By where By is that name, and returns the
	// number of changed entries. Erasures use it to remove names.
	RenameNoted(ctx context.Context, namespace, user, to string) (int, error)
}
