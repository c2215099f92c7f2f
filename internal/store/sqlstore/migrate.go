package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci/memory"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each step in a transaction of its own. It
// refuses a schema that a newer binary made.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, folder string) error {
	steps, err := fs.Sub(migrations, "migrations/"+folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, steps, goose.WithDisableGlobalRegistry(true))
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
