package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// ClosedKey is the key of the profile entry that marks an erased owner as closed. Its value is the
// time of closing. Until the owner is reopened, nothing is written.
const ClosedKey = ReservedPrefix + "closed"

// ClosedOwners caches which owners are closed. The zero value is ready to use.
type ClosedOwners struct {
	states recent.Map[memory.Owner, closedState]
}

// closedState is the cached state of an owner.
type closedState struct {
	closed           bool      // erased and not reopened
	checkedAt        time.Time // when the state was read or set
	setByThisProcess bool      // this process closed or opened the owner; false: the state was read
}

// closedTTL is the time for which a cached state is valid, since another server may close or open an owner.
// It is far shorter than the first of erase.ResumeDelays, after which the erasure is repeated.
const closedTTL = 10 * time.Second

// isValid reports whether the state is recent enough.
func (l closedState) isValid(now time.Time) bool { return now.Sub(l.checkedAt).Abs() < closedTTL }

// get returns the cached state of an owner, if it is recent enough.
func (c *ClosedOwners) get(owner memory.Owner, now time.Time) (state closedState, found bool) {
	state, found = c.states.Get(owner)
	if !found || !state.isValid(now) {
		return closedState{}, false
	}
	return state, true
}

// Set records that this process closed or opened an owner.
func (c *ClosedOwners) Set(owner memory.Owner, closed bool, now time.Time) {
	c.states.Set(owner, closedState{closed, now, true})
}

// RecordChanges updates the cache after this process changed an owner.
func (c *ClosedOwners) RecordChanges(owner memory.Owner, changes []memory.Change, now time.Time) {
	for _, change := range changes {
		if p := change.After.Profile; p != nil && p.Key == ClosedKey {
			c.Set(owner, p.Status == memory.Active, now)
		}
	}
}

// RecordRead records a state read from the store, unless this process recently set it, and returns the state.
func (c *ClosedOwners) RecordRead(owner memory.Owner, closed bool, now time.Time) bool {
	c.states.Update(owner, func(l closedState, found bool) (closedState, bool) {
		if found && l.setByThisProcess && l.isValid(now) {
			closed = l.closed
			return l, false
		}
		return closedState{closed: closed, checkedAt: now}, true
	})
	return closed
}

// CheckOpen returns [memory.Gone] for a closed owner.
func (e *Core) CheckOpen(ctx context.Context, owner memory.Owner) error {
	if !owner.Valid() {
		return nil
	}
	closed, err := e.IsClosed(ctx, owner)
	if err == nil && closed {
		err = memory.Errorf(memory.Gone, "the memory of %s was erased and is closed; it can be opened again (loci users open NAME)", owner.DisplayName())
	}
	return err
}

// IsClosed reports whether an owner was erased and not reopened. It detects a closing by another server
// after at most [closedTTL], and an opening at once.
func (e *Core) IsClosed(ctx context.Context, owner memory.Owner) (bool, error) {
	if l, found := e.ClosedOwners.get(owner, e.Time()); found && (!l.closed || l.setByThisProcess) {
		return l.closed, nil
	}
	_, err := e.ReadProfileEntry(memory.ForWrite(ctx), owner, ClosedKey)
	if err != nil && !errors.Is(err, memory.NotFound) {
		return false, fmt.Errorf("read whether the memory is closed: %w", err)
	}
	closed := e.ClosedOwners.RecordRead(owner, err == nil, e.Time())
	if closed {
		e.Blocks.Forget(BlockOwnedBy(owner))
		e.Blocks.Relayed.Forget(owner)
		e.Blocks.TopFacts.Forget(owner)
	}
	return closed, nil
}

// IsKnownClosed reports whether the cache has a closed owner, without reading the store.
func (e *Core) IsKnownClosed(owner memory.Owner) bool {
	l, _ := e.ClosedOwners.get(owner, e.Time())
	return l.closed
}

// NameKey is the key of the profile entry with a user's display name in a front end.
const NameKey = ReservedPrefix + "name"

// byFrontEnd is the author of changes of display names.
var byFrontEnd = memory.Author{Kind: memory.ByRule, Name: "front end"}

// SetDisplayName stores a user's display name if it changed.
func (e *Core) SetDisplayName(ctx context.Context, owner memory.Owner, name string) error {
	if stored, _ := e.displayNames.Get(owner); name == "" || stored == name {
		return nil
	}
	err := RetryOnConflict(ctx, func() error {
		_, err := e.trySetProfileEntry(ctx, owner, NewID(), NameKey, name, byFrontEnd)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the user's name: %w", err)
	}
	e.displayNames.Set(owner, name)
	return nil
}

// User is the operator's view of a user.
type User struct {
	Owner  memory.Owner
	Name   string // display name; "": unknown
	Closed bool   // erased and not reopened
}

// User returns one user.
func (e *Core) User(ctx context.Context, owner memory.Owner) (User, error) {
	u := User{Owner: owner}
	entries, err := e.Store.Profile(ctx, owner, memory.At{})
	if err != nil {
		return u, fmt.Errorf("read the profile: %w", err)
	}
	for _, p := range entries {
		switch p.Key {
		case NameKey:
			u.Name = p.Value
		case ClosedKey:
			u.Closed = true
		}
	}
	return u, nil
}

// Users returns at most limit users of a namespace, ordered by name, after afterName. next is
// the value of afterName for the next page, or "" on the last page.
func (e *Core) Users(ctx context.Context, namespace, afterName string, limit int) (users []User, next string, err error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("list users: %w", err)
	}
	owners = slices.DeleteFunc(owners, func(o memory.Owner) bool {
		return o.Kind() != memory.UserKind || o.Namespace() != namespace || o.Name() <= afterName
	})
	slices.SortFunc(owners, func(a, b memory.Owner) int { return cmp.Compare(a.Name(), b.Name()) })
	if len(owners) > limit {
		owners, next = owners[:limit], owners[limit-1].Name()
	}
	for _, owner := range owners {
		u, err := e.User(ctx, owner)
		if err != nil {
			return nil, "", err
		}
		users = append(users, u)
	}
	return users, next, nil
}
