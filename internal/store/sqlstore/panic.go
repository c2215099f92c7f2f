package sqlstore

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicError is the error of a write function that panicked. Other calls in its transaction are still
// committed, and repanic raises the panic in the caller's goroutine.
type panicError struct{ value any } // value of the panic

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// runRecovered runs do and returns a panic as a panicError. Only the log contains the stack.
func runRecovered(log *slog.Logger, do func(*tx) error, t *tx) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if log != nil {
			log.Error("panic in a write", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
		err = &panicError{v}
	}()
	return do(t)
}

// repanic raises the panic of a panicError in the caller's goroutine.
func repanic(err error) {
	var p *panicError
	if errors.As(err, &p) {
		panic(p.value)
	}
}
