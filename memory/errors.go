package memory

import "fmt"

// Code is a kind of error for errors.Is. There are few codes; package httpx maps them to HTTP and
// back.
type Code string

// The kinds of error that a caller can act on.
const (
	Invalid      Code = "invalid"      // the caller's input is wrong; the message says what is valid
	NotFound     Code = "not_found"    // the owner has no such thing
	Conflict     Code = "conflict"     // somebody else changed the data first; read it again and retry
	Duplicate    Code = "duplicate"    // the same live fact exists in this scope already
	Gone         Code = "gone"         // the requested history is not kept; start from the present
	LeaseLost    Code = "lease_lost"   // another worker has the job now; nothing was written
	Unauthorized Code = "unauthorized" // no valid key
	Forbidden    Code = "forbidden"    // the key is valid, but does not permit this
	TooLarge     Code = "too_large"    // over a documented limit
	Unavailable  Code = "unavailable"  // a component is down or too slow; a retry may work
)

// Error returns the code, so that a Code is an error and a target for errors.Is.
func (c Code) Error() string { return string(c) }

// Error is a message for people with a [Code] for programs.
type Error struct {
	Code Code
	Err  error // the cause; never nil
}

// Error returns the message of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool { return e.Code == target }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an [Error] with a code; its other arguments are those of fmt.Errorf.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}
