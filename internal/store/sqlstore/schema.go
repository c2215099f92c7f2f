package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// SchemaOf returns the current schema version of a database, given by a path or a PostgreSQL address,
// and the newest version that this program supports. It changes nothing.
func SchemaOf(ctx context.Context, at string) (is, newest int64, err error) {
	newest = SQLiteSchema
	db, err := sql.Open("sqlite", dsn(at, "mode=ro"))
	if IsPostgres(at) {
		config, _, wrong := parseAddress(at)
		if wrong != nil {
			return 0, 0, wrong
		}
		db, newest, err = stdlib.OpenDB(*config), postgresSchema, nil
	}
	if err != nil {
		return 0, newest, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, newest, explainServer(err)
	}
	defer conn.Close() //nolint:errcheck // a read-only connection
	is, err = schemaVersion(ctx, conn)
	return is, newest, explainServer(err)
}
