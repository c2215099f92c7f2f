package mongostore

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/loci-memory/loci/internal/retry"
	"github.com/loci-memory/loci/memory"
)

// retryUnavailable repeats do while the server is unavailable. do must be idempotent: see [retry.Do].
func retryUnavailable(ctx context.Context, timeout time.Duration, do func() error) error {
	return retry.Do(ctx, timeout, func() (bool, error) {
		err := do()
		return ctx.Err() == nil && isUnavailable(err), err
	})
}

// Error codes of the server.
const (
	notAuthorized        = 13
	authenticationFailed = 18
	objectTooLarge       = 10334
)

// transientCodes lists the error codes of a server that stops, starts, or steps down.
var transientCodes = []int{6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}

// isUnavailable reports whether the server cannot be reached or is stopping, so that a retry may succeed.
func isUnavailable(err error) bool {
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) {
		return true
	}
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) {
		return true
	}
	var server mongo.ServerError
	if errors.As(err, &server) {
		for _, code := range transientCodes {
			if server.HasErrorCode(code) {
				return true
			}
		}
	}
	return false
}

// translate logs a failure of the server, and returns the [publicError] of err for the store's callers.
func (s *Store) translate(err error) error {
	translated := publicError(err)
	if translated != nil && s.options.Log != nil && errors.Is(translated, memory.Unavailable) && !errors.Is(err, memory.Unavailable) {
		s.options.Log.Warn("the database failed", "err", err)
	}
	return translated
}

// publicError turns a failure of the server or the connection into an error without the server's message,
// which may contain the server's address.
func publicError(err error) error {
	var known *memory.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded) && !isUnavailable(err):
		return err
	case errors.Is(err, driver.ErrDocumentTooLarge):
		return errTooLarge
	}
	var server mongo.ServerError
	if errors.As(err, &server) {
		switch {
		case server.HasErrorCode(notAuthorized):
			return unavailableError("the database user lacks permission: it needs the role readWrite", err)
		case server.HasErrorCode(authenticationFailed):
			return unavailableError("the database server rejected the user or the password", err)
		case server.HasErrorCode(objectTooLarge):
			return errTooLarge
		}
	}
	if isUnavailable(err) {
		return unavailableError("the database server does not answer, or does not accept writes now", err)
	}
	return err
}

var errTooLarge = memory.Errorf(memory.TooLarge, "a text is too long for the database, which limits documents to 16 MB")

func unavailableError(message string, cause error) error {
	return &memory.Error{Code: memory.Unavailable, Err: &retry.RedactedError{Message: message, Cause: cause}}
}
