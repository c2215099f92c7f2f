package memory

import (
	"context"
	"time"
)

// KeyRole is what requests with an API key may do.
type KeyRole string

// The roles of keys.
const (
	KeyAdmin KeyRole = "admin" // anything, and may name any user of the namespace
	KeyFront KeyRole = "front" // a trusted front end: may name any user, and is not an admin
	KeyUser  KeyRole = "user"  // the memory of the user that it belongs to
)

// Key is an API key of a namespace, as it is kept: its hash, not itself.
type Key struct {
	Hash      string // SHA-256 of the key, in lower hexadecimal
	Name      string // what people call it
	Role      KeyRole
	User      string    // of a KeyUser; "" of others
	CreatedAt time.Time `bson:"created"`
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
	// RemoveKey removes the key with an id. [NotFound]: there is none.
	RemoveKey(ctx context.Context, namespace, id string) error
}
