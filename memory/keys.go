package memory

import (
	"context"
	"time"
)

// KeyRole defines whose memory requests with an API key may access.
type KeyRole string

// The roles of keys.
const (
	KeyAdmin KeyRole = "admin" // unrestricted; may name any user of the namespace
	KeyFront KeyRole = "front" // a trusted front end: may name any user, but has no admin rights
	KeyUser  KeyRole = "user"  // only the memory of its user
)

// KeyScope defines what requests with an API key may do.
type KeyScope string

// The scopes of keys.
const (
	ScopeWrite KeyScope = ""     // read and write
	ScopeRead  KeyScope = "read" // read only
)

// Key is a stored API key of a namespace: its hash, not its secret text.
type Key struct {
	Hash      string // SHA-256 of the key, in lower hexadecimal
	Name      string // shown to people
	Role      KeyRole
	User      string // the user of a KeyUser; "" for other roles
	Scope     KeyScope
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"` // zero: never
	UsedAt    time.Time `bson:"used"`    // time of the last request, to the minute; zero: never used
}

// keyID is the number of characters of a hash that form its id.
const keyID = 16

// ID returns an id of the key that does not reveal the key.
func (k Key) ID() string { return k.Hash[:min(keyID, len(k.Hash))] }

// Keys is a [Store] of API keys.
type Keys interface {
	// AddKey stores a key of a namespace, or returns [Conflict] if its hash exists.
	AddKey(ctx context.Context, namespace string, key Key) error
	// Keys returns the keys of a namespace, oldest first.
	Keys(ctx context.Context, namespace string) ([]Key, error)
	// ExpireKey sets when a key expires; [NotFound] for an unknown id.
	ExpireKey(ctx context.Context, namespace, id string, at time.Time) error
	// UseKey stores the time of a key's last request if it is later than the stored one. An unknown
	// key is ignored.
	UseKey(ctx context.Context, namespace, id string, at time.Time) error
	// RemoveKey removes a key; [NotFound] for an unknown id.
	RemoveKey(ctx context.Context, namespace, id string) error
}
