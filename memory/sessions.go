package memory

import (
	"context"
	"time"
)

// Session is a stored browser sign-in: a hash of its token, not the token.
type Session struct {
	Hash      string    // SHA-256 of the token, in lower hexadecimal
	By        string    // how the user signed in, as the page shows it; "": with the server's own key
	User      string    // user whose memory the session shows; "": no particular one
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"`
}

// Sessions is a [Store] of sessions.
type Sessions interface {
	// AddSession stores a session of a namespace, and removes sessions that expired before its
	// CreatedAt. [Conflict]: its hash exists.
	AddSession(ctx context.Context, namespace string, s Session) error
	// Session returns a session, expired or not; [NotFound] for an unknown hash.
	Session(ctx context.Context, namespace, hash string) (Session, error)
	// RemoveSession removes a session. An unknown hash is ignored.
	RemoveSession(ctx context.Context, namespace, hash string) error
}
