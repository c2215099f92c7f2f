package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// MaxConflicts is how often a change is planned again when somebody else changed
// the same thing in between.
const MaxConflicts = 10

// MaxReplans is maxConflicts of what no model is asked for. Where another server writes for
// the owner all the time, it is in between more often than not, and ten times in a row happens.
const MaxReplans = 100

// replanPause is the longest that replan waits before it tries once more what was in vain
// [maxConflicts] times: those who are in between have the store to themselves meanwhile, and
// all the waits together are less than half a second.
const replanPause = 5 * time.Millisecond

// Replan does what ends in a Conflict when somebody else wrote meanwhile, again until it
// does not, [maxReplans] times at most and as long as somebody waits for it. Conflicts that
// stay are not tried again.
func Replan(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		stays := errors.Is(err, ErrOtherRequest) || errors.Is(err, ErrMeanwhile)
		if !errors.Is(err, memory.Conflict) || stays || try == MaxReplans {
			return err
		}
		if try < MaxConflicts {
			continue
		}
		select {
		case <-time.After(rand.N(replanPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// CheckText returns the text trimmed, or Invalid or TooLarge naming the field.
func (e *Core) CheckText(field, s string) (string, error) {
	trimmed := strings.TrimSpace(s)
	switch {
	case !utf8.ValidString(s):
		return "", memory.Errorf(memory.Invalid, "%s: is not valid UTF-8", field)
	case trimmed == "":
		return "", memory.Errorf(memory.Invalid, "%s: is empty", field)
	case len(trimmed) > e.Opts.MaxText:
		return "", memory.Errorf(memory.TooLarge, "%s: has %d bytes, more than the %d of limits.text", field, len(trimmed), e.Opts.MaxText)
	}
	return trimmed, nil
}
