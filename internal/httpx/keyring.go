package httpx

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// Keyring is a copy in memory of the stored keys, which [Guard] accepts in addition to the server's own keys.
// Changes by a Keyring apply at once; changes by another server on the same database apply within
// keyReloadInterval. The zero value is empty and has no store.
type Keyring struct {
	keys     atomic.Pointer[map[[sha256.Size]byte]memory.Key]
	store    memory.Keys // nil if keys are not stored
	shared   bool        // other servers use the database
	now      func() time.Time
	log      *slog.Logger
	lastUses sync.Map // last-use times that are not stored yet, by key id

	loadMu sync.Mutex // locked while keys are loaded, so that a slow load does not restore a removed key
}

// Set replaces all keys. It omits keys with an invalid hash, role or user, which give no access.
func (r *Keyring) Set(keys []memory.Key) {
	all := make(map[[sha256.Size]byte]memory.Key, len(keys))
	for _, k := range keys {
		hash, err := hex.DecodeString(k.Hash)
		if err == nil && len(hash) == sha256.Size && checkKey(k) == nil {
			all[[sha256.Size]byte(hash)] = k
		}
	}
	r.keys.Store(&all)
}

// byHash returns the keys by their hashes; a nil Keyring has no keys.
func (r *Keyring) byHash() map[[sha256.Size]byte]memory.Key {
	if r != nil && r.keys.Load() != nil {
		return *r.keys.Load()
	}
	return nil
}

// byText returns the key with this text, even if the key has expired. Keys are random and as long as their hashes,
// so the time of the look-up reveals nothing about other keys.
func (r *Keyring) byText(text string) (k memory.Key, ok bool) {
	if all := r.byHash(); len(all) > 0 {
		k, ok = all[sha256.Sum256([]byte(text))]
	}
	return k, ok
}

// ByID returns the stored key with an id, unless the key has expired.
func (r *Keyring) ByID(id string, now time.Time) (memory.Key, bool) {
	for _, k := range r.byHash() {
		if k.ID() == id && !isExpired(k, now) {
			return k, true
		}
	}
	return memory.Key{}, false
}

func isExpired(k memory.Key, now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}

// Format and limits of keys.
const (
	// Mem0Prefix may precede any key, for tools that only accept keys in mem0's format.
	Mem0Prefix = "m0-"

	keyPrefix       = "loci_"
	maxKeyNameBytes = 100 // maximum bytes of a key's name
)

// NewKey creates a key with the name, role, user, scope and expiry of k. The returned text is the secret key,
// which is not stored. The error [memory.Invalid] names the invalid field.
func NewKey(k memory.Key, now time.Time) (text string, _ memory.Key, err error) {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	text = keyPrefix + base64.RawURLEncoding.EncodeToString(secret)
	sum := sha256.Sum256([]byte(text))
	k.Hash, k.CreatedAt, k.ExpiresAt, k.UsedAt = hex.EncodeToString(sum[:]), memory.Time(now), memory.Time(k.ExpiresAt), time.Time{}
	err = checkKey(k)
	if err == nil && isExpired(k, now) {
		err = memory.Errorf(memory.Invalid, "the key's expiry %s is in the past", k.ExpiresAt.Format(time.DateOnly))
	}
	if err != nil {
		return "", memory.Key{}, err
	}
	return text, k, nil
}

