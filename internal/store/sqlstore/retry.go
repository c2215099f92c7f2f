package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// rollbackTimeout limits the wait for a rollback, since the connection may be dead.
const rollbackTimeout = 5 * time.Second

// withRetries repeats do after transient errors, while do returns mayRepeat: see [retry.Do].
func withRetries(ctx context.Context, patience time.Duration, do func() (mayRepeat bool, err error)) error {
	return explainServer(retry.Do(ctx, patience, func() (bool, error) {
		mayRepeat, err := do()
		return mayRepeat && isTransient(err), err
	}))
}

// isTransient reports whether, after err, a retry may succeed and cannot write the data twice.
func isTransient(err error) bool {
	var nothing *notWrittenError
	if errors.As(err, &nothing) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return isConnectionError(err)
	}
	switch e.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "25006": // the server is read-only: it has become a standby
		return true
	case "53300": // too many connections
		return true
	}
	return isDisconnect(e)
}

// isDisconnect reports whether the server ended the connection: by a stop, a restart or a crash, by an
// idle timeout, or on an operator's command.
func isDisconnect(e *pgconn.PgError) bool {
	return slices.Contains([]string{"57P01", "57P02", "57P03", "57P05", "25P03"}, e.Code) || strings.HasPrefix(e.Code, "08")
}

// isRefusal reports whether the server answered with an error, so that nothing was written.
func isRefusal(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && !isDisconnect(e)
}

// isConnectionError reports whether a connection was lost or could not be opened.
func isConnectionError(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return isDisconnect(e)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// hideDetails logs an error from explainServer, and returns the error without the server's details, which
// users must not see. It returns other errors unchanged.
func hideDetails(log *slog.Logger, err error) error {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		err = memory.Errorf(memory.Unavailable, "the database server does not answer in time: %w", err)
	}
	var server *memory.Error
	if !errors.As(err, &server) || server.Code != memory.Unavailable || errors.Unwrap(server.Err) == nil {
		return err
	}
	var nothing *retry.RedactedError
	if errors.As(err, &nothing) {
		return err
	}
	message, _, _ := strings.Cut(server.Error(), ": ")
	var e *pgconn.PgError
	if errors.As(err, &e) {
		message += " (SQLSTATE " + e.Code + ")"
	}
	if log != nil {
		log.Warn("the database failed", "err", err)
	}
	return &memory.Error{Code: memory.Unavailable, Err: &retry.RedactedError{Message: message, Cause: err}}
}

// explainServer returns an error for err that describes the failure of the server or the connection.
func explainServer(err error) error {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case !errors.As(err, &e):
		if isConnectionError(err) {
			return memory.Errorf(memory.Unavailable, "the database server does not answer: %w", err)
		}
		return err
	}
	switch {
	case e.Code == "54000": // program limit exceeded: a key is too long for an index
		return memory.Errorf(memory.TooLarge, "an indexed text is too long for the database: %w", err)
	case e.Code == "22021": // character not in repertoire
		return memory.Errorf(memory.Invalid, "a text is not UTF-8: %w", err)
	case e.Code == "57014": // query canceled
		return memory.Errorf(memory.Unavailable, "the database took longer than its statement_timeout: %w", err)
	case e.Code == "55P03":
		return memory.Errorf(memory.Unavailable, "other transactions blocked this one for too long: %w", err)
	case isTransient(err), strings.HasPrefix(e.Code, "3D"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "28"), strings.HasPrefix(e.Code, "58"):
		return memory.Errorf(memory.Unavailable, "the database server cannot do this now: %w", err)
	}
	return err
}
