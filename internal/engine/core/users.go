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

// ClosedKey is the profile entry of an erased owner, with the time as its value. Until the owner is
// opened again, nothing is written.
const ClosedKey = OwnKeys + "closed"

// ClosedOwners caches which owners are closed. The zero value is empty.
type ClosedOwners struct {
	states recent.Map[memory.Owner, look]
}

// look is an owner's cached state.
type look struct {
	closed bool
	at     time.Time
	set    bool // this process set it; else it was read
}

// looksHold is how long a look is valid: another server may close or open an owner. It is well
// shorter than the first delay of erase.EraseAgain, which removes what this server writes to a
// closed owner meanwhile.
const looksHold = 10 * time.Second

// holds reports whether the look is still valid.
func (l look) holds(now time.Time) bool { return now.Sub(l.at).Abs() < looksHold }

// is returns an owner's valid look.
func (c *ClosedOwners) is(owner memory.Owner, now time.Time) (l look, found bool) {
	l, found = c.states.Get(owner)
	if !found || !l.holds(now) {
		return look{}, false
	}
	return l, true
}

// Set records that this process closed or opened an owner.
func (c *ClosedOwners) Set(owner memory.Owner, closed bool, now time.Time) {
	c.states.Set(owner, look{closed, now, true})
}

// Follow records what this process's changes did to an owner, and replaces earlier looks.
func (c *ClosedOwners) Follow(owner memory.Owner, changes []memory.Change, now time.Time) {
	for _, change := range changes {
		if p := change.After.Profile; p != nil && p.Key == ClosedKey {
			c.Set(owner, p.Status == memory.Active, now)
		}
	}
}

// Learn records a state that was read, unless this process set another meanwhile, and returns the
// current one.
func (c *ClosedOwners) Learn(owner memory.Owner, closed bool, now time.Time) bool {
	c.states.Update(owner, func(l look, found bool) (look, bool) {
		if found && l.set && l.holds(now) {
			closed = l.closed
			return l, false
		}
		return look{closed: closed, at: now}, true
	})
	return closed
}

// MayWrite returns [memory.Gone] for a closed owner.
func (e *Core) MayWrite(ctx context.Context, owner memory.Owner) error {
	if !owner.Valid() {
		return nil
	}
	closed, err := e.IsClosed(ctx, owner)
	if err == nil && closed {
		err = memory.Errorf(memory.Gone, "the memory of %s was erased and is closed; it can be opened again (loci users open NAME)", owner.Called())
	}
	return err
}

// IsClosed reports whether an owner was erased and not opened since. Another server's closing is
// seen after at most [looksHold], its opening at once.
func (e *Core) IsClosed(ctx context.Context, owner memory.Owner) (bool, error) {
	if l, found := e.Closed.is(owner, e.Time()); found && (!l.closed || l.set) {
		return l.closed, nil
	}
	_, err := e.ReadEntry(memory.ForWrite(ctx), owner, ClosedKey)
	if err != nil && !errors.Is(err, memory.NotFound) {
		return false, fmt.Errorf("ask whether the memory is closed: %w", err)
	}
	closed := e.Closed.Learn(owner, err == nil, e.Time())
	if closed {
		e.Blocks.Forget(GivenTo(owner))
		e.Blocks.Passed.Forget(owner)
		e.Blocks.Ready.Forget(owner)
	}
	return closed, nil
}

// SeenClosed is IsClosed from the cache alone.
func (e *Core) SeenClosed(owner memory.Owner) bool {
	l, _ := e.Closed.is(owner, e.Time())
	return l.closed
}

// NameKey is the profile entry of a user's display name in a front end.
const NameKey = OwnKeys + "name"

// byFrontEnd is the author of display names.
var byFrontEnd = memory.Author{Kind: memory.ByRule, Name: "front end"}

// SetDisplayName stores a user's display name if it is new.
func (e *Core) SetDisplayName(ctx context.Context, owner memory.Owner, name string) error {
	if was, _ := e.names.Get(owner); name == "" || was == name {
		return nil
	}
	err := Replan(ctx, func() error {
		_, err := e.trySetProfile(ctx, owner, NewID(), NameKey, name, byFrontEnd)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the user's name: %w", err)
	}
	e.names.Set(owner, name)
	return nil
}

// User is a user as the server's operator sees them.
type User struct {
	Owner  memory.Owner
	Name   string // the display name; "": unknown
	Closed bool   // erased, and not opened since
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

// Users returns at most limit users of a namespace, ordered by name, after one; next is where the
// next page begins, "" after the last.
func (e *Core) Users(ctx context.Context, namespace, after string, limit int) (users []User, next string, err error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("list users: %w", err)
	}
	owners = slices.DeleteFunc(owners, func(o memory.Owner) bool {
		return o.Kind() != memory.UserKind || o.Namespace() != namespace || o.Name() <= after
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
