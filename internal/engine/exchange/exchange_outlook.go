package exchange

import (
	"context"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/model/responder"
)

// Outlook says what will become of the request, so that the built-in model promises no
// more. Ask before the question is recorded.
func (x *Exchange) Outlook(ctx context.Context) responder.Outlook {
	f, err := x.Foresee(ctx)
	if err != nil {
		x.e.Log.Warn("the answer cannot tell what will be forgotten", "err", err)
	}
	o := responder.Outlook{Forget: f.Forget, Found: f.Found, Unsure: err != nil}
	switch {
	case f.Paused == core.PauseMemory:
		o.Unkept = "Memory is paused"
	case !f.Kept:
		o.Unkept = "This chat leaves nothing in memory"
	case f.Granted && f.Forget != "": // that is done whether anything is learned or not
	case f.Paused == core.PauseLearning:
		o.Unlearned = "Learning is paused"
	case !f.Learned:
		o.Unlearned = "Learning is off"
	}
	return o
}
