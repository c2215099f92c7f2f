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
	"github.com/loci-memory/loci/internal/ownerdata"
	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// MigrateProgress is the progress of [Migrate]: the number of copied users, and of all users to copy.
type MigrateProgress struct{ CopiedUsers, TotalUsers int }

// MigrateResult describes the data that [Migrate] copied and found equal in both databases.
type MigrateResult struct {
	Owners     int              `json:"owners"`
	Rows       int64            `json:"rows"`
	RowsBefore int64            `json:"rows_before"` // rows copied by an earlier, interrupted call
	Tables     map[string]int64 `json:"tables"`      // number of rows by table
}

// Migrate copies the memory of all users from one database into another. The target must be empty,
// or contain an interrupted copy of the same source. Addresses are sqlite:PATH, postgres://… and
// mongodb://…. No other program may write to either database.
//
// Migrate copies one user at a time, reads the copied data again and compares checksums. It skips users
// whose data is already in the target. If data changes during the copy, Migrate returns an error.
func Migrate(ctx context.Context, from, to string, report func(MigrateProgress)) (MigrateResult, error) {
	result, err := copyAll(ctx, from, to, report)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; run the same command again to continue", ctx.Err())
	}
	return result, err
}

const (
	sqlitePrefix   = "sqlite:" // prefix of the address of an SQLite file
	ownersPerQuery = 500       // maximum number of owners whose versions one query reads
)

// migrator is a store that can copy all data of an owner to and from another store.
type migrator interface {
	memory.Store
	Identity() string
	AllOwners(ctx context.Context) ([]memory.Owner, error)
	ReadOwner(ctx context.Context, owner memory.Owner) (*ownerdata.Data, error)
	WriteOwner(ctx context.Context, owner memory.Owner, data *ownerdata.Data) error
	SetCopySource(ctx context.Context, source string) error
	copyTarget
}

// SchemaVersions returns the version of a database's schema, and the newest version, which this program uses. Both
// are 0 for MongoDB, which has no schema. If upgrade is set, SchemaVersions first updates the schema.
func SchemaVersions(ctx context.Context, address string, upgrade bool) (current, newest int64, err error) {
	if upgrade {
		store, err := openMigrator(ctx, address, true)
		if err != nil {
			return 0, 0, err
		}
		if err := store.Close(); err != nil {
			return 0, 0, err
		}
	}
	if path, isFile := strings.CutPrefix(address, sqlitePrefix); isFile {
		if !exists(path) {
			return 0, 0, memory.Errorf(memory.NotFound, "there is no database at %s", path)
		}
		return sqlstore.SchemaOf(ctx, path)
	}
	if sqlstore.IsPostgres(address) {
		return sqlstore.SchemaOf(ctx, address)
	}
	return 0, 0, nil
}

// copyTarget is a store into which Migrate can copy. CopySource returns the source of an unfinished copy, or "".
type copyTarget interface {
	CopySource(ctx context.Context) (source string, err error)
}

// CheckComplete returns an error if the store contains an unfinished copy.
func CheckComplete(ctx context.Context, store memory.Store) error {
	target, ok := store.(copyTarget)
	if !ok {
		return nil
	}
	source, err := target.CopySource(ctx)
	if err == nil && source != "" {
		err = memory.Errorf(memory.Unavailable, "an interrupted loci migrate has left this database incomplete; run loci migrate with the same --from and --to to continue")
	}
	return err
}

// beginCopy records source in the target as the source of an unfinished copy. It refuses a target that
// contains memory or a copy of another source.
func beginCopy(ctx context.Context, target migrator, source string) error {
	earlier, err := target.CopySource(ctx)
	switch {
	case err != nil || earlier == source:
		return err
	case earlier != "":
		return memory.Errorf(memory.Conflict, "the target contains half of a copy of another database; use that database as the source, or an empty target")
	}
	if all, err := target.AllOwners(ctx); err != nil || len(all) > 0 {
		return cmp.Or(err, memory.Errorf(memory.Conflict, "the target contains memory already; use an empty database"))
	}
	return target.SetCopySource(ctx, source)
}

