package retrieve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Part runs one part of recall; a panic in it is an error.
func (r *Recalling) Part(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.E.Log.Error("panic in recall", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return do()
}

// within gives a part of recall its share of the time that is left, if there is an
// end to it.
func within(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(share*float64(time.Until(end))))
}

// failed reports whether an error means that search failed, rather than that
// nobody waits for the answer or that the question cannot be.
func failed(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, memory.Invalid)
}
