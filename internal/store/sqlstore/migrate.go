package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci/memory"
)

// discardLog is a log without output.
var discardLog = slog.New(slog.DiscardHandler)

//go:embed migrations/*/*.sql
var migrations embed.FS

// SQLiteSchema and postgresSchema are the current schema versions. In each dialect's folder, schema.sql
// creates this version, and N.sql updates a database from version N-1 to N.
const (
	SQLiteSchema   = 15
	postgresSchema = 13
)

// migrate updates the schema to newestVersion in one transaction. It refuses a newer schema.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, migrationsFolder string, newestVersion int64, log *slog.Logger) error {
	step := goose.NewGoMigration(newestVersion, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		var earlier int64
		if err := tx.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&earlier); err != nil {
			return err
		}
		names := []string{"schema.sql"}
		if earlier > 0 {
			names = nil
			for version := earlier + 1; version <= newestVersion; version++ {
				names = append(names, strconv.FormatInt(version, 10)+".sql")
			}
		}
		for _, name := range names {
			text, err := migrations.ReadFile("migrations/" + migrationsFolder + "/" + name)
			if errors.Is(err, fs.ErrNotExist) { // some versions have no migration file
				continue
			}
			if err == nil {
				_, err = tx.ExecContext(ctx, string(text))
			}
			if err != nil {
				return wrap(name, err)
			}
		}
		return nil
	}}, nil)
	p, err := goose.NewProvider(dialect, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(step))
	if err != nil {
		return err
	}
	current, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > newestVersion {
		return memory.Errorf(memory.Unavailable, "its schema has version %d, but this program supports versions up to %d: use a newer loci", current, newestVersion)
	}
	log = cmp.Or(log, discardLog)
	upgrade := current > 0 && current < newestVersion
	if begun := time.Now(); upgrade {
		log.Info("updating the database schema", "from", current, "to", newestVersion)
		defer func() { log.Info("updated the database schema", "took", time.Since(begun)) }()
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("update the schema from version %d to %d: %w", current, newestVersion, err)
	}
	return nil
}
