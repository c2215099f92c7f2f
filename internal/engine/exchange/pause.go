package exchange

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
)

// heed asks again what the user has put on hold, right before something is written:
// Open has little time to ask, and memory may have been paused since. What was on hold
// when the chat began is so for all of it, and what was said before learning was paused
// is learned.
func (x *Exchange) heed(ctx context.Context) error {
	pause, err := x.e.AskPaused(ctx, x.In.Owner)
	if err != nil {
		return err
	}
	if x.unsure {
		x.learns = pause == core.PauseNone
	}
	x.Writes = x.Writes && pause != core.PauseMemory
	x.unsure = false
	return nil
}
