package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// SchemaOf returns the schema version of a database, at a path or a PostgreSQL address, and the
// version to which a start of this program would update it. It changes nothing.
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
	defer conn.Close() //nolint:errcheck // the connection only read
	is, err = schemaVersion(ctx, conn)
	return is, newest, explainServer(err)
}
