package memory

import (
	"context"
	"time"
)

// KeyRole says whose memory requests with an API key may access.
type KeyRole string

// The roles of keys.
const (
	KeyAdmin KeyRole = "admin" // unrestricted; may act for any user of the namespace
	KeyFront KeyRole = "front" // trusted front end: may act for any user, without admin rights
	KeyUser  KeyRole = "user"  // only the memory of the key's own user
)

// KeyScope says what requests with an API key may do.
type KeyScope string

// The scopes of keys.
const (
	ScopeWrite KeyScope = ""     // read and write
	ScopeRead  KeyScope = "read" // read only
)

// Key is a stored API key of a namespace. It contains a hash of the secret text, not the text.
type Key struct {
	Hash      string // SHA-256 of the secret text, in lower-case hexadecimal
	Name      string // name shown to people
	Role      KeyRole
	User      string // user of a key with role KeyUser; "" for other roles
	Scope     KeyScope
	CreatedAt time.Time `bson:"created"`
	ExpiresAt time.Time `bson:"expires"` // zero means never
	UsedAt    time.Time `bson:"used"`    // time of the last request, rounded to the minute; zero if never used
}

// keyIDLength is the length of [Key.ID] in characters.
const keyIDLength = 16

// ID returns the first characters of the hash, which do not reveal the key.
func (k Key) ID() string { return k.Hash[:min(keyIDLength, len(k.Hash))] }

// Keys is implemented by a [Store] that stores API keys.
type Keys interface {
	// AddKey stores a key of a namespace, or returns [Conflict] if its hash exists.
	AddKey(ctx context.Context, namespace string, key Key) error
	// Keys returns the keys of a namespace, oldest first.
	Keys(ctx context.Context, namespace string) ([]Key, error)
	// ExpireKey sets the time when a key expires, or returns [NotFound] for an unknown id.
	ExpireKey(ctx context.Context, namespace, id string, at time.Time) error
	// UseKey stores the time of a key's last request if it is later than the stored time. An unknown id is
	// ignored.
	UseKey(ctx context.Context, namespace, id string, at time.Time) error
	// RemoveKey removes a key, or returns [NotFound] for an unknown id.
	RemoveKey(ctx context.Context, namespace, id string) error
}
