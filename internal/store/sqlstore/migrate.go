package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci/memory"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each step in a transaction of its own. It
// refuses a schema that a newer binary made.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, folder string) error {
	p, err := migrator(db, dialect, folder)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	current, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > newest {
		return memory.Errorf(memory.Unavailable, "its schema is of version %d, this program knows up to %d: use a newer loci", current, newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema from version %d to %d: %w", current, newest, err)
	}
	return nil
}

// migrator knows the steps of a folder. Each runs its file whole: what goose has to tell the
// statements of a file apart takes 4 MiB for each line of it, which a new database need not
// wait for.
func migrator(db *sql.DB, dialect goose.Dialect, folder string) (*goose.Provider, error) {
	files, err := migrations.ReadDir("migrations/" + folder)
	if err != nil {
		return nil, err
	}
	steps := make([]*goose.Migration, len(files))
	for i, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile("migrations/" + folder + "/" + file.Name())
		if err != nil {
			return nil, err
		}
		steps[i] = goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, string(text))
			return wrap(file.Name(), err)
		}}, nil)
	}
	return goose.NewProvider(dialect, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(steps...))
}
