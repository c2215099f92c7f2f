package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/loci-memory/loci/memory"
)

// NameKey is the profile entry of what a front end calls a user, for people to read.
const NameKey = OwnKeys + "name"

// displayNames are the names that this process has written or found written, so that a chat
// rarely asks for them. The zero displayNames knows nothing.
type displayNames struct {
	mu    sync.Mutex // guards known
	known map[memory.Owner]string
}

// mostNamed bounds the names that are remembered; others are looked up again.
const mostNamed = 10_000

func (d *displayNames) is(owner memory.Owner, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[owner] == name
}

func (d *displayNames) set(owner memory.Owner, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= mostNamed {
		d.known = map[memory.Owner]string{}
	}
	d.known[owner] = name
}

// byFrontEnd is who says what a user is called.
var byFrontEnd = memory.Author{Kind: memory.ByRule, Name: "front end"}

// SetDisplayName keeps what a user is called, if that is anything new.
func (e *Core) SetDisplayName(ctx context.Context, owner memory.Owner, name string) error {
	if name == "" || e.names.is(owner, name) {
		return nil
	}
	err := Replan(ctx, func() error {
		_, err := e.trySetProfile(ctx, owner, NameKey, name, byFrontEnd)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the user's name: %w", err)
	}
	e.names.set(owner, name)
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
	entries, err := e.Profile(ctx, owner)
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
