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

// noLog discards.
var noLog = slog.New(slog.DiscardHandler)

//go:embed migrations/*/*.sql
var migrations embed.FS

// SQLiteSchema is the version of a file's schema, postgresSchema of a server's. In the folder of
// each, schema.sql makes it, and N.sql brings an earlier one to version N.
const (
	SQLiteSchema   = 15
	postgresSchema = 13
)

// migrate brings the schema up to date in one transaction. It refuses a schema of a newer release.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, folder string, newest int64, log *slog.Logger) error {
	step := goose.NewGoMigration(newest, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		var earlier int64
		if err := tx.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version`).Scan(&earlier); err != nil {
			return err
		}
		names := []string{"schema.sql"}
		if earlier > 0 {
			names = nil
			for version := earlier + 1; version <= newest; version++ {
				names = append(names, strconv.FormatInt(version, 10)+".sql")
			}
		}
		for _, name := range names {
			text, err := migrations.ReadFile("migrations/" + folder + "/" + name)
			if errors.Is(err, fs.ErrNotExist) { // several versions were one step
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
	if current > newest {
		return memory.Errorf(memory.Unavailable, "its schema is of version %d, this program knows up to %d: use a newer loci", current, newest)
	}
	log = cmp.Or(log, noLog)
	upgrade := current > 0 && current < newest
	if begun := time.Now(); upgrade {
		log.Info("the database's schema is brought up to date", "from", current, "to", newest)
		defer func() { log.Info("the schema's change has ended", "took", time.Since(begun)) }()
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema from version %d to %d: %w", current, newest, err)
	}
	return nil
}