func checkKey(k memory.Key) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case k.Name == "" || len(k.Name) > maxKeyNameBytes || !utf8.ValidString(k.Name) || slices.ContainsFunc([]rune(k.Name), control):
		return memory.Errorf(memory.Invalid, "a key's name is 1 to %d bytes of UTF-8 without control characters", maxKeyNameBytes)
	case !slices.Contains([]memory.KeyRole{memory.KeyAdmin, memory.KeyFront, memory.KeyUser}, k.Role):
		return memory.Errorf(memory.Invalid, "a key's role is admin, front or user, not %q", k.Role)
	case k.Scope != memory.ScopeWrite && k.Scope != memory.ScopeRead:
		return memory.Errorf(memory.Invalid, "a key's scope is read or write, not %q", k.Scope)
	case k.Role == memory.KeyUser && k.User == "":
		return memory.Errorf(memory.Invalid, "a key of the role user needs a user")
	case k.Role != memory.KeyUser && k.User != "":
		return memory.Errorf(memory.Invalid, "a key of the role %s belongs to no user", k.Role)
	}
	_, err := userOwner(memory.DefaultNamespace, k.User, "user")
	return err
}

// keyGrant contains the permissions of a request's key. The zero value grants nothing.
type keyGrant struct {
	SignIn
	id      string // id of the stored key; "" for the server's own keys
	expired bool
}

// grantOf returns the permissions of a key, or false if the text is not one of Loci's keys.
func (o *Options) grantOf(text string) (keyGrant, bool) {
	bare := strings.TrimPrefix(text, Mem0Prefix)
	for ownKey, grant := range map[string]keyGrant{o.Key: {SignIn: serverKeySignIn}, o.FrontKey: {SignIn: frontKeySignIn}} {
		if ownKey != "" && (sameKey(text, ownKey) || sameKey(bare, ownKey)) {
			return grant, true
		}
	}
	k, ok := o.Keys.byText(bare)
	if !ok {
		return keyGrant{}, false
	}
	now := o.Now()
	o.Keys.recordUse(k, now)
	return storedGrant(k, now), true
}

// storedGrant returns the permissions of a stored key. The audit record names a user's key by the user.
func storedGrant(k memory.Key, now time.Time) keyGrant {
	return keyGrant{SignIn{k.Role, k.User, k.Scope, cmp.Or(k.User, "key "+k.Name)}, k.ID(), isExpired(k, now)}
}

func (o *Options) hasKeys() bool { return o.Key != "" || len(o.Keys.byHash()) > 0 }

// extractKey removes Loci's keys from the whole request, and returns the permissions of the keys in the usual
// headers. A wrong key in X-Loci-Key is an error, because this header is only for Loci's keys; other unknown
// keys are the client's keys for the upstream. Keys with different permissions are an error.
func (o *Options) extractKey(r *http.Request) (keyGrant, error) {
	lociKeys := r.Header.Values(HeaderKey)
	r.Header.Del(HeaderKey)
	defer o.dropKeys(r)
	if !o.hasKeys() {
		return keyGrant{}, nil
	}
	var grants []keyGrant
	for _, name := range keyHeaders {
		values := r.Header.Values(name)
		others := slices.DeleteFunc(slices.Clone(values), func(v string) bool {
			k, ok := o.grantOf(v)
			if !ok {
				k, ok = o.grantOf(credentialOf(v))
			}
			if ok {
				grants = append(grants, k)
			}
			return ok
		})
		if len(others) == len(values) {
			continue
		}
		r.Header[name] = others
		if len(others) == 0 {
			r.Header.Del(name)
		}
	}
	for _, v := range lociKeys {
		k, ok := o.grantOf(v)
		if !ok {
			return keyGrant{}, wrongKeyError{memory.Errorf(memory.Unauthorized, "the key in %s is not Loci's", HeaderKey)}
		}
		grants = append(grants, k)
	}
	if len(grants) == 0 {
		return keyGrant{}, nil
	}
	for _, k := range grants[1:] {
		if k != grants[0] {
			return keyGrant{}, memory.Errorf(memory.Unauthorized, "the request has two different keys of Loci; send only one")
		}
	}
	if grants[0].expired {
		return keyGrant{}, memory.Errorf(memory.Unauthorized, "this key has expired; an admin can create a new one with loci keys rotate")
	}
	return grants[0], nil
}

// sameKey compares keys in a time that reveals nothing about the keys, not even their lengths.
func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
