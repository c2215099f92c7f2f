package sqlstore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// What is read for a write outlasts what the write does; any other read does not.
func TestReadsForAWriteAreTriedAsLong(t *testing.T) {
	for _, forWrite := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, begun := t.Context(), time.Now()
			if forWrite {
				ctx = memory.ForWrite(ctx)
			}
			err := (&reader{translator: &translator{}}).retryRead(ctx, func() (bool, error) {
				if time.Since(begun) < 3*retry.ReadPatience {
					return true, driver.ErrBadConn
				}
				return true, nil
			})
			if (err == nil) != forWrite || err != nil && !errors.Is(err, memory.Unavailable) {
				t.Errorf("for a write %v: got %v", forWrite, err)
			}
		})
	}
}

// What a server's errors quote of where it is is logged, and told to nobody else.
func TestUsersAreNotToldWhereTheServerIs(t *testing.T) {
	config := try(pgconn.ParseConfig("postgres://role@127.0.0.1:1/inner?sslmode=disable&connect_timeout=1")).orFail(t)
	_, refused := pgconn.ConnectConfig(t.Context(), config)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, stopped := pgconn.ConnectConfig(late, config)
	for name, cause := range map[string]error{
		"refused":  refused,
		"stopped":  stopped,
		"password": &pgconn.PgError{Code: "28P01", Message: `password authentication failed for user "role" of inner at 127.0.0.1`},
	} {
		var logged bytes.Buffer
		got := hideDetails(slog.New(slog.NewTextHandler(&logged, nil)), explainServer(cause))
		if !errors.Is(got, memory.Unavailable) || !errors.Is(got, cause) {
			t.Errorf("%s: got %v, want it to be %s because of %v", name, got, memory.Unavailable, cause)
		}
		for _, inner := range []string{"role", "inner", "127.0.0.1"} {
			if strings.Contains(got.Error(), inner) {
				t.Errorf("%s: %q is told in %q", name, inner, got)
			}
			if !strings.Contains(logged.String(), inner) {
				t.Errorf("%s: %q is not in the log: %s", name, inner, &logged)
			}
		}
	}
}
