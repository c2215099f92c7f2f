package memory

import (
	"context"
	"time"
)

// KeyRole is whose memory requests with an API key may reach.
type KeyRole string

// The roles of keys.
const (
	KeyAdmin KeyRole = "admin" // anything, and may name any user of the namespace
	KeyFront KeyRole = "front" // a trusted front end: may name any user, and is not an admin
	KeyUser  KeyRole = "user"  // the memory of the user that it belongs to
)

// KeyScope is what requests with an API key may do there.
type KeyScope string

// The scopes of keys.
const (
	ScopeWrite KeyScope = ""     // read and write
	ScopeRead  KeyScope = "read" // read alone
)

// Key is an API key of a namespace, as it is kept: its hash, not itself.
type Key struct {
	Hash      string // SHA-256 of the key, in lower hexadecimal
	Name      string // what people call it
	Role      KeyRole
	User      string // of a KeyUser; "" of others
	Scope     KeyScope
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"` // zero: never
	UsedAt    time.Time `bson:"used"`    // of the last request, to the minute; zero: none
}

// keyID is how many characters of a hash are its id.
const keyID = 16

// ID names a key; nobody finds the key by it.
func (k Key) ID() string { return k.Hash[:min(keyID, len(k.Hash))] }

// Keys is a [Store] that keeps API keys.
type Keys interface {
	// AddKey keeps a key of a namespace. One with that hash that is there stays: [Conflict].
	AddKey(ctx context.Context, namespace string, key Key) error
	// Keys returns the keys of a namespace, oldest first.
	Keys(ctx context.Context, namespace string) ([]Key, error)
	// ExpireKey sets when the key with an id expires. [NotFound]: there is none.
	ExpireKey(ctx context.Context, namespace, id string, at time.Time) error
	// UseKey keeps the time of a key's last request, if it is later than the one that is kept. A
	// key that is not there is a no-op.
	UseKey(ctx context.Context, namespace, id string, at time.Time) error
	// RemoveKey removes the key with an id. [NotFound]: there is none.
	RemoveKey(ctx context.Context, namespace, id string) error
}
