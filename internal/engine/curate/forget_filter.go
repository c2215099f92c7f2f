package curate

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// mostFiltered is how many memories a filter forgets at once: all of it is one run.
const mostFiltered = 10_000

// ForgetFiltered forgets or erases what a filter lets through, facts unless it names other
// kinds, or only says what that would be: [Engine.ForgetMatching] with their ids, in one
// run. What has left recall already is erased, too. [memory.Invalid] for a filter that
// does not narrow, so that an empty one never means everything; [memory.TooLarge] if it
// lets more than ten thousand through.
func (e *Curator) ForgetFiltered(ctx context.Context, owner memory.Owner, q memory.Query, m Matching, author memory.Author) ([]memory.Memory, memory.Receipt, error) {
	ctx = memory.ForWrite(ctx)
	q.Text = strings.TrimSpace(q.Text)
	if q.Tag == "" && q.Category == "" && q.Project == "" && q.Conversation == "" && q.Text == "" {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "filter: it names nothing to forget by; give tag, category, project, conversation or q")
	}
	if m.Query != "" || len(m.IDs) > 0 {
		return nil, memory.Receipt{}, memory.Errorf(memory.Invalid, "give either a filter, a query or ids")
	}
	done, err := e.Done(ctx, owner, m.Idempotency)
	switch {
	case err != nil:
		return nil, memory.Receipt{}, err
	case len(done) > 0: // the filter finds nothing any more
		return e.sameForgotten(ctx, owner, done, m.Erase)
	}
	q.Statuses = []memory.Status{memory.Active, memory.Pending}
	if m.Erase {
		q.Statuses = core.EveryStatus
	}
	if err := e.Everything(ctx, owner, q, func(found memory.Memory) {
		if found.Content() != "" { // was erased
			m.IDs = append(m.IDs, found.ID())
		}
	}); err != nil {
		return nil, memory.Receipt{}, err
	}
	switch {
	case len(m.IDs) == 0:
		return nil, memory.Receipt{}, nil
	case len(m.IDs) > mostFiltered:
		return nil, memory.Receipt{}, memory.Errorf(memory.TooLarge, "filter: it finds %d memories, more than %d at once; narrow it", len(m.IDs), mostFiltered)
	}
	return e.ForgetMatching(ctx, owner, m, author)
}
