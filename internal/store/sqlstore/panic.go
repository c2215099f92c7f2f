package sqlstore

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicked is the error of a call that panicked. It undoes what the call did, as any error
// does, and nobody who shares its transaction has to do with it. Its caller gets the panic
// again, where it would have been without the others.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// safely runs do, which fails if it panics. Where that was only the log says: the caller's
// stack does not.
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

// repanic is for the caller of what may have panicked.
func repanic(err error) {
	var p *panicked
	if errors.As(err, &p) {
		panic(p.value)
	}
}
