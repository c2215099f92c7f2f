package memory

import (
	"context"
	"time"
)

// Session is a stored browser sign-in: a hash of its token, not the token.
type Session struct {
	Hash      string    // in lower hexadecimal
	By        string    // how it signed in, as the page shows it; "": the server's own key
	User      string    // whose memory it shows; "": none in particular
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"`
}

// Sessions is a [Store] of sessions.
type Sessions interface {
	// AddSession stores a session of a namespace and removes those that expired before its
	// CreatedAt. [Conflict] if its hash exists.
	AddSession(ctx context.Context, namespace string, s Session) error
	// Session returns a session, expired or not; [NotFound] for an unknown hash.
	Session(ctx context.Context, namespace, hash string) (Session, error)
	// RemoveSession removes a session. An unknown hash is a no-op.
	RemoveSession(ctx context.Context, namespace, hash string) error
}
