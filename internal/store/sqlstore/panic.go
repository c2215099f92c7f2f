package sqlstore

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicked is the error of a call that panicked. Only that call is undone, not others in its
// transaction, and the panic is raised again in its caller.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// safely runs do and returns a panic as an error. The stack goes to the log only.
func safely(log *slog.Logger, do func(*tx) error, t *tx) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if log != nil {
			log.Error("panic in a write", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
		err = &panicked{v}
	}()
	return do(t)
}

// repanic panics again in the caller's goroutine.
func repanic(err error) {
	var p *panicked
	if errors.As(err, &p) {
		panic(p.value)
	}
}
