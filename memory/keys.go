package memory

import (
	"context"
	"time"
)

// KeyRole is whose memory requests with an API key may access.
type KeyRole string

// The roles of keys.
const (
	KeyAdmin KeyRole = "admin" // unrestricted; may name any user of the namespace
	KeyFront KeyRole = "front" // a trusted front end: may name any user, but has no admin rights
	KeyUser  KeyRole = "user"  // only the memory of its user
)

// KeyScope is what requests with an API key may do.
type KeyScope string

// The scopes of keys.
const (
	ScopeWrite KeyScope = ""     // read and write
	ScopeRead  KeyScope = "read" // read only
)

// Key is a stored API key of a namespace: its hash, not its text.
type Key struct {
	Hash      string // SHA-256 of the key, in lower hexadecimal
	Name      string // for people
	Role      KeyRole
	User      string // of a KeyUser; "" of others
	Scope     KeyScope
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"` // zero: never
	UsedAt    time.Time `bson:"used"`    // of the last request, to the minute; zero: none
}

// keyID is how many characters of a hash are its id.
const keyID = 16

// ID returns an id of the key that does not reveal it.
func (k Key) ID() string { return k.Hash[:min(keyID, len(k.Hash))] }

// Keys is a [Store] of API keys.
type Keys interface {
	// AddKey stores a key of a namespace, or returns [Conflict] if its hash exists.
	AddKey(ctx context.Context, namespace string, key Key) error
	// Keys returns the keys of a namespace, oldest first.
	Keys(ctx context.Context, namespace string) ([]Key, error)
	// ExpireKey sets when a key expires; [NotFound] for an unknown id.
	ExpireKey(ctx context.Context, namespace, id string, at time.Time) error
	// UseKey stores the time of a key's last request if it is later than the stored one. An
	// unknown key is a no-op.
	UseKey(ctx context.Context, namespace, id string, at time.Time) error
	// RemoveKey removes a key; [NotFound] for an unknown id.
	RemoveKey(ctx context.Context, namespace, id string) error
}
