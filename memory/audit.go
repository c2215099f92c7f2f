package memory

import (
	"context"
	"time"
)

// AuditEntry is one recorded act: who did it, when, and whose memory it concerned. It holds no text
// of any memory.
type AuditEntry struct {
	ID      string    `bson:"id"` // unique, without order
	At      time.Time `bson:"at"`
	Act     string    `bson:"act"`     // what was done, such as "sign in" or "read memory"
	By      string    `bson:"by"`      // how the request was authenticated, such as "key laptop"
	User    string    `bson:"user"`    // whose memory it concerned; "": none in particular
	Detail  string    `bson:"detail"`  // which key, file or setting
	Address string    `bson:"address"` // the client's
	Request string    `bson:"request"` // the request's id in the access log
}

// AuditQuery selects entries.
type AuditQuery struct {
	User  string    // whose memory they concern; "": everybody's
	Act   string    // "": all
	Since time.Time // zero: from the first
	Until time.Time // exclusive; zero: to the last

	Limit  int    // 0: DefaultLimit
	Cursor string // of the previous page; "": the first
}

// AuditPage is a page of the record.
type AuditPage struct {
	Entries []AuditEntry
	Next    string // cursor of the next page; "": none
}

// Audit is a [Store] with an append-only record of acts.
type Audit interface {
	// Note adds entries to the record of a namespace. An entry with an existing id is a no-op.
	Note(ctx context.Context, namespace string, entries ...AuditEntry) error
	// Noted returns entries that match, newest first (At, then ID, both descending).
	Noted(ctx context.Context, namespace string, q AuditQuery) (AuditPage, error)
	// DropNoted removes the entries before a time and returns their number.
	DropNoted(ctx context.Context, namespace string, before time.Time) (int, error)
	// RenameNoted replaces a user's name, in User and where By is that name, and returns the
	// number of changed entries. Erasures hide names with it.
	RenameNoted(ctx context.Context, namespace, user, to string) (int, error)
}
