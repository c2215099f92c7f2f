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

// ClosedKey is the profile entry of an owner that was erased: until it is opened again
// nothing is written, whoever is still at it. Its value is when that was.
const ClosedKey = OwnKeys + "closed"

// ClosedOwners is which owners are closed, as far as this process has looked lately. The
// zero ClosedOwners knows nothing.
type ClosedOwners struct {
	known recent.Map[memory.Owner, look]
}

// look is what was seen of an owner.
type look struct {
	closed bool
	at     time.Time
	set    bool // this process made it so; else it was read
}

// looksHold is how long what was seen is believed: another server may close an
// owner, or open one. What this one writes meanwhile for an owner who is closed the
// first of erase.EraseAgain removes, so it has to be well shorter than that.
const looksHold = 10 * time.Second

// holds reports whether it is still believed.
func (l look) holds(now time.Time) bool { return now.Sub(l.at).Abs() < looksHold }

// is returns what is still believed of an owner.
func (c *ClosedOwners) is(owner memory.Owner, now time.Time) (l look, known bool) {
	l, known = c.known.Get(owner)
	if !known || !l.holds(now) {
		return look{}, false
	}
	return l, true
}

// Set keeps what this process makes of an owner.
func (c *ClosedOwners) Set(owner memory.Owner, closed bool, now time.Time) {
	c.known.Set(owner, look{closed, now, true})
}

// Follow keeps what changes that this process wrote make of an owner, whoever decided
// them: nothing of before is believed any longer.
func (c *ClosedOwners) Follow(owner memory.Owner, changes []memory.Change, now time.Time) {
	for _, change := range changes {
		if p := change.After.Profile; p != nil && p.Key == ClosedKey {
			c.Set(owner, p.Status == memory.Active, now)
		}
	}
}

// Learn keeps what was read, unless this process set something else meanwhile, and returns
// what is so.
func (c *ClosedOwners) Learn(owner memory.Owner, closed bool, now time.Time) bool {
	c.known.Update(owner, func(l look, known bool) (look, bool) {
		if known && l.set && l.holds(now) {
			closed = l.closed
			return l, false
		}
		return look{closed: closed, at: now}, true
	})
	return closed
}

// MayWrite returns [memory.Gone] for an owner that is closed.
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

// IsClosed reports whether an owner was erased and not opened since. What another
// server closes is seen here after [looksHold] at the latest, and what it opens at once.
func (e *Core) IsClosed(ctx context.Context, owner memory.Owner) (bool, error) {
	if l, known := e.Closed.is(owner, e.Time()); known && (!l.closed || l.set) {
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

// SeenClosed is isClosed for those who do not wait: as far as that was seen lately.
func (e *Core) SeenClosed(owner memory.Owner) bool {
	l, _ := e.Closed.is(owner, e.Time())
	return l.closed
}

// NameKey is the profile entry of what a front end calls a user, for people to read.
const NameKey = OwnKeys + "name"

// byFrontEnd is who says what a user is called.
var byFrontEnd = memory.Author{Kind: memory.ByRule, Name: "front end"}

// SetDisplayName keeps what a user is called, if that is anything new.
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

// User is a user as whoever runs the server sees them.
type User struct {
	Owner  memory.Owner
	Name   string // what a front end calls them, "" where none does
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

// Users returns the users of a namespace by name, at most limit of those after one, and where
// the next page begins, "" after the last.
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
