package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/shelf"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// MigrateProgress is the progress of [Migrate]: the numbers of copied users and of all users.
type Moving struct{ Users, Of int }

// MigrateResult describes the data that [Migrate] copied and found equal in both databases.
type Moved struct {
	Owners int              `json:"owners"`
	Rows   int64            `json:"rows"`
	Before int64            `json:"rows_before"` // rows copied by an earlier, interrupted call
	Tables map[string]int64 `json:"tables"`      // number of rows by table
}

// Migrate copies the memory of all users from one database into another. The target must be empty,
// or contain an interrupted copy of the same source. Addresses are sqlite:PATH, postgres://… and
// mongodb://…. No other program may write to either database.
//
// It copies one user at a time, reads the copied data again and compares checksums. Data of a user that
// an interrupted call already copied is skipped. If data changes during the copy, Migrate returns an error.
func Migrate(ctx context.Context, from, to string, report func(Moving)) (Moved, error) {
	moved, err := migrate(ctx, from, to, report)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; run the same command again to continue", ctx.Err())
	}
	return moved, err
}

const (
	sqlitePrefix = "sqlite:" // prefix of the address of an SQLite file
	ownersAtOnce = 500       // number of owners per query for versions
)

// migrator is a store that can copy all data of an owner to and from another store.
type carrier interface {
	memory.Store
	Identity() string
	Everyone(ctx context.Context) ([]memory.Owner, error)
	Carry(ctx context.Context, owner memory.Owner) (*shelf.Shelf, error)
	Put(ctx context.Context, owner memory.Owner, from *shelf.Shelf) error
	SetCopying(ctx context.Context, source string) error
	copyable
}

// Schema returns the version of a database's schema and the version that this program uses. Both are 0
// for a database without a schema. If upgrade is set, Schema first updates the schema.
func Schema(ctx context.Context, address string, upgrade bool) (is, newest int64, err error) {
	if upgrade {
		store, err := openCarrier(ctx, address, true)
		if err != nil {
			return 0, 0, err
		}
		if err := store.Close(); err != nil {
			return 0, 0, err
		}
	}
	if path, isFile := strings.CutPrefix(address, sqlitePrefix); isFile {
		if !there(path) {
			return 0, 0, memory.Errorf(memory.NotFound, "there is no database at %s", path)
		}
		return sqlstore.SchemaOf(ctx, path)
	}
	if sqlstore.IsPostgres(address) {
		return sqlstore.SchemaOf(ctx, address)
	}
	return 0, 0, nil
}

// copyTarget is a store that records the source of an unfinished copy into the store, or "".
type copyable interface {
	Copying(ctx context.Context) (source string, err error)
}

// CheckComplete returns an error if the store contains an unfinished copy.
func Whole(ctx context.Context, store memory.Store) error {
	in, can := store.(copyable)
	if !can {
		return nil
	}
	source, err := in.Copying(ctx)
	if err == nil && source != "" {
		err = memory.Errorf(memory.Unavailable, "an interrupted loci migrate has left this database incomplete; run loci migrate with the same --from and --to to continue")
	}
	return err
}

// beginCopy records source in the target as the source of an unfinished copy. It refuses a target with
// other content.
func beginCopy(ctx context.Context, target carrier, source string) error {
	was, err := target.Copying(ctx)
	switch {
	case err != nil || was == source:
		return err
	case was != "":
		return memory.Errorf(memory.Conflict, "the target contains half of a copy of another database; use that database as the source, or an empty target")
	}
	if all, err := target.Everyone(ctx); err != nil || len(all) > 0 {
		return cmp.Or(err, memory.Errorf(memory.Conflict, "the target contains memory already; use an empty database"))
	}
	return target.SetCopying(ctx, source)
}

func openCarrier(ctx context.Context, address string, source bool) (carrier, error) {
	switch path, isFile := strings.CutPrefix(address, sqlitePrefix); {
	case isFile && source && !there(path):
		return nil, memory.Errorf(memory.NotFound, "there is no database at %s", path)
	case config.StoreAddress(address).Server():
		return as(config.StoreAddress(address).Open(ctx, sqlstore.Options{}))
	case isFile && path != "":
		return as(sqlstore.OpenSQLite(ctx, path, sqlstore.Options{}))
	}
	return nil, memory.Errorf(memory.Invalid, "invalid address of a database; valid: sqlite:PATH, %s", config.ServerExamples)
}

// asMigrator converts a store to a migrator. All stores of [openMigrator] are migrators.
func as(s memory.Store, err error) (carrier, error) {
	if err != nil {
		return nil, err
	}
	return s.(carrier), nil
}

func migrate(ctx context.Context, from, to string, report func(Moving)) (moved Moved, err error) {
	source, err := openCarrier(ctx, from, true)
	if err != nil {
		return moved, fmt.Errorf("open the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openCarrier(ctx, to, false)
	if err != nil {
		return moved, fmt.Errorf("open the target: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	identity := source.Identity()
	if path, isFile := strings.CutPrefix(from, sqlitePrefix); isFile {
		if identity, err = filepath.Abs(path); err != nil {
			return moved, err
		}
	}
	if err := beginCopy(ctx, target, identity); err != nil {
		return moved, err
	}
	owners, versions, err := everyone(ctx, source)
	if err != nil {
		return moved, err
	}
	moved.Tables = map[string]int64{}
	for i, owner := range owners {
		if err := carryOwner(ctx, source, target, owner, &moved); err != nil {
			return moved, err
		}
		report(Moving{i + 1, len(owners)})
	}
	for _, side := range []carrier{source, target} {
		_, now, err := everyone(ctx, side)
		if err != nil {
			return moved, err
		}
		if !maps.Equal(versions, now) {
			return moved, memory.Errorf(memory.Conflict, "a program wrote to one of the databases during the copy; stop all servers, and run the same command again to continue")
		}
	}
	return moved, target.SetCopying(ctx, "")
}

// ownerVersions returns all owners with data, in order, and their versions.
func everyone(ctx context.Context, in carrier) ([]memory.Owner, map[memory.Owner]int64, error) {
	owners, err := in.Everyone(ctx)
	if err != nil {
		return nil, nil, err
	}
	versions := map[memory.Owner]int64{}
	for some := range slices.Chunk(owners, ownersAtOnce) {
		are, err := in.Versions(ctx, some)
		if err != nil {
			return nil, nil, err
		}
		for i, version := range are {
			versions[some[i]] = version
		}
	}
	return owners, versions, nil
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
			return fmt.Errorf("the data of %s in the target differs from the source after the copy", owner)
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
