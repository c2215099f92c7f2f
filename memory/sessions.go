package memory

import (
	"context"
	"time"
)

// Session is a stored browser sign-in. It contains a hash of the sign-in token, not the token.
type Session struct {
	Hash      string    // SHA-256 of the token, in lower-case hexadecimal
	By        string    // how the user signed in, as shown on the web page; empty if with the server's own key
	User      string    // user whose memory the page shows; empty if no single user
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"`
}

// Sessions is implemented by a [Store] that stores browser sign-ins.
type Sessions interface {
	// AddSession stores a session of a namespace and removes sessions that expired before its CreatedAt. It
	// returns [Conflict] if the hash exists.
	AddSession(ctx context.Context, namespace string, s Session) error
	// Session returns a session, even if it has expired, or [NotFound] for an unknown hash.
	Session(ctx context.Context, namespace, hash string) (Session, error)
	// RemoveSession removes a session. An unknown hash is ignored.
	RemoveSession(ctx context.Context, namespace, hash string) error
}
