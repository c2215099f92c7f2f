package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// SchemaOf returns the schema version of a database, which is a path or a PostgreSQL address, and the
// newest version that this program supports. It changes nothing.
func SchemaOf(ctx context.Context, database string) (currentVersion, newestVersion int64, err error) {
	newestVersion = SQLiteSchema
	db, err := sql.Open("sqlite", dsn(database, "mode=ro"))
	if IsPostgres(database) {
		config, _, wrong := parseAddress(database)
		if wrong != nil {
			return 0, 0, wrong
		}
		db, newestVersion, err = stdlib.OpenDB(*config), postgresSchema, nil
	}
	if err != nil {
		return 0, newestVersion, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, newestVersion, explainServer(err)
	}
	defer conn.Close() //nolint:errcheck // a read-only connection
	currentVersion, err = schemaVersion(ctx, conn)
	return currentVersion, newestVersion, explainServer(err)
}