func openMigrator(ctx context.Context, address string, mustExist bool) (migrator, error) {
	switch path, isFile := strings.CutPrefix(address, sqlitePrefix); {
	case isFile && mustExist && !exists(path):
		return nil, memory.Errorf(memory.NotFound, "there is no database at %s", path)
	case config.StoreAddress(address).IsServer():
		return asMigrator(config.StoreAddress(address).Open(ctx, sqlstore.Options{}))
	case isFile && path != "":
		return asMigrator(sqlstore.OpenSQLite(ctx, path, sqlstore.Options{}))
	}
	return nil, memory.Errorf(memory.Invalid, "invalid address of a database; valid: sqlite:PATH, %s", config.ServerExamples)
}

// asMigrator converts a store to a migrator. All stores of [openMigrator] are migrators.
func asMigrator(s memory.Store, err error) (migrator, error) {
	if err != nil {
		return nil, err
	}
	return s.(migrator), nil
}

func copyAll(ctx context.Context, from, to string, report func(MigrateProgress)) (result MigrateResult, err error) {
	source, err := openMigrator(ctx, from, true)
	if err != nil {
		return result, fmt.Errorf("open the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openMigrator(ctx, to, false)
	if err != nil {
		return result, fmt.Errorf("open the target: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	identity := source.Identity()
	if path, isFile := strings.CutPrefix(from, sqlitePrefix); isFile {
		if identity, err = filepath.Abs(path); err != nil {
			return result, err
		}
	}
	if err := beginCopy(ctx, target, identity); err != nil {
		return result, err
	}
	owners, versions, err := ownerVersions(ctx, source)
	if err != nil {
		return result, err
	}
	result.Tables = map[string]int64{}
	for i, owner := range owners {
		if err := copyOwner(ctx, source, target, owner, &result); err != nil {
			return result, err
		}
		report(MigrateProgress{i + 1, len(owners)})
	}
	for _, side := range []migrator{source, target} {
		_, now, err := ownerVersions(ctx, side)
		if err != nil {
			return result, err
		}
		if !maps.Equal(versions, now) {
			return result, memory.Errorf(memory.Conflict, "a program wrote to one of the databases during the copy; stop all servers, and run the same command again to continue")
		}
	}
	return result, target.SetCopySource(ctx, "")
}

// ownerVersions returns all owners with data in a store, sorted, and the version of each owner.
func ownerVersions(ctx context.Context, store migrator) ([]memory.Owner, map[memory.Owner]int64, error) {
	owners, err := store.AllOwners(ctx)
	if err != nil {
		return nil, nil, err
	}
	versions := map[memory.Owner]int64{}
	for chunk := range slices.Chunk(owners, ownersPerQuery) {
		chunkVersions, err := store.Versions(ctx, chunk)
		if err != nil {
			return nil, nil, err
		}
		for i, version := range chunkVersions {
			versions[chunk[i]] = version
		}
	}
	return owners, versions, nil
}

func copyOwner(ctx context.Context, source, target migrator, owner memory.Owner, result *MigrateResult) error {
	data, err := source.ReadOwner(ctx, owner)
	if err != nil {
		return err
	}
	digest := data.Digest()
	copied, err := target.ReadOwner(ctx, owner)
	if err != nil {
		return err
	}
	alreadyCopied := copied.Digest() == digest
	if !alreadyCopied {
		if err := target.WriteOwner(ctx, owner, data); err != nil {
			return err
		}
		if copied, err = target.ReadOwner(ctx, owner); err != nil {
			return err
		}
		if copied.Digest() != digest {
			return fmt.Errorf("the data of %s in the target differs from the source after the copy", owner)
		}
	}
	result.Owners++
	for name, n := range data.EntryCounts() {
		result.Tables[name] += int64(n)
		result.Rows += int64(n)
		if alreadyCopied {
			result.RowsBefore += int64(n)
		}
	}
	return nil
}
