package memory

import "fmt"

// Code is a kind of error for errors.Is. Package httpx maps codes to HTTP statuses and back.
type Code string

// The kinds of error that a caller can handle.
const (
	Invalid      Code = "invalid"      // the caller's input is wrong; the message says what is valid
	NotFound     Code = "not_found"    // the owner has no memory, job or other object with this id
	Conflict     Code = "conflict"     // another writer changed the data first; read the data again and retry
	Duplicate    Code = "duplicate"    // the scope already has an active or pending fact with the same text
	Gone         Code = "gone"         // the history since the requested version no longer exists; read from version 0
	LeaseLost    Code = "lease_lost"   // another worker now has the job; nothing was written
	Unauthorized Code = "unauthorized" // no valid key
	Forbidden    Code = "forbidden"    // the key is valid, but does not permit the request
	TooLarge     Code = "too_large"    // a documented limit is exceeded
	Unavailable  Code = "unavailable"  // a component is down or too slow; a retry may work
)

// Error returns the code as text; with it, a Code can be the target of errors.Is.
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

// Errorf returns an [Error] with a code. format and args are those of fmt.Errorf.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}
