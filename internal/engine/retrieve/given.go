package retrieve

import (
	"github.com/loci-memory/loci/internal/recall"
)

// Rendering is how blocks are written; later says that the prompt has one already.
func (e *Retriever) Rendering(later bool) recall.RenderOptions {
	return recall.RenderOptions{Heading: e.Opts.Recall.Heading, Hint: e.Opts.Recall.Hint, Roles: e.Opts.Recall.Roles, Later: later}
}
