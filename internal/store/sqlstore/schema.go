package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// SchemaOf returns a database's schema version, at a path or an address of PostgreSQL, and the
// version that a start of this program brings it to. It changes nothing.
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
	defer conn.Close() //nolint:errcheck // it was only read
	is, err = schemaVersion(ctx, conn)
	return is, newest, explainServer(err)
}
