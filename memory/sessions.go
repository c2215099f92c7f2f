package memory

import (
	"context"
	"time"
)

// Session is a browser's sign-in, as it is kept: a hash of its token, not the token.
type Session struct {
	Hash      string    // in lower hexadecimal
	By        string    // what signed it in, as the page says it; "": the server's own key
	User      string    // whose memory it shows; "": nobody in particular
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"`
}

// Sessions is a [Store] that keeps sessions.
type Sessions interface {
	// AddSession keeps a session of a namespace and removes those that expired before its
	// CreatedAt. One with that hash that is there stays: [Conflict].
	AddSession(ctx context.Context, namespace string, s Session) error
	// Session returns the session with a hash, expired or not. [NotFound]: there is none.
	Session(ctx context.Context, namespace, hash string) (Session, error)
	// RemoveSession removes the session with a hash. Removing one that is not there is a no-op.
	RemoveSession(ctx context.Context, namespace, hash string) error
}
