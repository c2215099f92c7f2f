package memory

import (
	"context"
	"time"
)

// AuditEntry is one act that is on record: who did it, when, and whose memory it was about. It
// holds no words of anybody's memory.
type AuditEntry struct {
	ID      string    `bson:"id"` // unique, in no order
	At      time.Time `bson:"at"`
	Act     string    `bson:"act"`     // what was done, such as "sign in" or "read memory"
	By      string    `bson:"by"`      // what the request proved who it was by, such as "key laptop"
	User    string    `bson:"user"`    // whose memory it was about; "": nobody's in particular
	Detail  string    `bson:"detail"`  // which key, file or setting
	Address string    `bson:"address"` // the client's
	Request string    `bson:"request"` // its id, as the access log has it
}

// AuditQuery selects entries.
type AuditQuery struct {
	User  string    // whose memory they are about; "": everybody's
	Act   string    // "": all
	Since time.Time // zero: from the first
	Until time.Time // exclusive; zero: to the last

	Limit  int    // 0: DefaultLimit
	Cursor string // of the page before; "": the first
}

// AuditPage is part of the record.
type AuditPage struct {
	Entries []AuditEntry
	Next    string // cursor of the next page; "": this is the last
}

// Audit is a [Store] that keeps a record of acts, to which entries are only added.
type Audit interface {
	// Note adds entries to the record of a namespace. An id that is there stays: a no-op.
	Note(ctx context.Context, namespace string, entries ...AuditEntry) error
	// Noted returns entries that match, newest first (At, then ID, both descending).
	Noted(ctx context.Context, namespace string, q AuditQuery) (AuditPage, error)
	// DropNoted removes the entries from before a time and returns how many there were.
	DropNoted(ctx context.Context, namespace string, before time.Time) (int, error)
	// RenameNoted puts another name in place of a user's, in User and where By is that name, and
	// returns how many entries it changed. An erasure hides a name so.
	RenameNoted(ctx context.Context, namespace, user, to string) (int, error)
}
