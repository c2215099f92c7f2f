package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// Moving says how far a [Migrate] is.
type Moving = sqlstore.Copying

// Moved says what a [Migrate] brought.
type Moved = sqlstore.Copied

// Migrate copies the memory of all users from one database into another, which must be
// empty or hold what an earlier Migrate of the same source brought before it broke off.
// Addresses are sqlite:PATH, postgres://… and mongodb://…. Nobody else may have either open for
// writing. It returns when both were read again and hold the same.
func Migrate(ctx context.Context, from, to string, report func(Moving)) (Moved, error) {
	if !mongostore.IsAddress(from) && !mongostore.IsAddress(to) {
		return sqlstore.Copy(ctx, from, to, report)
	}
	moved, err := carry(ctx, from, to, report)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; the same again goes on where this was", ctx.Err())
	}
	return moved, err
}

// carrier is a store whose owners can be taken to another kind of store, whole.
type carrier interface {
	memory.Store
	memory.Keys
	Identity() string
	Everyone(ctx context.Context) ([]memory.Owner, error)
	Carry(ctx context.Context, owner memory.Owner) (*shelf.Shelf, error)
	Put(ctx context.Context, owner memory.Owner, from *shelf.Shelf) error
	BeginCarry(ctx context.Context, source string) error
	EndCarry(ctx context.Context) error
}

func openCarrier(ctx context.Context, address string, source bool) (carrier, error) {
	switch path, isFile := strings.CutPrefix(address, "sqlite:"); {
	case isFile && source && !exists(path):
		return nil, memory.Errorf(memory.NotFound, "there is no database at %s", path)
	case mongostore.IsAddress(address):
		return as(mongostore.Open(ctx, address, mongostore.Options{}))
	case sqlstore.IsPostgres(address):
		return as(sqlstore.OpenPostgres(ctx, address, sqlstore.Options{}))
	case isFile && path != "":
		return as(sqlstore.OpenSQLite(ctx, path, sqlstore.Options{}))
	}
	return nil, memory.Errorf(memory.Invalid, "it is not an address of a database; valid: sqlite:PATH, postgres://user:password@host:5432/database, %s", mongostore.Example)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// as leaves no store that is nil in an interface that is not.
func as[S carrier](s S, err error) (carrier, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// carry copies owner by owner: what was copied by an earlier try, and is the same, stays.
func carry(ctx context.Context, from, to string, report func(Moving)) (moved Moved, err error) {
	source, err := openCarrier(ctx, from, true)
	if err != nil {
		return moved, fmt.Errorf("open what is copied: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openCarrier(ctx, to, false)
	if err != nil {
		return moved, fmt.Errorf("open where it goes: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	identity := source.Identity() + strings.TrimPrefix(from, "sqlite:")
	if mongostore.IsAddress(from) || sqlstore.IsPostgres(from) { // whose addresses hold passwords
		identity = source.Identity()
	}
	if err := target.BeginCarry(ctx, identity); err != nil {
		return moved, err
	}
	owners, err := source.Everyone(ctx)
	if err != nil {
		return moved, err
	}
	moved.Tables = map[string]int64{}
	for i, owner := range owners {
		if err := carryOwner(ctx, source, target, owner, &moved); err != nil {
			return moved, err
		}
		report(Moving{Rows: int64(i + 1), Of: int64(len(owners))})
	}
	there, err := target.Everyone(ctx)
	if err != nil {
		return moved, err
	}
	if len(there) != len(owners) {
		return moved, memory.Errorf(memory.Conflict, "the target has %d users and the source %d: somebody wrote to it meanwhile; empty it and copy anew", len(there), len(owners))
	}
	return moved, target.EndCarry(ctx)
}

func carryOwner(ctx context.Context, source, target carrier, owner memory.Owner, moved *Moved) error {
	have, err := source.Carry(ctx, owner)
	if err != nil {
		return err
	}
	want := have.Digest()
	came, err := target.Carry(ctx, owner)
	if err != nil {
		return err
	}
	before := came.Digest() == want
	if !before {
		if err := target.Put(ctx, owner, have); err != nil {
			return err
		}
		if came, err = target.Carry(ctx, owner); err != nil {
			return err
		}
		if came.Digest() != want {
			return fmt.Errorf("what the target has of %s is not what the source has, after it was copied", owner)
		}
	}
	if owner.Kind() == memory.GlobalKind {
		if err := carryKeys(ctx, source, target, owner.Namespace()); err != nil {
			return err
		}
	}
	moved.Owners++
	for name, n := range have.Sizes() {
		moved.Tables[name] += int64(n)
		moved.Rows += int64(n)
		if before {
			moved.Before += int64(n)
		}
	}
	return nil
}

func carryKeys(ctx context.Context, source, target carrier, namespace string) error {
	keys, err := source.Keys(ctx, namespace)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := target.AddKey(ctx, namespace, k); err != nil && !errors.Is(err, memory.Conflict) {
			return err
		}
	}
	return nil
}
